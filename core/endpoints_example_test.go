package ratelimit_test

import (
	"fmt"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// One policy for an application whose endpoints have limits of their own. An
// adapter would show it the requests of a framework; those here are of this
// package's tests.
func ExamplePolicy_endpoints() {
	api, err := ratelimit.New(newModelStore(), ratelimit.Policy{
		Name: "api", Limit: ratelimit.PerMinute(100),
		Endpoints: map[string]ratelimit.Limit{
			"POST /login": ratelimit.SlidingLog(5, 15*time.Minute),
			"/admin/...":  ratelimit.PerMinute(10),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []*fakeRequest{
		{method: "POST", route: "/login"},
		{method: "GET", route: "/login"},
		{method: "GET", route: "/admin/users/:id"},
	} {
		header := http.Header{}
		api.Begin(new(ratelimit.Call), r, header)
		fmt.Println(r.method, r.route, "has", header.Get("X-Ratelimit-Remaining"), "left of", header.Get("X-Ratelimit-Limit"))
	}
	// Output:
	// POST /login has 4 left of 5
	// GET /login has 99 left of 100
	// GET /admin/users/:id has 9 left of 10
}

// A misspelt entry would limit nothing. Each adapter has a CheckRoutes that
// lists the framework's routes itself.
func ExampleLimiter_CheckRoutes() {
	api, err := ratelimit.New(newModelStore(), ratelimit.Logger(nil), ratelimit.Policy{
		Name: "api", Endpoints: map[string]ratelimit.Limit{"POST /login/": ratelimit.PerMinute(5), "/users/{id}": ratelimit.PerMinute(30)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(api.CheckRoutes("POST /login", "GET /users/:id"))
	// Output:
	// ratelimit: patterns match no route of the application: policy "api": Endpoints "POST /login/" (is "POST /login" meant?)
}
