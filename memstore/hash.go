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
// A multiply-add modulo 2^192, of which the top 64 bits are kept (Dietzfelbinger,
// STACS '96), then spreads the sums evenly, adding 2^-64. With ten million keys
// in one store the odds that any two share a tag are 1 in 100,000.
type hasher struct {
	policy    [longPart / 8]uint64
	partition [longPart / 8]uint64
	shape     [2]uint64
	final     [6]uint64
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
	hi, lo = addPart(hi, lo, policy, &h.policy)
	hi, lo = addPart(hi, lo, partition, &h.partition)

	// (final[0:3] * hi:lo + final[3:6]) mod 2^192, of it the top word.
	k := &h.final
	p0hi, p0lo := bits.Mul64(k[0], lo)
	p1hi, p1lo := bits.Mul64(k[1], lo)
	p2hi, p2lo := bits.Mul64(k[0], hi)
	_, c := bits.Add64(p0lo, k[3], 0)
	w, c0 := bits.Add64(p0hi, k[4], c)
	w, c1 := bits.Add64(w, p1lo, 0)
	_, c2 := bits.Add64(w, p2lo, 0)
	top := p1hi + p2hi + k[2]*lo + k[1]*hi + k[5] + c0 + c1 + c2
	return max(top, 1)
}

// addPart adds NH of one part to a sum. The last pair of words may overlap the
// one before; which bytes they are follows from the length, which is hashed too.
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
	var a, b uint64
	switch n := len(s); {
	case n >= 8:
		a, b = word(s), word(s[n-8:])
	case n >= 4:
		a = uint64(half(s)) | uint64(half(s[n-4:]))<<32
	case n > 0:
		a = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
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
