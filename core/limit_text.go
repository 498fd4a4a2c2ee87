package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// limitExamples ends every error of [ParseLimit].
const limitExamples = `write a limit like "100/min", "token_bucket 1000/h burst 50" or "unlimited"`

// ParseLimit reads the text form of a limit, as [Limit.String] prints it and
// people write it in flags and files:
//
//	limit     = [algorithm] quota "/" window [burst N | queue N] | "unlimited"
//	algorithm = sliding_window | fixed_window | sliding_log | token_bucket | leaky_bucket
//	window    = [N] unit, or several of N unit, the largest first
//	unit      = us | ms | s | min | h | d
//
// Such as "100/min", "5/15min", "fixed_window 20/d", "sliding_log 5/1h30min",
// "token_bucket 1000/h burst 50", "leaky_bucket 10/2s queue 4".
//
// Without an algorithm it is sliding_window. A token_bucket without a burst
// has one of its quota (at least 1), a leaky_bucket without a queue has none.
// The units have aliases: sec, second(s), m, minute(s), hr, hour(s), day(s); a
// day is 24 hours. Letter case does not matter, "-" may stand for "_" in an
// algorithm's name, and the words may be any number of spaces apart. Numbers
// are whole and in plain digits.
//
// The limit returned is valid (see [Limit.Validate]). An error names what is
// wrong and shows a right example; the empty text is an error.
func ParseLimit(text string) (Limit, error) {
	l, err := parseLimitWords(strings.Fields(strings.ToLower(text)))
	if err == nil {
		err = l.Validate()
	}
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "ratelimit: ")
		return Limit{}, fmt.Errorf("ratelimit: limit %.60q: %s; %s", text, reason, limitExamples)
	}
	return l, nil
}

func parseLimitWords(words []string) (Limit, error) {
	if len(words) == 0 {
		return Limit{}, errors.New("it is empty")
	}
	l := Limit{Algorithm: AlgorithmSlidingWindow}
	if algorithm, ok := parseAlgorithm(words[0]); ok {
		l.Algorithm = algorithm
		words = words[1:]
	}
	switch {
	case l.IsUnlimited() && len(words) > 0:
		return Limit{}, fmt.Errorf("unexpected %.30q: unlimited stands alone", words[0])
	case l.IsUnlimited():
		return Unlimited, nil
	case len(words) == 0:
		return Limit{}, fmt.Errorf("quota/window is missing after %v", l.Algorithm)
	}

	quota, window, ok := strings.Cut(words[0], "/")
	switch {
	case !ok && words[0][0] >= 'a' && words[0][0] <= 'z':
		return Limit{}, fmt.Errorf("algorithm %.30q is unknown: use %s", words[0],
			strings.Join(algorithmNames[AlgorithmSlidingWindow:AlgorithmPenalty], ", "))
	case !ok:
		return Limit{}, fmt.Errorf(`%.30q has no window: put a "/" and the window right behind the quota`, words[0])
	}
	var err error
	if l.Quota, err = parseLimitNumber("quota", quota); err != nil {
		return Limit{}, err
	}
	if l.Window, err = parseWindow(window); err != nil {
		return Limit{}, err
	}
	if l.Burst, err = parseBurst(l, words[1:]); err != nil {
		return Limit{}, err
	}
	return l, nil
}

// parseAlgorithm reads a lower-cased algorithm name; "unlimited" is one too.
func parseAlgorithm(word string) (Algorithm, bool) {
	word = strings.ReplaceAll(word, "-", "_")
	for i, name := range algorithmNames {
		if name != "" && name == word && Algorithm(i) != AlgorithmPenalty {
			return Algorithm(i), true
		}
	}
	return 0, false
}

