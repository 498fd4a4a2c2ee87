package httplimit

import (
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// ended takes a request off those under way.
func (g *gate) ended(k ticket) {
	g.underWay.Remove(k.place)
	if g.state == doubting && k.number > g.doubt.from {
		g.doubt.underWay--
	}
}

// failed notes a request without a response. The server may have counted it.
func (g *gate) failed(k ticket) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.wake()
	g.ended(k)
	g.left.units--
}

// refused notes a refusal, keeps requests back for the wait that follows from
// the number of refusals in a row, and returns that wait.
func (g *gate) refused(k ticket, now time.Time, advertised []ratelimit.Advertised, wait func(row int) time.Duration) time.Duration {
	if g == nil {
		return wait(0)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.wake()
	g.ended(k)
	l, _ := leftOf(k, advertised)
	g.keepPace(l)
	switch {
	case k.number > g.closedAt:
		g.row++
		g.closedAt = g.sent
		g.startDoubt(true)
	case g.row == 0:
		return wait(1) // a later request has passed since
	}
	d := wait(g.row)
	if until := now.Add(d); until.After(g.closedUntil) {
		g.closedUntil = until
	}
	return d
}

// told notes a response that is no refusal.
func (g *gate) told(k ticket, now time.Time, advertised []ratelimit.Advertised) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.wake()
	g.ended(k)
	if k.number <= g.closedAt {
		return // what it says was true before the refusal
	}
	g.row, g.closedUntil = 0, time.Time{}
	l, says := leftOf(k, advertised)
	g.keepPace(l)
	switch {
	case g.state == doubting && k.number <= g.doubt.from: // it was true before the doubt
	case says && now.Before(l.until):
		g.update(l)
	case g.state != doubting: // what is known still holds
	case !says && !g.doubt.afterClose:
		g.state = silent
	default:
		if g.doubt.most *= 2; g.doubt.most >= manyInDoubt {
			g.state = silent
		}
	}
}

func (g *gate) keepPace(l left) {
	if l.pace > 0 {
		g.pace = l.pace
	}
}

// update goes by what a request was told that was sent after the last news
// came, and else by less if there is less: which of two requests under way at
// the same time was decided later is not known.
func (g *gate) update(l left) {
	switch {
	case g.state != informed:
	case l.by > g.left.heard:
		used, own := g.left.units-l.units, int64(l.by-g.left.by)
		g.learnEach(float64(used) / float64(own))
	default:
		g.left.units = min(g.left.units, l.units)
		return
	}
	g.state, g.left = informed, l
	g.left.heard = g.sent
}

// learnEach learns how many units go for a request, sooner that it is more than
// that it is less.
func (g *gate) learnEach(units float64) {
	d := min(max(1, units), mostEach) - g.each
	if d > 0 {
		g.each += d / 2
	} else {
		g.each += d / 8
	}
}

// leftOf is what is left by the tightest of the policies that count requests
// and say for how long.
func leftOf(k ticket, advertised []ratelimit.Advertised) (l left, says bool) {
	for i := range advertised {
		a := &advertised[i]
		if a.Unit != "" {
			continue
		}
		window, pace := a.EffectiveWindow, time.Duration(0)
		if a.Quota > 0 && a.Window > 0 {
			pace = min(a.Window, ratelimit.MaxWindow) / time.Duration(a.Quota)
			l.pace = max(l.pace, pace)
			// What is there again after more than a window is said to be as
			// good as new; some of it is there before.
			window = min(window, max(a.Window, time.Second))
		}
		if window == ratelimit.Never {
			continue
		}
		window = min(window, ratelimit.MaxWindow)
		if a.Remaining == 0 {
			window = later(window)
		} else if small(a) {
			interval := window / time.Duration(a.Remaining)
			if pace > 0 {
				interval = min(interval, pace)
			}
			l.interval = max(l.interval, interval)
		}
		// Counted from when it was sent: the server decided it after that, but
		// may have told long after.
		until := k.sentAt.Add(window)
		if !says || a.Remaining < l.units || a.Remaining == l.units && until.After(l.until) {
			l.by, l.units, l.until, says = k.number, a.Remaining, until, true
		}
	}
	return l, says
}

// small reports whether what is left is to be spread out.
func small(a *ratelimit.Advertised) bool {
	if a.Limit == 0 {
		return a.Remaining <= smallUnits
	}
	return a.Remaining <= max(a.Limit/smallShare, min(a.Limit/2, smallUnits))
}
