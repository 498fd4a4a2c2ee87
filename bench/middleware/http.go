package middleware

import (
	"net"
	"net/http"
	"time"

	"github.com/didip/tollbooth/v8"
	tollboothlimiter "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"
	sethvargolimit "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"

	chilimit "github.com/go-floodgate/floodgate/chi"
	ratelimit "github.com/go-floodgate/floodgate/core"
	httplimit "github.com/go-floodgate/floodgate/nethttp"
)

// Peers of net/http, chi and Gin.
const (
	Sethvargo = "sethvargo/go-limiter"
	Ulule     = "ulule/limiter"
	Httprate  = "go-chi/httprate"
	Throttled = "throttled"
	Tollbooth = "tollbooth"
)

func done(http.ResponseWriter, *http.Request) {}

// wrapped is a contender of net/http.
func wrapped(name, module string, wrap func(next http.Handler, quota int64) (http.Handler, error)) Contender {
	return Contender{Framework: Frameworks[0], Name: name, Module: module, New: func(quota int64) (Site, error) {
		h, err := wrap(http.HandlerFunc(done), quota)
		return Site{Handler: h}, err
	}}
}

func ofHTTP() []Contender {
	bare := wrapped(Bare, "", func(next http.Handler, _ int64) (http.Handler, error) { return next, nil })
	bare.Free = true
	alone := fieldsAlone(Frameworks[0], func(quota int64) Site { return Site{Handler: answerHTTP(quota)(http.HandlerFunc(done))} })
	all := append([]Contender{bare, alone}, pair(Frameworks[0], func(l *ratelimit.Limiter) Site {
		return Site{Handler: httplimit.Wrap(l, http.HandlerFunc(done))}
	})...)
	return append(
		all,
		wrapped(Sethvargo, "github.com/sethvargo/go-limiter", sethvargo),
		wrapped(Ulule, "github.com/ulule/limiter/v3", func(next http.Handler, quota int64) (http.Handler, error) {
			return ululehttp.NewMiddleware(ululeLimiter(quota)).Handler(next), nil
		}),
		wrapped(Httprate, "github.com/go-chi/httprate", func(next http.Handler, quota int64) (http.Handler, error) {
			return httprateBy(quota)(next), nil
		}),
		wrapped(Throttled, "github.com/throttled/throttled/v2", throttledBy),
		wrapped(Tollbooth, "github.com/didip/tollbooth/v8", func(next http.Handler, quota int64) (http.Handler, error) {
			return tollbooth.HTTPMiddleware(tollboothlimiter.New(nil).SetMax(perSecond(quota)).SetBurst(int(quota)).
				SetIPLookup(tollboothlimiter.IPLookup{Name: "RemoteAddr"}))(next), nil
		}),
	)
}

func perSecond(quota int64) float64 { return float64(quota) / time.Hour.Seconds() }

func sethvargo(next http.Handler, quota int64) (http.Handler, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(quota), Interval: time.Hour})
	if err != nil {
		return nil, err
	}
	m, err := sethvargolimit.NewMiddleware(store, sethvargolimit.IPKeyFunc())
	if err != nil {
		return nil, err
	}
	return m.Handle(next), nil
}

func ululeLimiter(quota int64) *ulule.Limiter {
	return ulule.New(ululestore.NewStore(), ulule.Rate{Limit: quota, Period: time.Hour})
}

// httprateBy limits by address in the way that its documentation shows.
func httprateBy(quota int64) func(http.Handler) http.Handler {
	return httprate.LimitBy(int(quota), time.Hour, func(r *http.Request) (string, error) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		return httprate.CanonicalizeIP(host), err
	})
}

func throttledBy(next http.Handler, quota int64) (http.Handler, error) {
	store, err := throttledstore.New(0)
	if err != nil {
		return nil, err
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(quota), time.Hour), MaxBurst: int(quota) - 1,
	})
	if err != nil {
		return nil, err
	}
	m := throttled.HTTPRateLimiterCtx{RateLimiter: limiter, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
	return m.RateLimit(next), nil
}

// routed is a contender of chi.
func routed(name, module string, use func(quota int64) func(http.Handler) http.Handler) Contender {
	return Contender{Framework: Frameworks[1], Name: name, Module: module, New: func(quota int64) (Site, error) {
		r := chi.NewRouter()
		if use != nil {
			r.Use(use(quota))
		}
		r.Get("/", done)
		return Site{Handler: r}, nil
	}}
}

func ofChi() []Contender {
	bare := routed(Bare, "github.com/go-chi/chi/v5", nil)
	bare.Free = true
	alone := routed(FieldsAlone, "", answerHTTP)
	alone.Free = true
	all := append([]Contender{bare, alone}, pair(Frameworks[1], func(l *ratelimit.Limiter) Site {
		r := chi.NewRouter()
		r.Use(chilimit.New(l))
		r.Get("/", done)
		return Site{Handler: r}
	})...)
	return append(all, routed(Httprate, "github.com/go-chi/httprate", httprateBy))
}
