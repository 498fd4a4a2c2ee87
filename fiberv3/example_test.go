package fiberlimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gofiber/fiber/v3"

	ratelimit "github.com/go-floodgate/floodgate/core"
	fiberlimit "github.com/go-floodgate/floodgate/fiberv3"
	"github.com/go-floodgate/floodgate/memstore"
)

// A limiter for all routes of an app.
func ExampleNew() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-ip", Limit: ratelimit.TokenBucket(60, time.Hour, 2)},
	))
	app := fiber.New()
	app.Use(fiberlimit.New(api))
	app.Get("/users/:id", func(c fiber.Ctx) error { return c.SendString(c.Params("id")) })

	for range 3 {
		status, header, _ := ask(app, "GET", "/users/7", "")
		fmt.Println(status, header.Get("X-RateLimit-Remaining"), "left", header.Get("RateLimit-Policy"))
	}
	// Output:
	// 200 1 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 200 0 left "per-ip";q=60;w=3600;floodgate-burst=2
	// 429 0 left "per-ip";q=60;w=3600;floodgate-burst=2
}

// Limiters for single routes, where Fiber knows the route. On the log-in route
// only failures count, by client and by account.
func ExampleNew_perRoute() {
	store := memstore.New()
	api := ratelimit.Must(ratelimit.New(store,
		ratelimit.Policy{Name: "search", Match: "GET /search", Limit: ratelimit.PerHour(1)}))
	login := ratelimit.Must(ratelimit.New(store, ratelimit.Login()))

	app := fiber.New()
	app.Get("/search", fiberlimit.New(api), func(c fiber.Ctx) error { return c.SendString("found") })
	app.Post("/login", fiberlimit.New(login, fiberlimit.Config{Account: fiberlimit.JSONField("username")}), func(fiber.Ctx) error {
		return fiber.ErrUnauthorized // a wrong password
	})

	for range 2 {
		status, _, _ := ask(app, "GET", "/search", "")
		fmt.Print(status, " ")
	}
	for range 6 {
		status, _, _ := ask(app, "POST", "/login", `{"username":"alice"}`)
		fmt.Print(status, " ")
	}
	// Output: 200 429 401 401 401 401 401 429
}

// Users that the application has authenticated, a path that is not limited, and
// an answer of one's own.
func ExampleConfig() {
	api := ratelimit.Must(ratelimit.New(memstore.New(),
		ratelimit.Policy{Name: "per-user", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1)},
	))
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error {
		c.Locals("user", "alice") // who has signed in
		return c.Next()
	}, fiberlimit.New(api, fiberlimit.Config{
		User: func(c fiber.Ctx) string {
			user, _ := c.Locals("user").(string)
			return user
		},
		Skip: func(c fiber.Ctx) bool { return c.Path() == "/health" },
		OnDeny: func(c fiber.Ctx, d ratelimit.Decision) error {
			return c.Status(d.Status()).SendString(fmt.Sprintf("%s is over: %s", d.Policy, d.Reason))
		},
	}))
	hello := func(c fiber.Ctx) error { return c.SendString("hello") }
	app.Get("/", hello)
	app.Get("/health", hello)

	for _, path := range []string{"/", "/", "/health"} {
		status, _, body := ask(app, "GET", path, "")
		fmt.Println(status, body)
	}
	// Output:
	// 200 hello
	// 429 per-user is over: rate_limited
	// 200 hello
}

// ask sends a request to app and returns its answer.
func ask(app *fiber.App, method, path, body string) (status int, header http.Header, answer string) {
	response, err := app.Test(httptest.NewRequest(method, path, strings.NewReader(body)))
	if err != nil {
		return 0, nil, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return response.StatusCode, response.Header, string(text)
}
