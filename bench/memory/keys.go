package memory

import (
	"math/bits"
	"math/rand/v2"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// hotKey is the one that everyone asks for.
const hotKey = "ip:203.0.113.7"

// hot asks for one key again and again.
func hot(decide Decide, want bool) measure.Pass {
	return func(n int) (wrong int) {
		for range n {
			if decide(hotKey) != want {
				wrong++
			}
		}
		return wrong
	}
}

// fresh asks for the keys from first on, every stride-th.
func fresh(decide Decide, first, stride uint64) measure.Pass {
	return func(n int) (wrong int) {
		for range n {
			if !decide(text(first)) {
				wrong++
			}
			first += stride
		}
		return wrong
	}
}

// uniform asks for any of the first keys, each as often as any other.
func uniform(decide Decide, keys, seed uint64) measure.Pass {
	state := mix(seed + 1)
	return func(n int) (wrong int) {
		for range n {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			key, _ := bits.Mul64(state, keys)
			if !decide(text(key)) {
				wrong++
			}
		}
		return wrong
	}
}

// zipf asks for the first keys as ranks says, which are drawn before: drawing
// costs more than a decision.
func zipf(decide Decide, ranks []uint32, start int) measure.Pass {
	return func(n int) (wrong int) {
		for range n {
			if !decide(text(uint64(ranks[start]))) {
				wrong++
			}
			if start++; start == len(ranks) {
				start = 0
			}
		}
		return wrong
	}
}

// drawn are keys with frequencies like those of names, visitors and words: the
// k-th is asked for in proportion to k+9 to the power of -1.1, so the first one
// in 70 times and not so often that it uses up what it has.
func drawn(keys, n int) []uint32 {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 10, uint64(keys-1))
	ranks := make([]uint32, n)
	for i := range ranks {
		ranks[i] = uint32(z.Uint64())
	}
	return ranks
}

// text is the text of key i: 16 digits that say nothing of those of key i+1. A
// service gets its keys as new strings too.
func text(i uint64) string {
	const digits = "0123456789abcdef"
	i = mix(i)
	var b [16]byte
	for at := range b {
		b[at] = digits[i>>60]
		i <<= 4
	}
	return string(b[:])
}

// mix is the output function of splitmix64 (Steele, Lea, Flood 2014): one to
// one, and every bit depends on all.
func mix(i uint64) uint64 {
	i += 0x9e3779b97f4a7c15
	i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
	i = (i ^ i>>27) * 0x94d049bb133111eb
	return i ^ i>>31
}
