package ratelimit

import (
	"strconv"
	"sync/atomic"
)

// readyNumbers are as many as have their texts ready: of most limits, what
// remains and how long to wait.
const readyNumbers = 1 << 10

var textsOfNumbers = func() (texts [readyNumbers]string) {
	for n := range texts {
		texts[n] = strconv.Itoa(n)
	}
	return texts
}()

func textOfNumber(n int) string {
	if n < readyNumbers {
		return textsOfNumbers[n]
	}
	return strconv.Itoa(n)
}

// second is a Unix second and its text.
type second struct {
	at   int64
	text string
}

// seconds are those that were told last. What is reset, is within a minute or
// at the end of a window for most keys, so that most responses tell one of a few
// seconds.
var seconds [256]atomic.Pointer[second]

// textOfSecond is the text of a Unix second.
func textOfSecond(at int64) string {
	place := &seconds[uint64(at)%uint64(len(seconds))]
	s := place.Load()
	if s == nil || s.at != at {
		s = &second{at, strconv.FormatInt(at, 10)}
		place.Store(s)
	}
	return s.text
}
