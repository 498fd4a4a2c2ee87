package adaptertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/adapter"
)

// accountCases are about the account that a request's body names.
func accountCases() []testCase {
	return []testCase{
		{
			name: "accounts/config",
			why:  "the account is what Config.Account names, trimmed and lower-cased",
			f: func(s *suite) {
				cfg := configOf(func(c *Config) {
					c.Account = func(x Exchange) string { return x.Header("X-Account") }
				})
				p := s.partitionsWith(cfg, ratelimit.ByAccount())
				equal(s, "partition", p.of(request{path: "/u/1", header: fields("X-Account", " Alice-"+secret+" ")}), ratelimit.AccountKey("alice-"+secret))
			},
		},
		{
			name: "accounts/json-field",
			why:  "the adapter's JSONField reads the account from the body, and the handler gets the body as if nobody had",
			f: func(s *suite) {
				want := ratelimit.AccountKey("alice-" + secret)
				for _, body := range []string{
					`{"username":"alice-` + secret + `","password":"` + secret + `"}`,
					" {\"password\":{\"username\":\"x\"},\r\n\t\"username\" : \"ALICE-" + secret + " \"}\n",
					`{"username":"` + "\\u0061lice-" + secret + `","filler":"` + strings.Repeat("x", adapter.MaxBody-100) + `"}`,
				} {
					accountOf(s, body, func(got ratelimit.Partition) { equal(s, "partition of "+abbreviated(body), got, want) })
				}
			},
		},
		{
			name: "accounts/unreadable",
			why:  "requests whose account can't be read share one count, so that hiding the name frees nobody; two members of one name are such a case, since the application may go by the other one",
			f: func(s *suite) {
				filler := strings.Repeat("x", 200<<10)
				shared := ratelimit.Partition("")
				for _, body := range []string{
					"",
					"{",
					"not json",
					`["username"]`,
					`{"username":null}`,
					`{"username":{"$ne":""}}`,
					`{"username":"alice","username":"bobby"}`,
					`{"username":"alice","Username":"bobby"}`,
					`{"username":"alice","filler":"` + filler + `"}`,
					`{"username":"alice`,
				} {
					accountOf(s, body, func(got ratelimit.Partition) {
						if shared == "" {
							shared = got
						}
						equal(s, "partition of "+abbreviated(body), got, shared)
					})
				}
				if shared == "" || shared == ratelimit.AccountKey("alice") {
					s.Errorf("requests without a readable account are counted under %q", shared)
				}
			},
		},
		{
			name: "accounts/polyglot",
			why:  "a body that is JSON to the limiter may be a form or XML to the application, which then reads another name in it: such a request shares the count of the unreadable",
			f: func(s *suite) {
				alice := ratelimit.AccountKey("alice")
				const json, form = `{"username":"alice"}`, `{"username":"alice","x":"&username=bobby&"}`
				for _, c := range []struct {
					path, body string
					header     http.Header
					want       ratelimit.Partition
				}{
					{"/u/1", json, fields("Content-Type", "application/json; charset=utf-8"), alice},
					{"/u/1?username=bobby", json, fields("Content-Type", "application/json"), alice},
					{"/u/1", json, fields("Content-Type", "application/x-www-form-urlencoded"), alice},
					{"/u/1", form, fields("Content-Type", "application/x-www-form-urlencoded"), sharedAccount},
					{"/u/1", json, fields("Content-Type", "application/xml"), sharedAccount},
					{"/u/1?username=bobby", json, fields("Content-Type", "text/plain"), sharedAccount},
				} {
					accountOfRequest(s, request{method: http.MethodPost, path: c.path, body: c.body, header: c.header}, func(got ratelimit.Partition) {
						equal(s, fmt.Sprintf("partition of %v to %s", c.header, c.path), got, c.want)
					})
				}
			},
		},
		{
			name: "accounts/unset",
			why:  "a policy by account without Config.Account puts everybody into one count: a diagnostic says so when the limiter is mounted",
			f: func(s *suite) {
				p := s.partitions(ratelimit.ByAccount())
				equal(s, "diagnostics, when mounted", s.said.times(ratelimit.CodeAccountUnset), 1)
				p.of(request{path: "/u/1"})
				equal(s, "diagnostics, after a request", s.said.times(ratelimit.CodeAccountUnset), 1)
			},
		},
	}
}

// accountOf posts body, with its length and without, and checks the partition
// it is charged under and that the handler gets all of it.
func accountOf(s *suite, body string, check func(ratelimit.Partition)) {
	s.Helper()
	accountOfRequest(s, request{method: http.MethodPost, path: "/u/1", body: body, header: fields("Content-Type", "application/json")}, check)
}

// sharedAccount is what requests without a readable account are counted under.
const sharedAccount = ratelimit.Partition("none:")

func accountOfRequest(s *suite, r request, check func(ratelimit.Partition)) {
	s.Helper()
	body := r.body
	var mu sync.Mutex
	var received string
	var failed error
	script := NewScript(answers(perIPAdmits))
	l := s.limiter(script, ratelimit.Policy{Name: "account", Key: ratelimit.ByAccount(), Limit: ratelimit.PerMinute(100)})
	v := s.serve(Site{Routes: routes(func(x Exchange) error {
		read, err := x.Body()
		mu.Lock()
		received, failed = string(read), err
		mu.Unlock()
		return x.Respond(http.StatusOK, "")
	}, Middleware{Limiter: l, Config: Config{JSONField: "username"}})})
	for i, chunked := range []bool{false, true} {
		r.chunked = chunked
		v.do(r)
		mu.Lock()
		if received != body || failed != nil {
			s.Errorf("the handler read %s, %v of the body %s", abbreviated(received), failed, abbreviated(body))
		}
		mu.Unlock()
		check(script.Charges()[i][0].Partition)
	}
}

func abbreviated(body string) string {
	if len(body) > 60 {
		return body[:60] + "..."
	}
	return body
}
