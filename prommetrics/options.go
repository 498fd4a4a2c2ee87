package prommetrics

import "fmt"

// Option changes what [New] makes.
type Option func(*config) error

type config struct {
	bounds Bounds
	near   int64 // in thousandths
}

// Bounds are the most values that labels may have, and the most series of one
// metric. A zero field has its default.
type Bounds struct {
	// Policies, Tiers and Routes bound the values of these labels, each by
	// itself, over all limiters: 100, 20 and 200 by default, 1 to 10,000.
	Policies, Tiers, Routes int
	// Series bounds the series of rate_limit_requests_total, which has the most
	// labels: 5000 by default, 1 to 1,000,000. Beyond it there is one more for
	// each reason.
	Series int
}

// Other is the value of a label for what is beyond a bound.
const Other = "other"

const (
	maxValues = 10_000
	maxSeries = 1_000_000
)

// WithBounds sets the bounds of labels and series.
func WithBounds(b Bounds) Option {
	return func(c *config) error {
		for _, one := range []struct {
			name       string
			into       *int
			value, max int
		}{
			{"Policies", &c.bounds.Policies, b.Policies, maxValues},
			{"Tiers", &c.bounds.Tiers, b.Tiers, maxValues},
			{"Routes", &c.bounds.Routes, b.Routes, maxValues},
			{"Series", &c.bounds.Series, b.Series, maxSeries},
		} {
			switch {
			case one.value < 0 || one.value > one.max:
				return fmt.Errorf("prommetrics: Bounds.%s %d is out of range: use 1 to %d, or 0 for the default", one.name, one.value, one.max)
			case one.value > 0:
				*one.into = one.value
			}
		}
		return nil
	}
}

// WithNearLimit sets from which used share of a limit on a request counts as
// near it: above 0 up to 1, in thousandths; 0.8 by default.
func WithNearLimit(share float64) Option {
	return func(c *config) error {
		near := int64(share*1000 + 0.5)
		if !(share <= 1 && near >= 1) {
			return fmt.Errorf("prommetrics: WithNearLimit(%v) is out of range: use a share such as 0.8, from 0.001 to 1", share)
		}
		c.near = near
		return nil
	}
}

func newConfig(options []Option) (*config, error) {
	c := &config{bounds: Bounds{Policies: 100, Tiers: 20, Routes: 200, Series: 5000}, near: 800}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("prommetrics: option %d is nil: leave it out", i+1)
		}
		if err := option(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}
