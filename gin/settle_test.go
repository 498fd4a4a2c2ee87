package ginlimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adaptertest"
	ginlimit "github.com/go-floodgate/floodgate/gin"
)

// TestAnsweredFurtherOut sees which requests are given back where failures
// count and middleware of the application may answer.
func TestAnsweredFurtherOut(t *testing.T) {
	wrong := errors.New("a wrong password")
	leaves := func(c *gin.Context) { _ = c.Error(wrong) }
	silent := func(*gin.Context) {}
	for _, c := range []struct {
		name           string
		outer, handler gin.HandlerFunc
		status         int
		back           bool
	}{
		{"an error that is answered", func(c *gin.Context) { c.JSON(http.StatusUnauthorized, "no") }, leaves, 401, false},
		{"an error that is answered without a body", func(c *gin.Context) { c.Status(http.StatusUnauthorized) }, leaves, 401, false},
		{"an error that is answered by aborting", func(c *gin.Context) { c.AbortWithStatus(http.StatusUnauthorized) }, leaves, 401, false},
		{"an error that is forgiven", func(c *gin.Context) { c.String(http.StatusOK, "well") }, leaves, 200, true},
		{"an error with a status, which is kept", func(c *gin.Context) { c.JSON(-1, "no") }, func(c *gin.Context) {
			c.Status(http.StatusForbidden)
			leaves(c)
		}, 403, false},
		{"an error with a status, which is replaced", func(c *gin.Context) { c.JSON(http.StatusOK, "well") }, func(c *gin.Context) {
			c.Status(http.StatusForbidden)
			leaves(c)
		}, 200, true},
		{"an error beside an answer", silent, func(c *gin.Context) {
			c.String(http.StatusOK, "well")
			leaves(c)
		}, 200, true},
		{"an error that nobody answers", silent, leaves, 200, false},
		{"an abort that is answered", func(c *gin.Context) { c.String(http.StatusUnauthorized, "no") }, func(c *gin.Context) { c.Abort() }, 401, false},
		{"an abort with a status", silent, func(c *gin.Context) {
			c.Status(http.StatusNoContent)
			c.Abort()
		}, 204, true},
		{"no body", silent, func(c *gin.Context) { c.Status(http.StatusNoContent) }, 204, true},
		{"nothing at all", silent, silent, 200, true},
		{"a flush", func(c *gin.Context) { c.Writer.Flush() }, leaves, 200, true},
	} {
		script := adaptertest.NewScript()
		r := gin.New()
		r.Use(func(x *gin.Context) {
			x.Next()
			c.outer(x)
		})
		r.GET("/", ginlimit.New(ratelimit.Must(ratelimit.New(script, ratelimit.Policy{
			Name: "login", Limit: ratelimit.SlidingLog(5, time.Hour), Counts: ratelimit.CountFailures,
		}))), c.handler)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.status)
		}
		if back := len(script.Adjustments()) == 1; back != c.back {
			t.Errorf("%s: given back: %v, want %v", c.name, back, c.back)
		}
	}
}
