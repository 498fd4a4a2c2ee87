package adaptertest

import (
	"fmt"
	"net/http"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// rolloutCases are about policies that are enforced for a share of their keys.
func rolloutCases() []testCase {
	return []testCase{{
		name: "rollout/sticky",
		why:  "the keys a policy is enforced for are the same in every framework and process, and stay so when there are more; the others see nothing of it",
		f:    sticky,
	}}
}

func sticky(s *suite) {
	const users = 60
	before := make(map[string]bool)
	for _, percent := range []int{10, 50, 50} {
		policy := ratelimit.Policy{Name: "new", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(1), EnforcedPercent: percent}
		asked := s.limiter(newModel(), policy)
		v := s.serve(Site{Routes: routes(ok().handle, Middleware{
			Limiter: s.limiter(newModel(), policy), Config: configOf(userOf("X-User")),
		})})
		refused := make(map[string]bool)
		for i := range users {
			user := fmt.Sprintf("user%d", i)
			r := request{path: "/u/1", header: fields("X-User", user)}
			v.do(r).is(s, "the first request of "+user, http.StatusOK)
			a := v.do(r)
			refused[user] = a.status == http.StatusTooManyRequests
			if shown := a.header.Get("RateLimit") != ""; shown != refused[user] {
				s.Errorf("at %d %% a request of %s is answered with %d; the limit is shown: %v", percent, user, a.status, shown)
			}
			asked.Allow(s.Context(), ratelimit.UserKey(user))
			equal(s, fmt.Sprintf("refused at %d %%: %s", percent, user), refused[user], !asked.Allow(s.Context(), ratelimit.UserKey(user)).Allowed)
			if before[user] && !refused[user] {
				s.Errorf("at %d %% the policy is not enforced any more for %s", percent, user)
			}
		}
		before = refused
	}
}
