// Package answers remembers what a slow function answered: bounded in number
// and age, one call at a time for a key, older answers while the function
// fails. It has no goroutine of its own: the function runs on the goroutine of
// the caller whose question it is.
package answers

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/go-floodgate/floodgate/core/internal/secondchance"
)

// Config is what a Cache is made of. Q is a question, A an answer; a key names
// questions that have the same answer.
type Config[Q, A any] struct {
	// Ask answers a question. It is called without any lock held, and for
	// one key by one caller at a time, except that one which takes longer
	// than MaxWait is no longer waited for.
	Ask func(Q) (A, error)
	// Subject is what an answer can be forgotten by beside its key, or "".
	Subject func(*A) string
	// Known says in which part an answer is kept.
	Known func(*A) bool
	// MaxKnown and MaxUnknown bound the two parts.
	MaxKnown, MaxUnknown int
	// MaxAge is how long an answer is used. It counts from the question: what
	// changes while it is being answered may be missing in the answer.
	MaxAge time.Duration
	// MaxStale is how long an answer is used while Ask fails.
	MaxStale time.Duration
	// Pause is how long Ask is not asked again after a failure.
	Pause time.Duration
	// MaxWait is how long a caller waits for the call of another.
	MaxWait time.Duration
	// Now is a clock that never goes back.
	Now func() time.Duration
}

// Cache is safe for concurrent use.
type Cache[Q, A any] struct {
	Config[Q, A]
	seed      maphash.Seed
	entries   *secondchance.Map[string, *entry[A]]
	forgotten forgotten

	mu      sync.Mutex
	flights map[string]*flight[A]
}

// entry is what is remembered of a key. It never changes.
type entry[A any] struct {
	// answer is nil if there is none: Ask failed, and there was no older one.
	answer *A
	// asked is when the question was put, until is how long the entry is
	// current.
	asked, until time.Duration
	// version is what had been forgotten when the question was put.
	version uint64
	// subject is the hash of what the answer can be forgotten by.
	subject uint64
	part    int
}

// The parts of a Cache's entries.
const (
	partKnown = iota
	partUnknown
)

// New returns an empty Cache.
func New[Q, A any](c Config[Q, A]) *Cache[Q, A] {
	return &Cache[Q, A]{
		Config:  c,
		seed:    maphash.MakeSeed(),
		entries: secondchance.New[string, *entry[A]](c.MaxKnown, c.MaxUnknown),
		flights: make(map[string]*flight[A]),
	}
}

// Get returns the answer for key, asking question if none is current. The
// answer is nil if nothing can be said: Ask failed, and there is no older one.
// It is shared: nobody may change it.
//
// If this call asked, or waited for another's that took too long, failed is
// why there is no new answer. If ctx ended first, ended is true and there is no
// answer; whoever waits for it then asks himself. A panic of Ask passes
// through, and likewise is nobody else's.
func (c *Cache[Q, A]) Get(ctx context.Context, question Q, key []byte) (answer *A, ended bool, failed error) {
	hash := maphash.Bytes(c.seed, key)
	if e, ok := secondchance.Lookup(c.entries, hash, key); ok && c.current(e, hash, c.Now()) {
		return e.answer, false, nil
	}
	return c.join(ctx, question, string(key), hash)
}

// Forget makes the next question anew for every key whose answer has this
// subject, and for the key of this name. An answer that is on its way is not
// used for questions that come later.
func (c *Cache[Q, A]) Forget(subject string) {
	c.forgotten.add(maphash.String(c.seed, subject))
}

// Len returns how many answers the two parts have.
func (c *Cache[Q, A]) Len() (known, unknown int) {
	return c.entries.Len(partKnown), c.entries.Len(partUnknown)
}

func (c *Cache[Q, A]) current(e *entry[A], hash uint64, now time.Duration) bool {
	return now < e.until && !c.isForgotten(e, hash)
}

func (c *Cache[Q, A]) isForgotten(e *entry[A], hash uint64) bool {
	return c.forgotten.since(e.version, hash) || c.forgotten.since(e.version, e.subject)
}

// answered makes the entry of an answer.
func (c *Cache[Q, A]) answered(f *flight[A], answer *A, hash uint64) *entry[A] {
	e := &entry[A]{answer: answer, asked: f.began, until: f.began + c.MaxAge, version: f.version, subject: hash, part: partUnknown}
	if c.Known(answer) {
		e.part = partKnown
	}
	if subject := c.Subject(answer); subject != "" {
		e.subject = maphash.String(c.seed, subject)
	}
	return e
}

// failed makes the entry of a failure: the older answer, if it may be used.
func (c *Cache[Q, A]) failed(f *flight[A], key string, hash uint64) *entry[A] {
	now := c.Now()
	e := &entry[A]{asked: f.began, version: f.version, subject: hash, part: partUnknown}
	if older := c.older(key, hash, now); older != nil {
		*e = *older
	}
	e.until = now + c.Pause
	return e
}

// older returns the entry of key that may be used when there is no new one, nil
// if there is none.
func (c *Cache[Q, A]) older(key string, hash uint64, now time.Duration) *entry[A] {
	e, ok := c.entries.Get(hash, key)
	if !ok || now-e.asked >= c.MaxStale || c.isForgotten(e, hash) {
		return nil
	}
	return e
}
