package memstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

func dump(t testing.TB, s *Store) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := s.Dump(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// busy is a store with clients of all kinds, those of a spill included.
func busy(t testing.TB, maxKeys int) (*Store, *fakeClock) {
	t.Helper()
	s, clock := open(maxKeys)
	random := rand.New(rand.NewPCG(9, 9))
	for range max(5*maxKeys, 3000) {
		clock.advance(time.Duration(random.IntN(20)) * time.Millisecond)
		c := randomCharge(random)
		c.Mode = ratelimit.ModeForce
		take(t, s, c)
	}
	return s, clock
}

func randomCharge(random *rand.Rand) ratelimit.Charge {
	a := algorithms[random.IntN(len(algorithms))]
	l := limitOf(a, 3+random.Int64N(3), time.Duration(1+random.IntN(3))*time.Hour)
	return on(name(random.IntN(200)), l, random.Int64N(4))
}

// TestRestoredGoesOn sends the same requests to a store and to those that were
// restored from its dump: the answers have to be the same. All have room, since
// who makes way at the cap depends on where the entries are.
func TestRestoredGoesOn(t *testing.T) {
	const maxKeys = 3000
	s, clock := busy(t, maxKeys)
	text := dump(t, s)
	var stores []*Store
	for _, other := range []int{maxKeys, 2 * maxKeys, 100_000} {
		restored := New(WithMaxKeys(other), WithClock(clock.now))
		if err := restored.Restore(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		heldKeys(t, restored)
		stores = append(stores, restored)
	}
	goOn(t, clock, 3000, 4*time.Second, append(stores, s))
}

// TestRestoredTogether has a store whose entries are all at their limits, so
// that what matters for newcomers is what they have used together.
func TestRestoredTogether(t *testing.T) {
	const maxKeys = 150
	s, clock := open(maxKeys)
	random := rand.New(rand.NewPCG(9, 9))
	for s.Stats().Spilled < 100 {
		c := randomCharge(random)
		c.Mode, c.Cost = ratelimit.ModeForce, 20
		if s.Stats().Keys == maxKeys {
			c.Cost = 1
		}
		take(t, s, c)
	}
	restored := New(WithMaxKeys(maxKeys), WithClock(clock.now))
	if err := restored.Restore(bytes.NewReader(dump(t, s))); err != nil {
		t.Fatal(err)
	}
	goOn(t, clock, 3000, time.Second, []*Store{s, restored})
}

// goOn sends requests to several stores and compares the answers.
func goOn(t *testing.T, clock *fakeClock, requests int, step time.Duration, stores []*Store) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 5))
	admitted := 0
	for i := range requests {
		clock.advance(time.Duration(random.Int64N(int64(step))).Truncate(time.Microsecond))
		c := randomCharge(random)
		want := take(t, stores[0], c)[0]
		if want.Allowed {
			admitted++
		}
		for _, other := range stores[1:] {
			if got := take(t, other, c)[0]; got != want {
				t.Fatalf("request %d, %+v: answered %+v and %+v", i, c, got, want)
			}
		}
	}
	if admitted < requests/50 || admitted > requests*9/10 {
		t.Errorf("%d of %d admitted, want some of both", admitted, requests)
	}
}

