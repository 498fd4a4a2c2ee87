package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// RefusalLog logs requests that are refused, and decisions that are made
// without the store, thinned out. It is an [Option] of [New]:
//
//	api, err := ratelimit.New(store, policies, &ratelimit.RefusalLog{})
//
// A line has the attributes policy, tier, reason, method, route (the pattern),
// retry_after (in seconds, as clients are told), degraded, and suppressed: how
// many like it were left out since the last one. What does not apply is left
// out. The policy is the one that a client waits longest for, a hidden one by
// its name as well. No key, no address and no path is logged; Pseudonyms add
// what stands for the key.
//
// Of each policy and reason Most lines are logged in an Interval. If after that
// nothing comes that could tell how many were suppressed, a line of their
// own does, within two intervals; [RefusalLog.Flush] does at once. A suppressed
// line allocates nothing.
//
// One RefusalLog may belong to several limiters, whose policies of the same name
// then share their lines. The zero RefusalLog is ready; it must not be changed or
// copied once it was given to [New]. It is safe for concurrent use.
type RefusalLog struct {
	// Logger is where to; nil is the limiter's (see [Logger]).
	Logger *slog.Logger
	// Level is that of refusals; the zero Level is Info. A decision without the
	// store has at least Warn.
	Level slog.Level
	// Most is how many lines there are for each policy and reason in an
	// Interval, 1 to 1,000,000; 0 is 1.
	Most int
	// Interval is at least a second; 0 is ten seconds.
	Interval time.Duration
	// Pseudonyms, if set, add the attribute key; it may be those of
	// [Offenders].
	Pseudonyms *Pseudonyms

	mu    sync.Mutex
	lines map[string]*refusalLines
}

// refusalLines thin out the lines of a policy, by reason.
type refusalLines [len(reasonNames)]recurring

const maxLines = 1_000_000

func (l *RefusalLog) apply(c *config) error {
	switch {
	case l == nil:
		return errors.New("RefusalLog is nil: leave it out")
	case c.limiter.refusals != nil:
		return errors.New("RefusalLog is given twice: give one")
	case l.Most < 0 || l.Most > maxLines:
		return fmt.Errorf("RefusalLog.Most %d is out of range: use 1 to %d", l.Most, maxLines)
	case l.Interval != 0 && l.Interval < time.Second:
		return fmt.Errorf("RefusalLog.Interval %v is out of range: use at least a second", l.Interval)
	}
	if err := l.Pseudonyms.validate(); err != nil {
		return err
	}
	c.limiter.refusals = l
	return nil
}

// linesOf makes the lines of a policy; its name is empty for what no policy
// has decided. d knows where they go.
func (l *RefusalLog) linesOf(policy string, d *diagnosis) *refusalLines {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lines := l.lines[policy]; lines != nil {
		return lines
	}
	lines := new(refusalLines)
	for reason := range lines {
		r := &lines[reason]
		r.interval, r.most = l.Interval, int64(l.Most)
		r.rest = func(suppressed int64) {
			l.logger(d).LogAttrs(context.Background(), l.Level, "ratelimit: suppressed lines", append(policyAttr(policy),
				slog.String("reason", Reason(reason).String()), slog.Int64("suppressed", suppressed))...)
		}
	}
	if l.lines == nil {
		l.lines = make(map[string]*refusalLines)
	}
	l.lines[policy] = lines
	return lines
}

func policyAttr(policy string) []slog.Attr {
	if policy == "" {
		return nil
	}
	return []slog.Attr{slog.String("policy", policy)}
}

func (l *RefusalLog) logger(d *diagnosis) *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return d.log()
}

// Flush logs how many lines were suppressed so far, for a program that ends.
func (l *RefusalLog) Flush() {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.lines))
	l.mu.Unlock()
	for _, lines := range all {
		for reason := range lines {
			lines[reason].flush()
		}
	}
}

// logRefusal logs the decision in w, if it is one to log and its turn.
func (l *Limiter) logRefusal(ctx context.Context, w *work) {
	d := &w.decision
	if d.Allowed && !d.Degraded || d.Reason == ReasonCanceled {
		return
	}
	level, message := l.refusals.Level, "ratelimit: request refused"
	if d.Degraded {
		level = max(level, slog.LevelWarn)
	}
	if d.Allowed {
		message = "ratelimit: request let through without the store"
	}
	logger := l.refusals.logger(&l.diagnosis)
	if !logger.Enabled(ctx, level) {
		return
	}
	lines, i := l.lines, w.responsible()
	if i >= 0 {
		lines = w.asked[i].policy.lines
	}
	suppressed, due := lines[d.Reason].due()
	if !due {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	if i >= 0 {
		attrs = append(attrs, slog.String("policy", w.charges[i].Policy))
		if tier := w.asked[i].limit.Tier; tier != "" {
			attrs = append(attrs, slog.String("tier", tier))
		}
		if l.refusals.Pseudonyms != nil {
			attrs = append(attrs, slog.String("key", l.refusals.Pseudonyms.Of(w.charges[i].Partition)))
		}
	}
	attrs = append(attrs, slog.String("reason", d.Reason.String()))
	if r := &w.request; r.source != nil {
		attrs = append(attrs, slog.String("method", labelMethod(r.Method())), slog.String("route", r.Route()))
	}
	if seconds, known := d.retryAfterSeconds(); known && !d.Allowed {
		attrs = append(attrs, slog.Int64("retry_after", seconds))
	}
	if d.Degraded {
		attrs = append(attrs, slog.Bool("degraded", true))
	}
	logger.LogAttrs(ctx, level, message, append(attrs, slog.Int64("suppressed", suppressed))...)
}

// responsible is the charge that a decision worth a line is about: the violated
// one with the longest wait, or the first one if the store has not decided; -1 if
// there is none.
func (w *work) responsible() int {
	found := -1
	for i := range w.charges {
		if w.guards(i) || w.asked[i].limit.Shadow {
			continue
		}
		if found < 0 || w.took != nowhere && w.binds(i, found) {
			found = i
		}
	}
	return found
}
