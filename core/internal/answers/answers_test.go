package answers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// plan is an answer of the tests.
type plan struct {
	who, tier string
}

type question = func() (plan, error)

// desk is a Cache with a clock that the test sets.
type desk struct {
	*Cache[question, plan]
	t   *testing.T
	now time.Duration
	// asked counts the questions that came through.
	asked int
}

func config() Config[question, plan] {
	start := time.Now()
	return Config[question, plan]{
		Ask:      func(ask question) (plan, error) { return ask() },
		Subject:  func(p *plan) string { return p.who },
		Known:    func(p *plan) bool { return p.tier != "" },
		MaxKnown: 1000, MaxUnknown: 100,
		MaxAge: 30 * time.Second, MaxStale: time.Hour, Pause: time.Second, MaxWait: 5 * time.Second,
		Now: func() time.Duration { return time.Since(start) },
	}
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, now: time.Hour}
	c := config()
	c.Now = func() time.Duration { return d.now }
	d.Cache = New(c)
	return d
}

// get asks for key while the source says who and tier, or err.
func (d *desk) get(key, who, tier string, err error) (plan, error) {
	d.t.Helper()
	answer, ended, failed := d.Get(d.t.Context(), func() (plan, error) {
		d.asked++
		return plan{who, tier}, err
	}, []byte(key))
	if ended {
		d.t.Errorf("key %s: the context has not ended", key)
	}
	if answer == nil {
		return plan{}, failed
	}
	return *answer, failed
}

// want fails unless what get returned last is tier and so many questions were
// asked so far.
func (d *desk) want(what string, got plan, failed error, tier string, asked int) {
	d.t.Helper()
	if got.tier != tier || failed != nil || d.asked != asked {
		d.t.Errorf("%s: tier %q, error %v after %d questions; want %q and %d", what, got.tier, failed, d.asked, tier, asked)
	}
}

var errDown = errors.New("the directory is down")

func TestAnAnswerIsUsedUntilItIsOld(t *testing.T) {
	d := newDesk(t)
	got, err := d.get("k", "ann", "free", nil)
	d.want("first", got, err, "free", 1)
	d.now += 30*time.Second - 1
	got, err = d.get("k", "ann", "gold", nil)
	d.want("just before it is old", got, err, "free", 1)
	d.now++
	got, err = d.get("k", "ann", "gold", nil)
	d.want("old", got, err, "gold", 2)
	got, err = d.get("other", "ann", "free", nil)
	d.want("another key", got, err, "free", 3)
}

// What changed while the answer was on its way may be missing in it.
func TestAgeCountsFromTheQuestion(t *testing.T) {
	d := newDesk(t)
	slow := func() (plan, error) { d.now += 20 * time.Second; return plan{"ann", "free"}, nil }
	if answer, _, err := d.Get(t.Context(), slow, []byte("k")); err != nil || answer.tier != "free" {
		t.Fatalf("answer %v, %v", answer, err)
	}
	d.now += 10 * time.Second
	got, err := d.get("k", "ann", "gold", nil)
	d.want("30 s after the question", got, err, "gold", 1)
}

func TestAFailureIsAnsweredWithWhatWasBefore(t *testing.T) {
	d := newDesk(t)
	_, _ = d.get("k", "ann", "gold", nil)
	d.now += time.Minute
	if got, err := d.get("k", "", "", errDown); got.tier != "gold" || !errors.Is(err, errDown) {
		t.Errorf("the call that failed: tier %q, error %v; want the older answer and why", got.tier, err)
	}
	d.now += time.Second - 1
	got, err := d.get("k", "ann", "free", nil)
	d.want("within the pause", got, err, "gold", 2)
	d.now++
	got, err = d.get("k", "ann", "free", nil)
	d.want("after the pause", got, err, "free", 3)
}

func TestAFailureWithoutAnythingBefore(t *testing.T) {
	d := newDesk(t)
	if got, err := d.get("k", "bogus", "gold", errDown); got != (plan{}) || !errors.Is(err, errDown) {
		t.Errorf("%v, %v: want nothing, and why", got, err)
	}
	got, err := d.get("k", "ann", "gold", nil)
	d.want("within the pause", got, err, "", 1)
	if known, unknown := d.Len(); known != 0 || unknown != 1 {
		t.Errorf("%d known and %d unknown: a failure belongs to the unknown", known, unknown)
	}
	got, err = d.get("other", "bob", "free", nil)
	d.want("another key", got, err, "free", 2)
	d.now += time.Second
	got, err = d.get("k", "ann", "gold", nil)
	d.want("after the pause", got, err, "gold", 3)
}

