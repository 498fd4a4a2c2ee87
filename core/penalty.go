package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Penalty blocks a client that is refused again and again, each time for
// longer: exponential back-off from the server's side. It belongs to a
// [Policy] and has the policy's key.
//
// Every request that the policy itself refuses is a strike. The first strike
// beyond Tolerate blocks the key for Base, each further one for Factor times as
// long as the one before, up to Cap. What comes in while a key is blocked is
// refused whatever is left of its quota, counts against no policy and is no
// strike. ForgetAfter after its last block has ended (or its last strike, if
// that was tolerated) a key is as good as new; [Limiter.Reset] frees one at
// once.
//
// Strike and block are decided with the request, in the same call to the store.
// There are no strikes for what costs nothing, for the attempts of
// [Limiter.Wait], while the fallback store decides (which knows no blocks), or
// in a request that another policy's penalty blocks.
// A zero field has its default; durations are whole numbers of microseconds.
type Penalty struct {
	// Base is the first block, at least 1 ms; 0 is one minute.
	Base time.Duration
	// Factor is by how much each block is longer than the one before, 1 to
	// 1000; 0 is 2.
	Factor int64
	// Cap is the longest block, Base to 366 days; 0 is 24 hours, or Base if
	// that is longer.
	Cap time.Duration
	// ForgetAfter is how long a key has to behave before it is as good as new,
	// 1 ms to 366 days; 0 is 24 hours.
	ForgetAfter time.Duration
	// Tolerate is how many strikes are without a block, 0 to 1,000,000. A
	// client that keeps to Retry-After has a strike now and then.
	Tolerate int64
}

const (
	maxFactor   = 1000
	maxTolerate = 1_000_000
)

// Limit returns what a store is charged with for a penalty: a limit of
// [AlgorithmPenalty]. The error names the field that is out of range and the
// mend.
func (p Penalty) Limit() (Limit, error) {
	const day = 24 * time.Hour
	l := Limit{Algorithm: AlgorithmPenalty, Quota: p.Tolerate, Window: p.ForgetAfter, Block: Block{Base: p.Base, Factor: p.Factor, Cap: p.Cap}}
	if l.Block.Base == 0 {
		l.Block.Base = time.Minute
	}
	if l.Block.Factor == 0 {
		l.Block.Factor = 2
	}
	if l.Block.Cap == 0 {
		l.Block.Cap = max(day, l.Block.Base)
	}
	if l.Window == 0 {
		l.Window = day
	}
	return l, l.Validate()
}

// Block is how long a penalty blocks; see [Penalty].
type Block struct {
	Base   time.Duration
	Factor int64
	Cap    time.Duration
}

// After returns how long the nth strike that is not tolerated blocks: Base
// times Factor to the power of n-1, at most Cap; 0 for n below 1.
func (b *Block) After(n int64) time.Duration {
	if n < 1 {
		return 0
	}
	length := min(b.Base, b.Cap)
	if b.Factor <= 1 {
		return length
	}
	for ; n > 1 && length < b.Cap; n-- {
		if length > b.Cap/time.Duration(b.Factor) {
			return b.Cap
		}
		length *= time.Duration(b.Factor)
	}
	return length
}

// validatePenalty is [Limit.Validate] for what only a penalty has.
func (l Limit) validatePenalty() error {
	b := l.Block
	switch {
	case l.Quota < 0 || l.Quota > maxTolerate:
		return fmt.Errorf("ratelimit: Penalty.Tolerate %d is out of range: use 0 to %d", l.Quota, maxTolerate)
	case l.Burst != 0:
		return fmt.Errorf("ratelimit: Limit.Burst %d has no meaning for a penalty: leave it 0", l.Burst)
	case b.Factor < 1 || b.Factor > maxFactor:
		return fmt.Errorf("ratelimit: Penalty.Factor %d is out of range: use 1 to %d", b.Factor, maxFactor)
	case b.Base < MinWindow || b.Base > MaxWindow:
		return fmt.Errorf("ratelimit: Penalty.Base %v is out of range: use %v to %d days", b.Base, MinWindow, MaxWindow/(24*time.Hour))
	case b.Cap < b.Base || b.Cap > MaxWindow:
		return fmt.Errorf("ratelimit: Penalty.Cap %v is out of range: use Base (%v) to %d days", b.Cap, b.Base, MaxWindow/(24*time.Hour))
	case l.Window < MinWindow || l.Window > MaxWindow:
		return fmt.Errorf("ratelimit: Penalty.ForgetAfter %v is out of range: use %v to %d days", l.Window, MinWindow, MaxWindow/(24*time.Hour))
	}
	if b.Base%time.Microsecond != 0 || b.Cap%time.Microsecond != 0 || l.Window%time.Microsecond != 0 {
		return errors.New("ratelimit: Penalty has a duration that is not a whole number of microseconds: round Base, Cap and ForgetAfter")
	}
	return nil
}

// compilePenalty makes what a store is charged with for the policy's penalty.
func (p *policy) compilePenalty() error {
	if p.Penalty == nil || p.Shadow {
		return nil
	}
	l, err := p.Penalty.Limit()
	if err != nil {
		return err
	}
	p.penalty = &PolicyLimit{Policy: p.Name, Limit: l}
	return nil
}

// guard adds the charge of the penalty that guards the one just added; without
// strikes it only blocks. A quota of 0 refuses all, which is no offence, nor is
// what costs nothing, and who is only watched offends nobody.
func (w *work) guard(p *policy, mode Mode, strikes bool) {
	guarded := &w.charges[len(w.charges)-1]
	if p.penalty == nil || w.asked[len(w.asked)-1].limit.Shadow || guarded.Limit.Quota == 0 {
		return
	}
	partition, cost := guarded.Partition, int64(1)
	if !strikes || guarded.Cost == 0 {
		cost = 0
	}
	charge := w.ask(p, p.penalty, cost, ModePenalty)
	if mode == ModePeek {
		charge.Cost, charge.Mode = 0, ModePeek
	}
	charge.Partition, charge.Settles, w.guarded = partition, false, true
}

// guards reports whether the charge at i is a penalty's.
func (w *work) guards(i int) bool { return w.charges[i].Limit.Algorithm == AlgorithmPenalty }

// penalise has a penalty that blocks, at i, speak through the policy it
// belongs to, which comes before it: nothing is left until the block is over.
func (w *work) penalise(i int) {
	block, result := &w.results[i], &w.results[i-1]
	if block.Allowed {
		return
	}
	result.Allowed, result.Remaining, result.Delay = false, 0, 0
	result.RetryAfter = max(result.RetryAfter, block.RetryAfter)
	result.ResetAfter = max(result.ResetAfter, block.RetryAfter)
}

// blocked reports whether the penalty of the charge at i blocks, if it has one.
func (w *work) blocked(i int) bool {
	return i+1 < len(w.charges) && w.guards(i+1) && !w.results[i+1].Allowed
}

// penaltyText is a penalty's text form.
func (l Limit) penaltyText() string {
	text := fmt.Appendf(nil, "%v %d/", l.Algorithm, l.Quota)
	text = appendWindow(text, l.Window)
	text = appendWindow(append(text, " base "...), l.Block.Base)
	text = fmt.Appendf(text, " factor %d cap ", l.Block.Factor)
	return string(appendWindow(text, l.Block.Cap))
}
