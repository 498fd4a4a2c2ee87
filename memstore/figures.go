package memstore

import ratelimit "github.com/go-floodgate/floodgate/core"

var _ ratelimit.MeasuredStore = (*Store)(nil)

// Figures returns the store's [Stats], for [ratelimit.MeasuredStore].
func (s *Store) Figures() []ratelimit.Figure {
	stats := s.Stats()
	level := func(name, help string, value int64) ratelimit.Figure {
		return ratelimit.Figure{Name: name, Help: help, Value: float64(value)}
	}
	count := func(name, help string, value int64) ratelimit.Figure {
		return ratelimit.Figure{Name: name, Help: help, Counter: true, Value: float64(value)}
	}
	return []ratelimit.Figure{
		level("keys", "Keys that have an entry.", stats.Keys),
		level("max_keys", "The cap on keys.", s.table.Load().most),
		count("forgotten_keys", "Keys that were given up at the cap although they held information.", stats.Forgotten),
		count("expired_keys", "Keys that were removed after they had become as good as new.", stats.Expired),
		count("spilled_charges", "Charges of newcomers for whom there was no room at the cap, and who were limited together.", stats.Spilled),
	}
}
