package memory

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"time"
)

// Limit is what every key is allowed: quota units at once, and no more than as
// many again in a window.
type Limit struct {
	Quota  int64
	Window time.Duration
}

// Year is the window of the limits that are measured: so long that nothing comes
// back meanwhile, and a key that was used goes on holding information.
const Year = 366 * 24 * time.Hour

// Decide asks for one unit of a key. It belongs to one goroutine.
type Decide func(key string) (allowed bool)

// Store limits any number of keys.
type Store struct {
	// Decide makes a Decide for a goroutine.
	Decide func() Decide
	// Close ends what runs in the background; it may be nil.
	Close func()
}

func (s *Store) close() {
	if s != nil && s.Close != nil {
		s.Close()
	}
}

// shared is a store whose decisions all goroutines may make.
func shared(decide Decide) Store { return Store{Decide: func() Decide { return decide }} }

// Contender is a row of the tables.
type Contender struct {
	Name string
	// Module is the path of the peer's module, empty for our own.
	Module string
	// New makes an empty store that will get so many keys.
	New func(l Limit, keys int) (Store, error)
	// Floor says that it limits nothing: it is what any limiter has to do.
	Floor bool
	// Hot, Many, Fresh and Heap say in what it is measured: with one key, with
	// many and new ones, with new ones, and what these take.
	Hot, Many, Fresh, Heap bool
	// Entries is how many units each of many keys has used for Heap; 0 is 1.
	Entries int
	// Growing says that Heap looks at many sizes and takes the largest.
	Growing bool
}

// Names of rows.
const (
	Clock   = "time.Since"
	KeyText = "the key's text alone"
	Write   = "one write"
	Ours    = "Floodgate"
)

// All are all contenders: floors, Floodgate, peers, and Floodgate in other
// set-ups.
func All() []Contender {
	all := []Contender{
		{Name: Clock, Floor: true, Hot: true, Many: true, New: clock},
		{Name: KeyText, Floor: true, Many: true, New: keyText},
		{Name: Write, Floor: true, Many: true, New: write},
		{Name: Ours, Hot: true, Many: true, Heap: true, New: floodgate(tokenBucket, 1)},
	}
	return append(append(all, peers()...), variants()...)
}

// clock reads the time once, which no limiter can do without.
func clock(Limit, int) (Store, error) {
	base := time.Now()
	return Store{Decide: func() Decide {
		var last time.Duration
		return func(string) bool {
			before := last
			last = time.Since(base)
			return last >= before
		}
	}}, nil
}

// keyText does nothing, so that what is left is how a key's text is made.
func keyText(Limit, int) (Store, error) {
	return shared(func(string) bool { return true }), nil
}

// write reads the time and writes it, with the key's hash, to the one place
// where the key's entry would be, of 32 bytes and under a lock: it looks for
// nothing, knows its size beforehand, and limits nothing.
func write(_ Limit, keys int) (Store, error) {
	type entry struct{ hash, time, state, _ uint64 }
	entries, base, seed := make([]entry, max(keys, 1)), time.Now(), maphash.MakeSeed()
	var locks [64]struct {
		sync.Mutex
		_ [56]byte
	}
	return shared(func(key string) bool {
		now, hash := uint64(time.Since(base)), maphash.String(seed, key)
		place, _ := bits.Mul64(hash, uint64(len(entries)))
		lock := &locks[place%uint64(len(locks))]
		lock.Lock()
		e := &entries[place]
		e.hash, e.time, e.state = hash, now, e.state+1
		lock.Unlock()
		return true
	}), nil
}

// named finds a contender.
func named(name string) (Contender, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return Contender{}, false
}