// A call that fails late leaves a pause as long as one that fails at once.
func TestThePauseCountsFromTheFailure(t *testing.T) {
	d := newDesk(t)
	timeout := func() (plan, error) { d.now += 20 * time.Second; return plan{}, errDown }
	if _, _, err := d.Get(t.Context(), timeout, []byte("k")); !errors.Is(err, errDown) {
		t.Fatalf("error %v", err)
	}
	got, err := d.get("k", "ann", "gold", nil)
	d.want("right after the failure", got, err, "", 0)
}

func TestAnOlderAnswerIsUsedForSoLong(t *testing.T) {
	d := newDesk(t)
	_, _ = d.get("k", "ann", "gold", nil)
	for range 3599 {
		d.now += time.Second
		if got, _ := d.get("k", "", "", errDown); got.tier != "gold" {
			t.Fatalf("%v after the question: %v", d.now-time.Hour, got)
		}
	}
	d.now += time.Second
	if got, err := d.get("k", "", "", errDown); got != (plan{}) || !errors.Is(err, errDown) {
		t.Errorf("an hour after the question: %v, %v", got, err)
	}
}

func TestForget(t *testing.T) {
	d := newDesk(t)
	_, _ = d.get("k1", "ann", "free", nil)
	_, _ = d.get("k2", "ann", "free", nil)
	_, _ = d.get("k3", "bob", "free", nil)
	d.Forget("ann")
	got, err := d.get("k1", "ann", "gold", nil)
	d.want("one key of hers", got, err, "gold", 4)
	got, err = d.get("k2", "ann", "gold", nil)
	d.want("another key of hers", got, err, "gold", 5)
	got, err = d.get("k3", "bob", "gold", nil)
	d.want("somebody else", got, err, "free", 5)
	got, err = d.get("k1", "ann", "silver", nil)
	d.want("once is enough", got, err, "gold", 5)
	d.Forget("k1")
	got, err = d.get("k1", "ann", "silver", nil)
	d.want("forgotten by key", got, err, "silver", 6)
	d.Forget("nobody")
	got, err = d.get("k1", "ann", "free", nil)
	d.want("a stranger forgotten", got, err, "silver", 6)
}

func TestWhatIsForgottenIsNotUsedWhileAskFails(t *testing.T) {
	d := newDesk(t)
	_, _ = d.get("k", "ann", "gold", nil)
	d.Forget("ann")
	if got, err := d.get("k", "", "", errDown); got != (plan{}) || !errors.Is(err, errDown) {
		t.Errorf("%v, %v: want nothing", got, err)
	}
	// A failure is forgotten as well, with the older answer in it.
	_, _ = d.get("k2", "bob", "gold", nil)
	d.now += time.Minute
	_, _ = d.get("k2", "", "", errDown)
	d.Forget("bob")
	got, err := d.get("k2", "bob", "free", nil)
	d.want("forgotten within the pause", got, err, "free", 5)
	_, _ = d.get("k3", "", "", errDown)
	d.Forget("k3")
	got, err = d.get("k3", "cid", "free", nil)
	d.want("a failure forgotten by key", got, err, "free", 7)
}

// Those who become known change the part, and back.
func TestParts(t *testing.T) {
	d := newDesk(t)
	for i, tier := range []string{"", "free", ""} {
		_, _ = d.get("k", "ann", tier, nil)
		d.now += time.Minute
		known, unknown := d.Len()
		if wantKnown := i % 2; known != wantKnown || unknown != 1-wantKnown {
			t.Errorf("tier %q: %d known, %d unknown", tier, known, unknown)
		}
	}
}

func TestAFloodOfStrangersPushesNobodyOut(t *testing.T) {
	d := newDesk(t)
	const known = 1000
	for i := range known {
		_, _ = d.get(fmt.Sprint("known", i), fmt.Sprint("customer", i), "free", nil)
	}
	stranger := func() (plan, error) { return plan{}, nil }
	key := make([]byte, 0, 32)
	for i := range 1_000_000 {
		_, _, _ = d.Get(t.Context(), stranger, fmt.Append(key, "made-up", i))
	}
	for i := range 1000 {
		_, _ = d.get(fmt.Sprint("failing", i), "", "", errDown)
	}
	d.asked = 0
	for i := range known {
		got, err := d.get(fmt.Sprint("known", i), "", "", nil)
		d.want("after the flood", got, err, "free", 0)
	}
	if n, unknown := d.Len(); n != known || unknown > 100 {
		t.Errorf("%d known and %d unknown answers, want %d and at most 100", n, unknown, known)
	}
	if n := len(d.flights); n != 0 {
		t.Errorf("%d calls are still under way", n)
	}
}

func TestAHitAllocatesNothing(t *testing.T) {
	d := newDesk(t)
	_, _ = d.get("k", "ann", "gold", nil)
	d.Forget("somebody")
	key, ask, ctx := []byte("k"), func() (plan, error) { return plan{}, nil }, context.Background()
	if n := testing.AllocsPerRun(100, func() { _, _, _ = d.Get(ctx, ask, key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
