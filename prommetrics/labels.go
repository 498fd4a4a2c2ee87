package prommetrics

import (
	"maps"
	"strings"
	"sync/atomic"
)

// labels are the values that a label has so far, at most so many. They are read
// without a lock and added to under that of the Metrics.
type labels struct {
	most  int
	known atomic.Pointer[map[string]int]
}

func newLabels(most int) *labels {
	l := &labels{most: most}
	l.known.Store(new(map[string]int))
	return l
}

// index is the number of a value, from 0; full says that it has none and gets
// none.
func (l *labels) index(value string) (index int, known, full bool) {
	all := *l.known.Load()
	index, known = all[value]
	return index, known, !known && len(all) >= l.most
}

// add gives a value a number, unless there are too many.
func (l *labels) add(value string) (index int, known bool) {
	index, known, full := l.index(value)
	if known || full {
		return index, known
	}
	all := maps.Clone(*l.known.Load())
	if all == nil {
		all = make(map[string]int)
	}
	index = len(all)
	all[strings.Clone(value)] = index
	l.known.Store(&all)
	return index, true
}

// bounded is the value as it may be shown.
func (l *labels) bounded(value string) string {
	value = validLabel(value)
	if _, known := l.add(value); !known {
		return Other
	}
	return value
}
