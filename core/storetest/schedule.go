package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
	"github.com/go-floodgate/floodgate/core/algorithm"
)

// seedVariable names the environment variable with the one seed to run.
const seedVariable = "RATELIMIT_SEED"

func randomCases() []testCase {
	return []testCase{
		{"random_schedules", anyClock, "whatever the order of requests, adjustments and resets, each answer is that of the exact model", caseSchedules},
		{"random_counts", setClock, "never is more admitted than the algorithm allows, nor less, by a count that knows nothing of how it is kept", caseCounts},
	}
}

// seeds are always the same and one that never was.
func (s *suite) seeds(n uint64) []uint64 {
	s.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			s.Fatalf("%s=%q is no number: %v", seedVariable, text, err)
		}
		return []uint64{seed}
	}
	var all []uint64
	for seed := range n {
		all = append(all, seed)
	}
	return append(all, rand.Uint64())
}

func caseSchedules(s *suite) {
	for _, seed := range s.seeds(12) {
		s.sub(fmt.Sprint("seed_", seed), func(s *suite) {
			s.reopen()
			newSchedule(s, seed).run(300)
		})
	}
}

// schedule draws what to ask a store, and asks the model the same.
type schedule struct {
	*suite
	seed    uint64
	rnd     *rand.Rand
	models  []variant // those that all answers so far agree with
	keys    []scheduledKey
	charged []ratelimit.Adjustment // what can be adjusted, with NewCost unset
	wait    time.Duration          // the last Retry-After
	latest  int64                  // the latest instant the clock showed
	trace   []string
}

// scheduledKey is a key and the quotas that its limits are drawn from.
type scheduledKey struct {
	ratelimit.Key
	quotas []int64
}

// limitWith is a limit of the key; its burst is no matter to what it keeps.
func (k scheduledKey) limitWith(quota, burst int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: k.Algorithm, Window: k.Window, Quota: quota, Burst: burst}
}

func newSchedule(s *suite, seed uint64) *schedule {
	d := &schedule{suite: s, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), models: variants()}
	windows := []time.Duration{97 * time.Millisecond, time.Second, 7 * time.Second, time.Minute}
	if s.h.RealTime {
		windows = windows[:1] // so that something comes back
	}
	window := pick(d.rnd, windows...)
	for i := range 6 {
		key := scheduledKey{Key: ratelimit.Key{
			Policy:    fmt.Sprint("policy", i%2),
			Partition: ratelimit.Partition(fmt.Sprint("client", i/2)),
			Algorithm: pick(d.rnd, algorithms[:]...),
			Window:    window * time.Duration(1+d.rnd.IntN(2)),
		}}
		key.quotas = []int64{1, 2, 3, 5, 7, 10, 10, 10, 13, 100}
		if key.Algorithm.Bucket() {
			// Near each other, for the sake of [schedule.settled].
			quota := pick(d.rnd, key.quotas...)
			key.quotas = []int64{quota, 2 * quota}
			if s.h.RealTime {
				key.quotas = key.quotas[:1]
			}
		}
		d.keys = append(d.keys, key)
	}
	return d
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

func (d *schedule) run(steps int) {
	d.Helper()
	for range steps {
		d.moveClock()
		switch n := d.rnd.IntN(100); {
		case n < 12 && d.clock != nil:
			d.changeCharge()
		case n < 15:
			d.resetKey()
		case n < 18:
			d.failedCall()
		default:
			d.request()
		}
	}
	for _, key := range d.keys {
		d.ask([]ratelimit.Charge{d.charge(key)})
	}
}

// charge draws a charge of cost 0 on the key; the quota may be another than
// last time.
func (d *schedule) charge(key scheduledKey) ratelimit.Charge {
	burst := int64(0)
	switch key.Algorithm {
	case ratelimit.AlgorithmTokenBucket:
		burst = pick[int64](d.rnd, 1, 4, 10, 10, 20)
	case ratelimit.AlgorithmLeakyBucket:
		burst = pick[int64](d.rnd, 0, 3, 9, 9, 20)
	}
	return ratelimit.Charge{Policy: key.Policy, Partition: key.Partition, Limit: key.limitWith(pick(d.rnd, key.quotas...), burst)}
}

func (d *schedule) cost(capacity int64) int64 {
	switch d.rnd.IntN(12) {
	case 0:
		return 0
	case 1:
		return capacity
	case 2:
		return capacity + 1 + d.rnd.Int64N(3)
	case 3, 4:
		return 1 + d.rnd.Int64N(max(capacity, 1))
	default:
		return 1 + d.rnd.Int64N(3)
	}
}

