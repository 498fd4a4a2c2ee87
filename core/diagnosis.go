package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// The codes of diagnostics, in the attribute "code" of a log record. Each is
// logged once per limiter, at level Warn, except [CodeStoreFailure],
// [CodeResolverFailure], [CodeTierUnknown] and [CodeTierOverride], which are
// logged at most once in ten seconds with the number of those left out since.
const (
	// CodeUntrustedForwarding: a forwarding header was seen, but no proxy is
	// trusted, so that all clients of a proxy share its address.
	CodeUntrustedForwarding = "untrusted-forwarding-header"
	// CodeWideTrust: a trusted prefix is so wide that anyone can forge an
	// address.
	CodeWideTrust = "trusted-proxies-too-wide"
	// CodeRouteUnknown: a key or match needs the route, which the framework
	// doesn't know where the limiter is mounted.
	CodeRouteUnknown = "route-unknown"
	// CodeEndpointUnmatched: a pattern in a policy's Match, Endpoints or Costs
	// matches no route of the application.
	CodeEndpointUnmatched = "endpoint-unmatched"
	// CodeMountedTwice: a request came through the same limiter twice.
	CodeMountedTwice = "mounted-twice"
	// CodePolicyDiffers: a policy's name is used with another limit on the
	// same store.
	CodePolicyDiffers = "policy-limit-differs"
	// CodeAccountUnset: a policy needs the account and the adapter's Config
	// doesn't tell it, so that all requests share one count.
	CodeAccountUnset = "account-unset"
	// CodeUserUnset: a policy needs the user and the adapter's Config doesn't
	// tell it, so that a policy ByUserOnly never applies and one ByUser counts
	// by address.
	CodeUserUnset = "user-unset"
	// CodeAddressUnknown: a peer has no IP address (a Unix socket, say), so
	// that all such peers share one count.
	CodeAddressUnknown = "client-address-unknown"
	// CodeNegativeCost: a policy's Cost returned a negative number.
	CodeNegativeCost = "negative-cost"
	// CodeSettlesUnknown: a handler settles under a name that no policy with
	// Settles has, so that nothing is settled.
	CodeSettlesUnknown = "settles-unknown"
	// CodeStoreFailure: a call to the store failed.
	CodeStoreFailure = "store-failure"
	// CodeResolverFailure: the resolver of a policy's tiers failed.
	CodeResolverFailure = "tier-resolver-failure"
	// CodeTierUnknown: a resolver named a tier that a policy doesn't have.
	CodeTierUnknown = "tier-unknown"
	// CodeTierOverride: a resolver gave an identity a limit that can't be used.
	CodeTierOverride = "tier-override-invalid"
)

// diagnosis logs each code once, or now and then. Its zero value is ready.
type diagnosis struct {
	logger *slog.Logger
	said   sync.Map // code -> struct{}
	// recurring counts what is logged now and then.
	store, resolver, unknownTier, override recurring
}

func (d *diagnosis) log() *slog.Logger {
	if d.logger != nil {
		return d.logger
	}
	return slog.Default()
}

// once logs a code the first time.
func (d *diagnosis) once(code, message string, attrs ...slog.Attr) {
	if _, before := d.said.Load(code); before {
		return
	}
	if _, before := d.said.LoadOrStore(code, struct{}{}); before {
		return
	}
	d.warn(context.Background(), code, message, attrs...)
}

func (d *diagnosis) warn(ctx context.Context, code, message string, attrs ...slog.Attr) {
	d.log().LogAttrs(ctx, slog.LevelWarn, "ratelimit: "+message, append([]slog.Attr{slog.String("code", code)}, attrs...)...)
}

// diagnose reports what can be seen when a limiter is made.
func (l *Limiter) diagnose(c *config) {
	for _, prefix := range c.proxies.Trusted {
		if clientip.TooWide(prefix) {
			l.diagnosis.once(CodeWideTrust, "a trusted prefix is so wide that anyone can forge a client address: name your proxies' own networks",
				slog.String("prefix", prefix.String()))
		}
	}
	registrar, ok := l.store.(interface {
		Register(policy, limits string) (earlier string)
	})
	if !ok {
		return
	}
	for _, p := range l.policies {
		texts := make([]string, 0, 1)
		for _, limit := range p.counted() {
			texts = append(texts, limit.String())
		}
		limits := strings.Join(texts, ", ")
		if earlier := registrar.Register(p.Name, limits); earlier != "" {
			l.diagnosis.once(CodePolicyDiffers, "a policy name is used with different limits on one store, where it is one count: give them different names",
				slog.String("policy", p.Name), slog.String("limits", limits), slog.String("earlier", earlier))
		}
	}
}

// storeFailed tells log and observers of a failed call.
func (l *Limiter) storeFailed(ctx context.Context, failure *StoreFailure) {
	failed := l.store
	if failure.Fallback {
		failed = l.fallback.store
	}
	failure.Kind = ErrorKind(failed, failure.Err)
	for i := range l.observers {
		if told := l.observers[i].StoreFailure; told != nil {
			told(ctx, failure)
		}
	}
	if suppressed, due := l.diagnosis.store.due(); due {
		l.diagnosis.warn(ctx, CodeStoreFailure, "the store failed", slog.String("operation", failure.Operation),
			slog.Bool("fallback", failure.Fallback), slog.String("kind", failure.Kind), slog.Any("error", failure.Err), slog.Int64("suppressed", suppressed))
	}
}

func (l *Limiter) resolverFailed(ctx context.Context, policy string, err error) {
	if suppressed, due := l.diagnosis.resolver.due(); due {
		l.diagnosis.warn(ctx, CodeResolverFailure, "a tier resolver failed: an older answer, else the default tier applies", slog.String("policy", policy),
			slog.Any("error", err), slog.Int64("suppressed", suppressed))
	}
}

// callerEnded reports whether a store's error is the end of the request's own
// context, which is neither a denial nor a failure.
func callerEnded(ctx context.Context, err error) bool {
	ended := ctx.Err()
	return ended != nil && (errors.Is(err, ended) || errors.Is(err, context.Cause(ctx)))
}
