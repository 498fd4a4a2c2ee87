package adaptertest

import (
	"fmt"
	"net/http"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// keyCases are about what a request is counted under beside its address.
func keyCases() []testCase {
	return []testCase{
		{
			name: "keys/user",
			why:  "the user is whom Config.User names; a request without one is counted by its address, apart from a user of that name",
			f: func(s *suite) {
				p := s.partitionsWith(configOf(userOf("X-User")), ratelimit.ByUser())
				of := func(user string) ratelimit.Partition {
					return p.of(request{path: "/u/1", header: fields("X-User", user)})
				}
				equal(s, "partition of alice", of("alice-"+secret), ratelimit.UserKey("alice-"+secret))
				equal(s, "partition of a user called "+usualPeer, of(usualPeer), ratelimit.UserKey(usualPeer))
				anonymous := p.of(request{path: "/u/1"})
				if anonymous == "" || anonymous == ipKey(usualPeer) || anonymous == of(usualPeer) {
					s.Errorf("a request without a user is counted under %q", anonymous)
				}
			},
		},
		{
			name: "keys/header",
			why:  "a header is found whatever the case of its name, and of its value only a hash is kept",
			f: func(s *suite) {
				p := s.partitions(ratelimit.ByHeader("x-api-KEY"))
				want := ratelimit.HeaderKey("X-API-Key", secret)
				equal(s, "partition of a key", p.of(request{path: "/u/1", header: fields("X-Api-Key", secret)}), want)
				equal(s, "partition of a key in two lines", p.of(request{path: "/u/1", header: fields("X-Api-Key", secret, "X-Api-Key", "other")}), want)
			},
		},
		{
			name: "keys/cookie-and-method",
			why:  "all lines of a request reach the limiter, and its method; HEAD is GET",
			f: func(s *suite) {
				p := s.partitions(ratelimit.Combine(ratelimit.ByCookie("session"), ratelimit.ByMethod()))
				get := p.of(request{path: "/u/1", header: fields("Cookie", "a=1; session="+secret)})
				equal(s, "partition of HEAD", p.of(request{method: http.MethodHead, path: "/u/1", header: fields("Cookie", "session="+secret)}), get)
				post := p.of(request{method: http.MethodPost, path: "/u/1", header: fields("Cookie", "session="+secret)})
				without := p.of(request{path: "/u/1"})
				if get == post || get == without {
					s.Errorf("GET, POST and a request without the cookie: %q, %q, %q: want three", get, post, without)
				}
			},
		},
		{
			name: "keys/outlive-the-request",
			why:  "a framework that reuses a request's buffers changes the strings it handed out: keys that were kept would become other clients' keys",
			f:    keysOutlive,
		},
	}
}

// keysOutlive lets two clients with keys of equal length take turns on one
// connection, and then many more.
func keysOutlive(s *suite) {
	const quota, turns = 700, 1000
	header := ratelimit.Policy{Name: "key", Key: ratelimit.ByHeader("X-API-Key"), Limit: ratelimit.PerHour(quota)}
	user := ratelimit.Policy{Name: "user", Key: ratelimit.ByUser(), Limit: ratelimit.PerHour(quota)}
	byRoute := ratelimit.Policy{Name: "route", Key: ratelimit.Combine(ratelimit.ByUser(), ratelimit.ByRoute(), ratelimit.ByMethod()), Limit: ratelimit.PerHour(quota)}
	handler := ok()
	v := s.serve(Site{Routes: routes(handler.handle, Middleware{
		Limiter: s.limiter(newModel(), header, user, byRoute), Config: configOf(userOf("X-User")),
	})})
	admitted := make(map[string]int)
	for turn := range turns {
		for _, name := range []string{"alice", "bobby"} {
			a := v.do(request{path: fmt.Sprintf("/u/%d", turn%7), header: fields("X-API-Key", name+secret, "X-User", name)})
			if a.status == http.StatusOK {
				admitted[name]++
			} else {
				a.is(s, "a turn of "+name, http.StatusTooManyRequests)
			}
		}
	}
	equal(s, "admitted of alice", admitted["alice"], quota)
	equal(s, "admitted of bobby", admitted["bobby"], quota)
	for i := range 50 {
		name := fmt.Sprintf("carol%02d", i)
		v.do(request{path: "/u/1", header: fields("X-API-Key", name+secret, "X-User", name)}).is(s, "the first request of "+name, http.StatusOK)
	}
	v.do(request{path: "/u/1", header: fields("X-API-Key", "alice"+secret, "X-User", "alice")}).is(s, "one more of alice", http.StatusTooManyRequests)
	handler.ran(s, 2*quota+50)
}