// TestDumpLeavesOutExpired dumps a store all of whose clients have expired.
func TestDumpLeavesOutExpired(t *testing.T) {
	s, clock := busy(t, 300)
	clock.advance(365 * 24 * time.Hour)
	restored, _ := open(1)
	if err := restored.Restore(bytes.NewReader(dump(t, s))); err != nil {
		t.Fatal(err)
	}
	if keys := restored.Stats().Keys; keys != 0 {
		t.Errorf("%d keys restored, want none", keys)
	}

	// What expires between the two does not count against the cap either.
	s, clock = busy(t, 300)
	text := dump(t, s)
	clock.advance(365 * 24 * time.Hour)
	restored = New(WithMaxKeys(1), WithClock(clock.now))
	if err := restored.Restore(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
}

// TestDumpWhileInUse dumps a store that grows, shrinks and is charged: each key
// that is left alone has to be in the dump exactly once.
func TestDumpWhileInUse(t *testing.T) {
	const quiet = 2000
	s := New(WithMaxKeys(20_000))
	l := limitOf(ratelimit.AlgorithmFixedWindow, 5, 366*24*time.Hour)
	for i := range quiet {
		admit(t, s, on(name(i), l, 2))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := quiet; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			c := on(name(i), l, 1)
			if err := s.Take(t.Context(), []ratelimit.Charge{c}, make([]ratelimit.Result, 1)); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := s.Reset(t.Context(), []ratelimit.Key{c.Key()}); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	var texts [][]byte
	for range 10 {
		texts = append(texts, dump(t, s))
	}
	close(stop)
	<-stopped
	for _, text := range texts {
		restored := New(WithMaxKeys(20_000))
		if err := restored.Restore(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		for i := range quiet {
			if got := left(t, restored, on(name(i), l, 0)); got != 3 {
				t.Fatalf("client %d has %d left, want 3", i, got)
			}
		}
	}
}

// TestRestoreRefuses: a dump that is cut, changed or too large is an error and
// the store is as empty as it was.
func TestRestoreRefuses(t *testing.T) {
	s, clock := busy(t, 20)
	text := dump(t, s)
	right := bytes.Clone(text)
	refuse := func(what string, text []byte, want string) {
		t.Helper()
		store := New(WithMaxKeys(100), WithClock(clock.now))
		err := store.Restore(bytes.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "memstore: Restore: ") {
			t.Errorf("%s: error %v, want one with %q", what, err, want)
		}
		if stats := store.Stats(); stats != (Stats{}) {
			t.Errorf("%s: %+v after an error, want an empty store", what, stats)
		}
		if err := store.Restore(bytes.NewReader(right)); err != nil {
			t.Errorf("%s: then the right one: %v", what, err)
		}
	}
	for n := range text {
		refuse(fmt.Sprint("cut after ", n), text[:n], "unexpected EOF")
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 0x10
		refuse(fmt.Sprint("byte ", i, " changed"), changed, "")
	}
	refuse("nothing", nil, "unexpected EOF")
	refuse("text", bytes.Repeat([]byte("text"), 100), "no dump")

	if err := s.Restore(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("into a store in use: %v", err)
	}
	broken := errors.New("broken pipe")
	if err := New().Restore(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("from a reader that fails: %v", err)
	}
	if err := s.Dump(failingWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("to a writer that fails: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestRestoreTrims: a dump with somewhat more keys than the cap loses those that
// have used the smallest share, never one that is blocked; one with many more
// is an error.
func TestRestoreTrims(t *testing.T) {
	for _, a := range algorithms {
		s, clock := open(2000)
		l := limitOf(a, 10, time.Hour)
		for i := range 1200 {
			cost := int64(1 + i%3)
			if i < 100 {
				cost = 10
			}
			admit(t, s, on(name(i), l, cost))
		}
		text := dump(t, s)
		smaller := New(WithMaxKeys(1000), WithClock(clock.now))
		if err := smaller.Restore(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if keys, _ := heldKeys(t, smaller); keys != 1000 || smaller.Stats().Forgotten != 200 {
			t.Errorf("%v: %+v, want the cap of 1000 keys and 200 forgotten", a, smaller.Stats())
		}
		for i := range 1200 {
			c := on(name(i), l, 1)
			if i < 100 {
				deny(t, smaller, c)
			} else if got := peekLeft(t, smaller, c); i%3 == 2 && got != 7 {
				t.Errorf("%v: client %d, who had used 3, has %d left", a, i, got)
			}
		}
		tooSmall := func(what string, maxKeys int, text []byte) {
			t.Helper()
			store := New(WithMaxKeys(maxKeys), WithClock(clock.now))
			if err := store.Restore(bytes.NewReader(text)); err == nil || !strings.Contains(err.Error(), "WithMaxKeys") || store.Stats() != (Stats{}) {
				t.Errorf("%v: %s: %v", a, what, err)
			}
		}
		tooSmall("into a much smaller store", 500, text)
		for i := range 1200 {
			take(t, s, as(ratelimit.ModeForce, on(name(i), l, 10)))
		}
		tooSmall("all of them blocked", 1000, dump(t, s))
	}
}

// record is a dump with these bytes as its records, and a right checksum.
func record(count uint64, records ...byte) []byte {
	text := append([]byte(dumpMagic), make([]byte, 32)...)
	text = append(append(text, records...), recordEnd)
	text = binary.AppendUvarint(text, count)
	return binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, castagnoli))
}

// TestRestoreChecks has dumps with a right checksum that say what can't be.
func TestRestoreChecks(t *testing.T) {
	numbers := func(text []byte, all ...uint64) []byte {
		for _, n := range all {
			text = binary.AppendUvarint(text, n)
		}
		return text
	}
	limit := func(l ratelimit.Limit) []byte {
		return numbers([]byte{recordLimit, byte(l.Algorithm)}, uint64(l.Quota), uint64(l.Window), uint64(l.Burst))
	}
	entry := func(tag uint64, rest ...uint64) []byte {
		return numbers(binary.LittleEndian.AppendUint64([]byte{recordEntry}, tag), rest...)
	}
	join := func(parts ...[]byte) []byte { return record(uint64(len(parts)), bytes.Join(parts, nil)...) }
	_, clock := open(1)
	now := uint64(clock.us.Load())
	fixed, log := limit(limitOf(ratelimit.AlgorithmFixedWindow, 5, time.Hour)), limit(limitOf(ratelimit.AlgorithmSlidingLog, 5, time.Hour))
	bucket := limit(limitOf(ratelimit.AlgorithmTokenBucket, 5, time.Hour))
	hour := uint64(3_600_000_000)
	start := now - now%hour

	good := map[string][]byte{
		"empty":        join(),
		"fixed window": join(fixed, entry(7, 0, start, 3, 0)),
		"log":          join(log, entry(7, 0, now, 3, 2, now-10, 1, 10, 2)),
		"older log":    join(log, entry(7, 0, now, 3, 1, now-10, 3)),
		"bucket":       join(bucket, entry(7, 0, now, 3, hour-1)),
		"shared":       join(fixed, append(numbers([]byte{recordShared}, 0), entry(7, 0, start, 3, 0)[1:]...)),
	}
	for what, text := range good {
		s := New(WithMaxKeys(10_000), WithClock(clock.now))
		if err := s.Restore(bytes.NewReader(text)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if text2 := dump(t, s); !bytes.Equal(text, text2) {
			t.Errorf("%s: dumped again as\n%q, want\n%q", what, text2, text)
		}
	}
	var same [][]byte
	for i := range uint64(200) {
		same = append(same, entry(1<<63|i, 0, start, 3, 0))
	}
	bad := map[string][]byte{
		"unknown record":      join([]byte{'?'}),
		"records missing":     record(1),
		"no limit":            join(entry(7, 0, start, 3, 0)),
		"no tag":              join(fixed, entry(0, 0, start, 3, 0)),
		"unlimited":           join(limit(ratelimit.Unlimited)),
		"quota":               join(limit(ratelimit.Limit{Algorithm: 1, Quota: 1 << 60, Window: time.Hour})),
		"window":              join(limit(ratelimit.Limit{Algorithm: 1, Quota: 1, Window: 1})),
		"too many limits":     join(slices.Repeat([][]byte{fixed}, 20_000)...),
		"time":                join(fixed, entry(7, 0, 1<<60, 3, 0)),
		"level":               join(fixed, entry(7, 0, start, 1<<53, 0)),
		"fixed window's rest": join(fixed, entry(7, 0, start, 3, 1)),
		"start of a window":   join(fixed, entry(7, 0, start+1, 3, 0)),
		"bucket's rest":       join(bucket, entry(7, 0, now, 3, hour)),
		"log too long":        join(log, entry(7, 0, now, 3, 1<<40)),
		"log's sum":           join(log, entry(7, 0, now, 3, 2, now-10, 1, 10, 1)),
		"log's order":         join(log, entry(7, 0, now, 3, 2, now-10, 1, 0, 2)),
		"log's future":        join(log, entry(7, 0, now, 3, 2, now-10, 1, 11, 2)),
		"log's units":         join(log, entry(7, 0, now, 3, 2, now-10, 0, 10, 3)),
		"twice":               join(fixed, entry(7, 0, start, 3, 0), entry(7, 0, start, 3, 0)),
		"same place":          join(append([][]byte{fixed}, same...)...),
		"huge number":         join(append([]byte{recordLimit, 1}, bytes.Repeat([]byte{0xff}, 11)...)),
	}
	for what, text := range bad {
		s := New(WithMaxKeys(10_000), WithClock(clock.now))
		if err := s.Restore(bytes.NewReader(text)); err == nil {
			t.Errorf("%s: no error", what)
		} else if s.Stats() != (Stats{}) {
			t.Errorf("%s: %+v", what, s.Stats())
		}
	}
}

// FuzzRestore: whatever a dump says, it is an error or a store that works.
func FuzzRestore(f *testing.F) {
	s, clock := busy(f, 100)
	text := dump(f, s)
	f.Add(text[len(dumpMagic)+32 : len(text)-4])
	f.Fuzz(func(t *testing.T, records []byte) {
		text := append(append([]byte(dumpMagic), make([]byte, 32)...), records...)
		text = binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, castagnoli))
		restored := New(WithMaxKeys(100), WithClock(clock.now))
		if err := restored.Restore(bytes.NewReader(text)); err != nil {
			t.Log(err)
			return
		}
		heldKeys(t, restored)
		for i := range restored.table.Load().shards {
			sh := &restored.table.Load().shards[i]
			for g := range sh.all() {
				for j := range g.slots {
					if e := &g.slots[j]; e.tag != 0 {
						var r ratelimit.Result
						s, l := sh.state(e, clock.us.Load()), &sh.limits.of(e.limit()).limit
						sh.apply(0, &s, clock.us.Load(), l, 1, &r)
					}
				}
			}
		}
		if err := New(WithMaxKeys(100), WithClock(clock.now)).Restore(bytes.NewReader(dump(t, restored))); err != nil {
			t.Fatalf("what was restored cannot be restored again: %v", err)
		}
	})
}