func (d *schedule) request() {
	d.Helper()
	charges := make([]ratelimit.Charge, 1+d.rnd.IntN(4))
	for i := range charges {
		c := d.charge(pick(d.rnd, d.keys...))
		c.Cost = d.cost(c.Limit.Capacity())
		if d.rnd.IntN(5) < 2 {
			c.Mode = ratelimit.Mode(d.rnd.IntN(5))
		}
		charges[i] = c
	}
	d.ask(charges)
}

// ask has store and model decide the same.
func (d *schedule) ask(charges []ratelimit.Charge) {
	d.Helper()
	for _, c := range charges {
		d.note("take %s", show(c))
	}
	results := d.take(charges...)
	now := make([]int64, len(charges))
	for i := range now {
		if now[i] = results[i].At; d.clock != nil {
			now[i] = d.clock.UnixMicro()
		}
	}
	answers, denied := d.agreed(now, charges, results)
	for _, want := range answers {
		if !want.Allowed && want.RetryAfter != ratelimit.Never {
			d.wait = want.RetryAfter
		}
	}
	for i, c := range charges {
		onAdmission := c.Mode == ratelimit.ModeEnforce || c.Mode == ratelimit.ModeForce || c.Mode == ratelimit.ModeShadow && results[i].Allowed
		if c.Cost > 0 && (onAdmission && !denied || c.Mode == ratelimit.ModeOnDenial && denied) {
			d.charged = append(d.charged, changed(c, results[i], 0))
		}
	}
}

// agreed drops the variants of the model that answer differently. One must be
// left; its answers are returned, and whether an enforcing charge was denied.
func (d *schedule) agreed(now []int64, charges []ratelimit.Charge, results []ratelimit.Result) (answers []answer, denied bool) {
	d.Helper()
	var left []variant
	diff := ""
	for _, v := range d.models {
		said, refused := v.take(now, charges)
		differs := ""
		for i, c := range charges {
			if one := differ(said[i].Result, results[i], said[i].in); one != "" && differs == "" {
				differs = fmt.Sprintf("charge %d of %d, %s: %s", i, len(charges), show(c), one)
			}
		}
		if differs == "" {
			left, answers, denied = append(left, v), said, refused
		} else if diff == "" {
			diff = differs
		}
	}
	if len(left) == 0 {
		d.fail("%s", diff)
	}
	d.models = left
	return answers, denied
}

func (d *schedule) changeCharge() {
	d.Helper()
	if len(d.charged) == 0 {
		return
	}
	// Mostly one of the last.
	at := max(0, len(d.charged)-1-d.rnd.IntN(1+d.rnd.IntN(len(d.charged))))
	a := d.charged[at]
	for _, key := range d.keys {
		if key.Key == a.Key() {
			a.Limit = d.charge(key).Limit
		}
	}
	a.NewCost = pick(d.rnd, 0, d.rnd.Int64N(a.Cost+1), a.Cost+d.rnd.Int64N(4))
	now := d.clock.UnixMicro()
	after := make([]variant, len(d.models))
	for i := range after {
		after[i] = d.models[i].clone()
		after[i].adjust(now, a)
		if state := after[i].model[a.Key()]; state.Time > now && algorithm.Fresh(state, now, a.Limit) {
			return // as good as new, so that the store may forget that it was ahead
		}
	}
	d.note("adjust %+v", a)
	d.adjust(a)
	d.models = after
	d.charged[at].Cost = a.NewCost
}

func (d *schedule) resetKey() {
	d.Helper()
	key := pick(d.rnd, d.keys...).Key
	d.note("reset %+v", key)
	d.reset(key)
	for _, v := range d.models {
		v.forget(key)
	}
}

// failedCall makes a call that must fail and change nothing.
func (d *schedule) failedCall() {
	d.Helper()
	charges := []ratelimit.Charge{d.charge(pick(d.rnd, d.keys...))}
	charges[0].Cost = 1
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	if d.rnd.IntN(2) == 0 {
		cancel()
	} else {
		charges = append(charges, charges[0])
		charges[1].Cost = -1
	}
	d.note("a call that fails, of %s", show(charges[0]))
	if err := d.store.Take(ctx, charges, make([]ratelimit.Result, len(charges))); err == nil {
		d.fail("Take with a negative cost or a cancelled context: no error")
	}
}

func (d *schedule) note(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf(format, args...))
}

func (d *schedule) fail(format string, args ...any) {
	d.Helper()
	last := slices.Clone(d.trace[max(0, len(d.trace)-25):])
	d.Fatalf("seed %d, step %d: %s\nthe last steps (all of them: %s=%d):\n  %s",
		d.seed, len(d.trace), fmt.Sprintf(format, args...), seedVariable, d.seed, strings.Join(last, "\n  "))
}
