package ratelimit

import (
	"strconv"
	"sync/atomic"
)

// line is a field's only line, as an http.Header has it. Many responses share
// it; its capacity is its length, so that whoever appends to it copies it.
type line [1]string

var noStore = &line{"no-store"}

// readyNumbers are as many as have their lines ready: of most limits, what
// remains and how long to wait.
const readyNumbers = 1 << 10

var linesOfNumbers = func() (lines [readyNumbers]line) {
	for n := range lines {
		lines[n][0] = strconv.Itoa(n)
	}
	return lines
}()

// second is a Unix second and its line.
type second struct {
	at int64
	line
}

// seconds are those that were told last. What is reset, is within a minute or
// at the end of a window for most keys, so that most responses tell one of a few
// seconds.
var seconds [256]atomic.Pointer[second]

// lineOfSecond is the line of a Unix second.
func lineOfSecond(at int64) *line {
	place := &seconds[uint64(at)%uint64(len(seconds))]
	s := place.Load()
	if s == nil || s.at != at {
		s = &second{at, line{strconv.FormatInt(at, 10)}}
		place.Store(s)
	}
	return &s.line
}
