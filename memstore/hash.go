package memstore

import (
	"crypto/sha256"
	"math/bits"
	"math/rand/v2"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// seed is the secret of a hasher: who does not know it cannot tell which keys
// share a slot.
type seed [32]byte

// longPart is the longest part of a key that is hashed as it is; a longer one
// is replaced by its SHA-256 first.
const longPart = 128

// hasher maps keys to 64-bit tags. Tags stand for keys, whose text is not
// stored, so the family of functions has to be good enough that two keys never
// share one, and keyed, so that no client can pick keys that do. Unlike the
// runtime's own hash its secret can be dumped and restored.
//
// It is NH, the universal hash of UMAC (Black, Halevi, Krawczyk, Krovetz,
// Rogaway: UMAC, CRYPTO '99): the sum over pairs of words of (a+k)*(b+k') mod
// 2^128. Two different keys collide in it with a probability of 2^-63 at most.
// The two halves of the sum are then multiplied under two more secret words and
// the halves of the product folded into one, which spreads keys that differ in
// little as if at random, and adds some 2^-64. With ten million keys in one
// store the odds that any two share a tag are 1 in 100,000.
type hasher struct {
	policy    [longPart / 8]uint64
	partition [longPart / 8]uint64
	shape     [2]uint64
	final     [2]uint64
}

func newHasher(s seed) *hasher {
	words := rand.NewChaCha8(s)
	h := new(hasher)
	for _, keys := range [][]uint64{h.policy[:], h.partition[:], h.shape[:], h.final[:]} {
		for i := range keys {
			keys[i] = words.Uint64()
		}
	}
	return h
}

// tag is never 0.
func (h *hasher) tag(policy string, partition ratelimit.Partition, a ratelimit.Algorithm, window int64) uint64 {
	return h.sum(policy, string(partition), uint64(a), uint64(window))
}

// spillTag is the tag under which the newcomers of one policy are counted
// together. No algorithm has the number that tells it from a tag.
func (h *hasher) spillTag(policy string, a ratelimit.Algorithm, window int64) uint64 {
	return h.sum(policy, "", 0x80|uint64(a), uint64(window))
}

func (h *hasher) sum(policy, partition string, a, window uint64) uint64 {
	// The lengths tell apart what padding would not.
	shape := uint64(len(policy))<<40 ^ uint64(len(partition))<<8 ^ a
	hi, lo := bits.Mul64(shape+h.shape[0], window+h.shape[1])
	if len(policy) > 16 || len(partition) > 16 {
		hi, lo = addPart(hi, lo, policy, &h.policy)
		hi, lo = addPart(hi, lo, partition, &h.partition)
	} else {
		// The same without a call.
		var a, b uint64
		switch n := len(policy); {
		case n >= 8:
			a, b = word(policy), word(policy[n-8:])
		case n >= 4:
			a = uint64(half(policy)) | uint64(half(policy[n-4:]))<<32
		case n > 0:
			a = fewBytes(policy)
		}
		hi, lo = addPair(hi, lo, a+h.policy[0], b+h.policy[1])
		a, b = 0, 0
		switch n := len(partition); {
		case n >= 8:
			a, b = word(partition), word(partition[n-8:])
		case n >= 4:
			a = uint64(half(partition)) | uint64(half(partition[n-4:]))<<32
		case n > 0:
			a = fewBytes(partition)
		}
		hi, lo = addPair(hi, lo, a+h.partition[0], b+h.partition[1])
	}
	hi, lo = bits.Mul64(hi^h.final[0], lo^h.final[1])
	return max(hi^lo, 1)
}

// fewBytes are 1 to 3 bytes as a number.
func fewBytes(s string) uint64 {
	return uint64(s[0]) | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])<<16
}

// lastPair is the pair of words of the last bytes of a part. The words may
// overlap each other or the pair before; which bytes they are follows from the
// length, which is hashed too.
func lastPair(s string) (a, b uint64) {
	switch n := len(s); {
	case n >= 8:
		return word(s), word(s[n-8:])
	case n >= 4:
		return uint64(half(s)) | uint64(half(s[n-4:]))<<32, 0
	case n > 0:
		return fewBytes(s), 0
	}
	return 0, 0
}

// addPart adds NH of a part to a sum.
func addPart(hi, lo uint64, s string, keys *[longPart / 8]uint64) (sumHi, sumLo uint64) {
	if len(s) > longPart {
		digest := sha256.Sum256([]byte(s))
		s = string(digest[:])
	}
	i := 0
	for ; len(s) > 16; i += 2 {
		hi, lo = addPair(hi, lo, word(s)+keys[i&15], word(s[8:])+keys[i&15|1])
		s = s[16:]
	}
	a, b := lastPair(s)
	return addPair(hi, lo, a+keys[i&15], b+keys[i&15|1])
}

func addPair(hi, lo, a, b uint64) (sumHi, sumLo uint64) {
	pairHi, pairLo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, pairLo, 0)
	return hi + pairHi + carry, lo
}

// word is the first 8 bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// half is the first 4 bytes of s.
func half(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
