package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// Limiter is a store and its policies. It is made by [New], never changes, and
// is safe for concurrent use.
type Limiter struct {
	store    Store
	fallback *fallback
	policies []*policy
	exempt   []Exemption
	access   *access

	clientIPs          *clientip.Resolver
	ipv4Bits, ipv6Bits int

	headers   HeaderConfig
	observers []Observer
	offenders *Offenders
	refusals  *RefusalLog
	lines     *refusalLines // of what no policy has decided
	timed     bool          // an observer wants to know how long the store takes
	diagnosis diagnosis

	// reserves is whether a policy has Settles, whose handlers look for the Call;
	// settling is whether any charge may have to be changed afterwards.
	reserves, settling bool
	// mounts is in how many places adapters have put the limiter, marked whether
	// it has marked a context.
	mounts   atomic.Int32
	marked   atomic.Bool
	underway underway

	works sync.Pool
	// forgetful is whether the stores keep no partitions.
	forgetful bool
}

// New returns a Limiter that decides with store by the policies among the
// options. It makes no call to the store. The error names the field that is
// wrong and the mend: a nil store, no policy, a duplicate or unprintable name, a
// negative quota, a window out of range, a burst below 1, a longest wait over
// 30 s, FailLocal without a Fallback, and the like.
func New(store Store, options ...Option) (*Limiter, error) {
	if isNil(store) {
		return nil, errors.New("ratelimit: the store is nil: give one, such as memstore.New()")
	}
	l := &Limiter{store: store, ipv4Bits: defaultIPv4Bits, ipv6Bits: defaultIPv6Bits}
	l.works.New = func() any { return new(work) }
	c := config{limiter: l}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("ratelimit: option %d is nil: leave it out", i+1)
		}
		if err := option.apply(&c); err != nil {
			return nil, fmt.Errorf("ratelimit: %w", trimPrefix(err))
		}
	}
	if err := c.finish(); err != nil {
		return nil, fmt.Errorf("ratelimit: %w", trimPrefix(err))
	}
	l.diagnose(&c)
	return l, nil
}

// Must returns l, or panics if err is not nil. It is for package-level
// variables:
//
//	var api = ratelimit.Must(ratelimit.New(store, policies))
func Must(l *Limiter, err error) *Limiter {
	if err != nil {
		panic(err) //nolint:forbidigo // what Must is for
	}
	return l
}

// config is what the options fill in.
type config struct {
	limiter *Limiter
	pending []Policy
	shadow  bool
	proxies clientip.Config
}

func (c *config) finish() error {
	l := c.limiter
	if len(c.pending) == 0 {
		return errors.New("no policy: give at least one ratelimit.Policy")
	}
	names := make(map[string]bool, len(c.pending))
	for _, p := range c.pending {
		p.Shadow = p.Shadow || c.shadow
		compiled, err := compilePolicy(p)
		if err != nil {
			return err
		}
		if names[p.Name] {
			return fmt.Errorf("policy name %q is used twice: names are unique within a limiter", p.Name)
		}
		names[p.Name] = true
		l.reserves, l.settling = l.reserves || p.Settles, l.settling || compiled.settles
		if p.OnStoreFailure == FailLocal {
			if l.fallback == nil {
				return fmt.Errorf("policy %q: Policy.OnStoreFailure is FailLocal without a fallback: add ratelimit.Fallback(memstore.New(), replicas)", p.Name)
			}
			compiled.divide(l.fallback.replicas)
		}
		l.offenders.watch(compiled)
		compiled.lines = l.refusals.linesOf(p.Name, &l.diagnosis)
		l.policies = append(l.policies, compiled)
	}
	l.lines = l.refusals.linesOf("", &l.diagnosis)
	if l.access != nil {
		l.access.shadow = c.shadow
	}
	resolver, err := clientip.New(c.proxies)
	if err != nil {
		return err
	}
	l.clientIPs = resolver
	l.forgetful = forgets(l.store) && (l.fallback == nil || forgets(l.fallback.store))
	return nil
}

// Mounted says that the limiter is put in one more place of an application. It
// is for the authors of adapters.
func (l *Limiter) Mounted() { l.mounts.Add(1) }

// AccountUnset reports, once, that the limiter is mounted where nobody tells it
// the account a request is about, if a policy can't do without. It is for the
// authors of adapters.
func (l *Limiter) AccountUnset() {
	if p := l.needing(needsAccount); p != nil {
		l.diagnosis.once(CodeAccountUnset, "a policy is by account, but the adapter's Config has no Account, so that all requests share one count: "+
			"set it, for example to JSONField(\"username\")", slog.String("policy", p.Name))
	}
}

// UserUnset is [Limiter.AccountUnset] for the user.
func (l *Limiter) UserUnset() {
	if p := l.needing(needsUser); p != nil {
		l.diagnosis.once(CodeUserUnset, "a policy is by user, but the adapter's Config has no User, so that no request has one: "+
			"set it to a function that returns who is logged in", slog.String("policy", p.Name))
	}
}

// needing is the first policy whose key can't do without something.
func (l *Limiter) needing(what needs) *policy {
	for _, p := range l.policies {
		if p.Key.needs()&what != 0 {
			return p
		}
	}
	return nil
}

// trimPrefix takes the package's prefix off a message that is put into another.
func trimPrefix(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "ratelimit: "); ok {
		return trimmed{err, text}
	}
	return err
}

type trimmed struct {
	error
	text string
}

func (t trimmed) Error() string { return t.text }
func (t trimmed) Unwrap() error { return t.error }
