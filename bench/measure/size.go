package measure

import (
	"regexp"
	"time"
)

// Size is how long and how large a run is.
type Size struct {
	Rounds int
	Each   time.Duration // of one measurement
	Keys   int           // when there are many
	// Only is what the name of a scenario has to match; nil matches all.
	Only *regexp.Regexp
	// Progress is told what is being done.
	Progress func(text string)
}

// Has reports whether a scenario is to be measured.
func (s *Size) Has(scenario string) bool { return s.Only == nil || s.Only.MatchString(scenario) }
