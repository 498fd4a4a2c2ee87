package app

import (
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/memstore"
	"github.com/go-floodgate/floodgate/prommetrics"
)

// Limiters are the limiters of an example server, each for a group of routes.
// Policies of the same name share their counts.
type Limiters struct {
	// API is for GET /api/users and GET /api/users/{id}.
	API *ratelimit.Limiter
	// Costly is for GET /api/search and POST /api/reports.
	Costly *ratelimit.Limiter
	// Login is for POST /login.
	Login *ratelimit.Limiter
	// Upload is for POST /upload.
	Upload *ratelimit.Limiter
	// Events is for GET /events.
	Events *ratelimit.Limiter
	// Metrics is for GET /metrics: what Prometheus scrapes of all of them.
	Metrics http.Handler
	// Algorithms are for GET /algorithms/{name}, by name.
	Algorithms map[string]*ratelimit.Limiter
}

// plans maps the demo keys to their tiers.
var plans = map[string]string{
	"free-key":     "free",
	"basic-key":    "basic",
	"premium-key":  "premium",
	"internal-key": "internal",
}

// identify says who a request comes from: the owner of a known API key, else
// its client address.
func identify(r *ratelimit.Request) (ratelimit.Identity, error) {
	key := r.Header("X-API-Key")
	if tier, known := plans[key]; known {
		return ratelimit.Identity{Key: ratelimit.HeaderKey("X-API-Key", key), Tier: tier}, nil
	}
	return ratelimit.Identity{}, nil
}

func identity(r *ratelimit.Request) ratelimit.Partition {
	who, _ := identify(r)
	return who.Key
}

// reportPoints is what a report costs; it is charged ahead and settled by
// [Report].
const reportPoints = 100

// punished blocks an address that goes on guessing passwords long after it was
// told to stop.
var punished = &ratelimit.Penalty{Tolerate: 1000, Base: time.Minute, Factor: 2, Cap: 24 * time.Hour, ForgetAfter: 24 * time.Hour}

// NewLimiters makes the limiters on one store.
func NewLimiters(f Flags, store ratelimit.Store) (*Limiters, error) {
	perIP := ratelimit.Policy{Name: "ip", Key: ratelimit.ByIP(), Limit: ratelimit.PerMinute(100)}
	plan := ratelimit.Policy{Name: "plan", Tiers: &ratelimit.Tiers{
		Resolve: identify,
		By:      ratelimit.ByHeader("X-API-Key"),
		Default: "free",
		Limits: map[string]ratelimit.Limit{
			"free":     ratelimit.TokenBucket(100, time.Hour, 10),
			"basic":    ratelimit.TokenBucket(1000, time.Hour, 50),
			"premium":  ratelimit.TokenBucket(10000, time.Hour, 200),
			"internal": ratelimit.Unlimited,
		},
	}}
	cost := ratelimit.Policy{
		Name: "points", Key: ratelimit.ByPartition(identity), Limit: ratelimit.PerHour(1000), Settles: true,
		Costs: map[string]int64{"GET /api/search": 5, "POST /api/reports": reportPoints},
	}
	upload := ratelimit.Policy{Name: "upload", Key: ratelimit.ByPartition(identity), Limit: ratelimit.FixedWindow(20, 24*time.Hour)}
	events := ratelimit.Policy{Name: "events", Key: ratelimit.ByIP(), Endpoints: map[string]ratelimit.Limit{"GET /events": ratelimit.PerMinute(30)}}
	login := ratelimit.Login(func(p *ratelimit.Policy) {
		if p.Name == "login-ip" { // not the account, whose owner has done nothing
			p.Penalty = punished
		}
	})

	fallback := memstore.New()
	metrics, scraped, err := newMetrics(f, store, fallback)
	if err != nil {
		return nil, err
	}
	m := maker{flags: f, store: store, fallback: fallback, metrics: metrics, offenders: &ratelimit.Offenders{Notify: metrics.Offender}}
	l := &Limiters{
		Metrics:    scraped,
		API:        m.limiter(perIP, plan),
		Costly:     m.limiter(perIP, plan, cost),
		Login:      m.limiter(login...),
		Upload:     m.limiter(upload),
		Events:     m.limiter(events),
		Algorithms: make(map[string]*ratelimit.Limiter),
	}
	const window = 2 * time.Second
	for _, limit := range []ratelimit.Limit{
		ratelimit.FixedWindow(10, window),
		ratelimit.SlidingWindow(10, window),
		ratelimit.SlidingLog(10, window),
		ratelimit.TokenBucket(10, window, 10),
		ratelimit.LeakyBucket(10, window, 4),
	} {
		name := limit.Algorithm.String()
		l.Algorithms[name] = m.limiter(ratelimit.Policy{Name: name, Key: ratelimit.ByIP(), Limit: limit})
	}
	return l, m.err
}

// maker makes limiters with what the flags say and keeps the first error.
type maker struct {
	flags           Flags
	store, fallback ratelimit.Store
	metrics         *prommetrics.Metrics
	offenders       *ratelimit.Offenders
	err             error
}

func (m *maker) limiter(policies ...ratelimit.Policy) *ratelimit.Limiter {
	for i := range policies {
		policies[i].OnStoreFailure = m.flags.OnStoreFailure
	}
	l, err := ratelimit.New(m.store, ratelimit.Policies(policies),
		ratelimit.TrustProxies(m.flags.TrustedProxies), ratelimit.Fallback(m.fallback, 1), ratelimit.Observe(m.metrics.Observer()), m.offenders)
	if m.err == nil {
		m.err = err
	}
	return l
}