// parseBurst reads what follows the window: nothing, or the one word that l's
// algorithm knows and its number.
func parseBurst(l Limit, words []string) (int64, error) {
	keyword := burstKeyword(l.Algorithm)
	switch {
	case len(words) == 0:
		if l.Algorithm == AlgorithmTokenBucket {
			return max(l.Quota, 1), nil
		}
		return 0, nil
	case words[0] == "burst" && keyword != "burst":
		return 0, fmt.Errorf("burst has no meaning for %v: only a token_bucket has one", l.Algorithm)
	case words[0] == "queue" && keyword != "queue":
		return 0, fmt.Errorf("queue has no meaning for %v: only a leaky_bucket has one", l.Algorithm)
	case words[0] != keyword:
		return 0, fmt.Errorf("unexpected %.30q after the window", words[0])
	case len(words) == 1:
		return 0, fmt.Errorf("%s has no number: write %s and how many", keyword, keyword)
	case len(words) > 2 && words[2] == keyword:
		return 0, fmt.Errorf("%s is given twice: give it once", keyword)
	case len(words) > 2:
		return 0, fmt.Errorf("unexpected %.30q after the %s", words[2], keyword)
	}
	return parseLimitNumber(keyword, words[1])
}

// burstKeyword is the text form's word for [Limit.Burst], empty for an
// algorithm that has none.
func burstKeyword(a Algorithm) string {
	switch a {
	case AlgorithmTokenBucket:
		return "burst"
	case AlgorithmLeakyBucket:
		return "queue"
	default:
		return ""
	}
}

func parseLimitNumber(what, text string) (int64, error) {
	digits := leadingDigits(text)
	switch {
	case text == "":
		return 0, fmt.Errorf("%s is missing", what)
	case text[0] == '-':
		return 0, fmt.Errorf("%s %.30q is negative: use 0 or more", what, text)
	case digits < len(text):
		return 0, fmt.Errorf("%s %.30q is not a whole number in plain digits", what, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %.30s is too large: use at most %d, or unlimited", what, text, int64(MaxQuota))
	}
	return n, nil
}

// String returns the canonical text form, which [ParseLimit] reads back as the
// same limit: sliding_window is left out, the window is in the largest unit
// that divides it with a count of 1 left out, a token bucket's burst is always
// there and a leaky bucket's queue unless it is 0. The zero Limit is "unset";
// an invalid one and a penalty are described in words that ParseLimit refuses.
func (l Limit) String() string {
	switch {
	case l == Limit{}:
		return "unset"
	case l == Unlimited:
		return algorithmNames[algorithmUnlimited]
	case l.Algorithm == AlgorithmPenalty && l.Validate() == nil:
		return l.penaltyText()
	case l.Validate() != nil:
		return fmt.Sprintf("invalid limit: %v, quota %d, window %v, burst %d", l.Algorithm, l.Quota, l.Window, l.Burst)
	}
	text := make([]byte, 0, 64)
	if l.Algorithm != AlgorithmSlidingWindow {
		text = append(text, l.Algorithm.String()...)
		text = append(text, ' ')
	}
	text = strconv.AppendInt(text, l.Quota, 10)
	text = appendWindow(append(text, '/'), l.Window)
	if l.Algorithm == AlgorithmTokenBucket || l.Burst > 0 {
		text = append(text, ' ')
		text = append(text, burstKeyword(l.Algorithm)...)
		text = strconv.AppendInt(append(text, ' '), l.Burst, 10)
	}
	return string(text)
}

// MarshalText implements [encoding.TextMarshaler] with [Limit.String]. The
// zero Limit is the empty text; an invalid one and a penalty are errors.
func (l Limit) MarshalText() ([]byte, error) {
	if l == (Limit{}) {
		return []byte{}, nil
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if l.Algorithm == AlgorithmPenalty {
		return nil, errors.New("ratelimit: a penalty's limit has no text form to read back: keep the Penalty it was made of")
	}
	return []byte(l.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler] with [ParseLimit]. The
// empty text is the zero Limit. After an error l is what it was.
func (l *Limit) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Limit{}
		return nil
	}
	parsed, err := ParseLimit(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
