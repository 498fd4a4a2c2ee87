package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/go-floodgate/floodgate/core/internal/clientip"
)

// Option is one thing that [New] is told: a [Policy], [Policies], or what the
// functions of this package return.
type Option interface {
	apply(*config) error
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

func (p Policy) apply(c *config) error {
	c.pending = append(c.pending, p)
	return nil
}

func (ps Policies) apply(c *config) error {
	c.pending = append(c.pending, ps...)
	return nil
}

// TrustProxies names the networks ("10.0.0.0/8", "192.0.2.7") whose
// forwarding header is believed. Without it the client is always the peer's
// address. If the peer is in one of them, the header is walked from the right
// to the first address that is in none.
func TrustProxies(prefixes ...string) Option {
	return optionFunc(func(c *config) error {
		parsed, err := clientip.ParsePrefixes(prefixes...)
		if err != nil {
			return fmt.Errorf("TrustProxies: %w", err)
		}
		c.proxies.Trusted = append(c.proxies.Trusted, parsed...)
		return nil
	})
}

// ClientIPHeader chooses the forwarding header that trusted proxies send:
// "X-Forwarded-For" (the default), "Forwarded" (RFC 7239), or a provider's own
// that holds a single address, such as "CF-Connecting-IP". Only this one is
// ever read.
func ClientIPHeader(name string) Option {
	return optionFunc(func(c *config) error {
		if name == "" {
			return errors.New("ClientIPHeader is empty: name a header, such as \"X-Forwarded-For\"")
		}
		c.proxies.Header = name
		return nil
	})
}

// IPPrefixes sets the lengths of the networks that clients are counted by:
// ipv4 from 8 to 32 (default 32), ipv6 from 16 to 128 (default 64).
func IPPrefixes(ipv4, ipv6 int) Option {
	return optionFunc(func(c *config) error {
		if ipv4 < 8 || ipv4 > 32 {
			return fmt.Errorf("IPPrefixes: ipv4 %d is out of range: use 8 to 32", ipv4)
		}
		if ipv6 < 16 || ipv6 > 128 {
			return fmt.Errorf("IPPrefixes: ipv6 %d is out of range: use 16 to 128", ipv6)
		}
		c.limiter.ipv4Bits, c.limiter.ipv6Bits = ipv4, ipv6
		return nil
	})
}

// Headers says which header fields and bodies clients get; without it they get
// those of the zero HeaderConfig.
func Headers(h HeaderConfig) Option {
	return optionFunc(func(c *config) error {
		c.limiter.headers = h
		return h.validate()
	})
}

// Exempt lets requests pass that any of these covers: they are neither charged
// nor do they get rate-limit headers.
func Exempt(exemptions ...Exemption) Option {
	return optionFunc(func(c *config) error {
		for _, exemption := range exemptions {
			if exemption.err != nil {
				return exemption.err
			}
		}
		c.limiter.exempt = append(c.limiter.exempt, exemptions...)
		return nil
	})
}

// Fallback gives the store that decides for [FailLocal] policies while the
// limiter's own store fails. Quotas and bursts are divided by replicas, the
// number of processes that share the limits, rounded down but at least 1, so
// that together they admit about what the limits say.
func Fallback(store Store, replicas int) Option {
	return optionFunc(func(c *config) error {
		switch {
		case isNil(store):
			return errors.New("Fallback: the store is nil: give one, such as memstore.New()")
		case replicas < 1:
			return fmt.Errorf("Fallback: replicas %d is below 1: give the number of processes that share the limits", replicas)
		}
		c.limiter.fallback = &fallback{store: store, replicas: int64(replicas)}
		return nil
	})
}

// Shadow puts the whole limiter in shadow: every policy counts and reports, and
// nothing is refused or advertised.
func Shadow() Option {
	return optionFunc(func(c *config) error {
		c.shadow = true
		return nil
	})
}

// Observe adds an observer; it may be given several times.
func Observe(o Observer) Option {
	return optionFunc(func(c *config) error {
		c.limiter.observers = append(c.limiter.observers, o)
		c.limiter.timed = c.limiter.timed || o.Decision != nil && !o.Untimed
		return nil
	})
}

// Logger sets where diagnostics and store failures are logged; the default is
// slog.Default() at the time of the message, nil turns logging off.
func Logger(logger *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		c.limiter.diagnosis.logger = logger
		return nil
	})
}

// isNil reports whether an interface holds nothing or a nil pointer.
func isNil(store Store) bool {
	if store == nil {
		return true
	}
	v := reflect.ValueOf(store)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
