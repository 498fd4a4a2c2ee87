package middleware

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
)

// FieldsAlone is a row that decides nothing: each request gets the fields, and
// where requests are refused the body, that Floodgate's would, of texts that are
// there already. It is what remains if a decision takes no time.
const FieldsAlone = "the fields alone"

// field is one of them.
type field struct{ name, value string }

var (
	fieldsAllowed = []field{
		{"X-Ratelimit-Limit", "1000000000"},
		{"X-Ratelimit-Remaining", "999999999"},
		{"X-Ratelimit-Reset", "1796083200"},
		{"Ratelimit", `"per-ip";r=999999999;t=1`},
		{"Ratelimit-Policy", `"per-ip";q=1000000000;w=3600`},
	}
	bodyDenied = []byte(`{"error":"rate_limit_exceeded","message":"Too many requests. Try again in 3600 seconds.",` +
		`"limit":1,"remaining":0,"reset":1796083200,"retry_after":3600,"policy":"per-ip"}` + "\n")
	fieldsDenied = append(slices.Clip(fieldsAllowed), []field{
		{"Retry-After", "3600"}, {"Cache-Control", "no-store"}, {"Content-Type", "application/json"}, {"Content-Length", strconv.Itoa(len(bodyDenied))},
	}...)
)

// fieldsAlone is the row of a framework.
func fieldsAlone(framework string, site func(quota int64) Site) Contender {
	return Contender{Framework: framework, Name: FieldsAlone, Free: true, New: func(quota int64) (Site, error) { return site(quota), nil }}
}

// answer reports whether the request is refused, which it then has been.
func answer(w http.ResponseWriter, quota int64) (refused bool) {
	header := w.Header()
	if quota > few {
		lines := new([5]string) // a response's own, as long as anybody may change its header
		for i := range fieldsAllowed {
			lines[i] = fieldsAllowed[i].value
			header[fieldsAllowed[i].name] = lines[i : i+1 : i+1]
		}
		return false
	}
	lines := new([9]string)
	for i := range fieldsDenied {
		lines[i] = fieldsDenied[i].value
		header[fieldsDenied[i].name] = lines[i : i+1 : i+1]
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(bodyDenied)
	return true
}

func answerHTTP(quota int64) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !answer(w, quota) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func answerGin(quota int64) gin.HandlerFunc {
	return func(c *gin.Context) {
		if answer(c.Writer, quota) {
			c.Abort()
		}
	}
}

func answerEcho(quota int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if answer(c.Response(), quota) {
				return nil
			}
			return next(c)
		}
	}
}

func answerFiber(quota int64) fiber.Handler {
	set := func(c *fiber.Ctx, fields []field) {
		for i := range fields {
			c.Response().Header.SetCanonical([]byte(fields[i].name), []byte(fields[i].value))
		}
	}
	return func(c *fiber.Ctx) error {
		if quota > few {
			set(c, fieldsAllowed)
			return c.Next()
		}
		set(c, fieldsDenied[:8]) // Fiber counts the body itself
		c.Status(http.StatusTooManyRequests).Response().SetBody(bodyDenied)
		return nil
	}
}
