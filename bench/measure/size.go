package measure

import (
	"strings"
	"time"
)

// Size is how long and how large a run is.
type Size struct {
	Rounds int
	Each   time.Duration // of one measurement
	Keys   int           // when there are many
	// Only are words, one of which the name of a scenario must have; none means
	// all of them.
	Only []string
	// Progress is told what is being done.
	Progress func(text string)
}

// Has reports whether a scenario is to be measured.
func (s *Size) Has(scenario string) bool {
	for _, word := range s.Only {
		if strings.Contains(scenario, word) {
			return true
		}
	}
	return len(s.Only) == 0
}
