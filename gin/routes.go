package ginlimit

import (
	"github.com/gin-gonic/gin"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// CheckRoutes returns an error that names the patterns of l's policies that are
// for no route of engine; see [ratelimit.Limiter.CheckRoutes]. Call it when all
// routes are there: Gin doesn't list them within a request, so that nobody else
// does.
func CheckRoutes(l *ratelimit.Limiter, engine *gin.Engine) error {
	var routes []string
	for _, route := range engine.Routes() {
		routes = append(routes, route.Method+" "+route.Path)
	}
	return l.CheckRoutes(routes...)
}
