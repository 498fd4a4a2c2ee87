package memory

import (
	"fmt"
	"runtime"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// What a session can be told to do, as Order.Scenario.
const (
	hotAllowed = "hot key, allowed"
	hotDenied  = "hot key, denied"
	churn      = "new keys only"
	grow       = "filling"
	uniformly  = "uniform"
	zipfian    = "Zipf"
	heap       = "heap and garbage collection"
)

var (
	// roomy is never used up, whatever is asked of one key or of many.
	roomy = Limit{Quota: 1_600_000_000, Window: Year}
	many  = Limit{Quota: 300_000, Window: Year}
	tight = Limit{Quota: 1, Window: time.Hour}
)

// session is a contender's; it implements measure.Session.
type session struct {
	contender Contender
	allowed   *Store // for the hot key
	denied    *Store
	crowd     *Store // of many keys
	grown     int    // how many it has
	filling   float64
	ranks     []uint32
	// What there was without it.
	emptyHeap, emptyGC float64
}

// NewSession begins a session of a contender.
func NewSession(name string) (measure.Session, error) {
	c, found := named(name)
	if !found {
		return nil, fmt.Errorf("memory: no contender is called %q", name)
	}
	return &session{contender: c}, nil
}

func (s *session) Do(o measure.Order) (map[string]float64, error) {
	switch o.Scenario {
	case hotAllowed:
		return s.hot(&s.allowed, roomy, true, o)
	case hotDenied:
		return s.hot(&s.denied, tight, false, o)
	case churn:
		return s.churn(o)
	case grow:
		return s.grow(o)
	case uniformly, zipfian:
		return s.many(o)
	case heap:
		return s.heap(o)
	}
	return nil, fmt.Errorf("memory: no scenario is called %q", o.Scenario)
}

func (s *session) Close() error {
	for _, store := range []*Store{s.allowed, s.denied, s.crowd} {
		store.close()
	}
	return nil
}

// checked makes an error of wrong answers: a contender that does not limit, or
// limits too much, is not to be timed.
func (s *session) checked(m map[string]float64, wrong int) (map[string]float64, error) {
	if wrong > 0 && !s.contender.Floor {
		return nil, fmt.Errorf("memory: %s gave %d wrong answers", s.contender.Name, wrong)
	}
	return m, nil
}

func (s *session) passes(o measure.Order, pass func(goroutine uint64) measure.Pass) []measure.Pass {
	var all []measure.Pass
	for g := range max(o.Goroutines, o.Processors) {
		all = append(all, pass(uint64(g)))
	}
	return all
}

// hot measures one key; what a limit has is used up first if all is to be denied.
func (s *session) hot(store **Store, l Limit, allowed bool, o measure.Order) (map[string]float64, error) {
	if *store == nil {
		made, err := s.contender.New(l, 1)
		if err != nil {
			return nil, err
		}
		*store = &made
		if decide := made.Decide(); !allowed {
			for range l.Quota {
				decide(hotKey)
			}
		}
	}
	return s.checked(measure.Speed(o.Processors, o.For, s.passes(o, func(uint64) measure.Pass {
		return hot((*store).Decide(), allowed)
	})))
}

// churn fills a new store and throws it away.
func (s *session) churn(o measure.Order) (map[string]float64, error) {
	store, err := s.contender.New(many, o.Keys)
	if err != nil {
		return nil, err
	}
	defer store.close()
	runtime.GC()
	return s.fill(&store, o, 0)
}

// grow makes the store of many keys larger, so that a curve over its size needs
// one filling. Its time per key is that of all keys there are.
func (s *session) grow(o measure.Order) (map[string]float64, error) {
	if s.crowd == nil {
		s.emptyHeap, s.emptyGC = collected()
		store, err := s.contender.New(many, o.Room)
		if err != nil {
			return nil, err
		}
		s.crowd = &store
	}
	m, err := s.fill(s.crowd, o, s.grown)
	if err != nil {
		return nil, err
	}
	s.filling += m[measure.Nanoseconds] * float64(o.Keys-s.grown)
	s.grown = o.Keys
	m[measure.Nanoseconds] = s.filling / float64(s.grown)
	return m, nil
}

// fill asks for the keys from first to o.Keys, which are new.
func (s *session) fill(store *Store, o measure.Order, first int) (map[string]float64, error) {
	goroutines := max(o.Goroutines, o.Processors, 1)
	return s.checked(measure.Once(o.Processors, (o.Keys-first)/goroutines, s.passes(o, func(g uint64) measure.Pass {
		return fresh(store.Decide(), uint64(first)+g, uint64(goroutines))
	})))
}

// many asks for any of the keys there are.
func (s *session) many(o measure.Order) (map[string]float64, error) {
	keys := uint64(s.grown)
	if o.Scenario == zipfian && len(s.ranks) == 0 {
		s.ranks = drawn(s.grown, 1<<20)
	}
	return s.checked(measure.Speed(o.Processors, o.For, s.passes(o, func(g uint64) measure.Pass {
		if o.Scenario == zipfian {
			return zipf(s.crowd.Decide(), s.ranks, int(g)*len(s.ranks)/8%len(s.ranks))
		}
		return uniform(s.crowd.Decide(), keys, g)
	})))
}
