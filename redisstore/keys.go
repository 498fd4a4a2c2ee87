package redisstore

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// DefaultPrefix begins every key that the store writes, unless [WithPrefix]
// says otherwise.
const DefaultPrefix = "fg:"

// The longest partition and policy that a key has in clear; longer ones are
// hashed.
const (
	maxClearPartition = 160
	maxClearPolicy    = 64
)

// keyCoder makes the keys of Redis out of those of a limiter:
//
//	fg:{ip:192.0.2.1}sw60s:per-ip
//
// The partition is the hash tag, so that all policies of one client lie in one
// slot of a Cluster and are decided together; it never holds a brace. What
// follows is the algorithm, the window and, last because it may hold any
// character, the policy.
type keyCoder struct {
	prefix string
	// secret hashes every partition; empty leaves them in clear.
	secret []byte
}

var algorithmCodes = [...]string{
	ratelimit.AlgorithmSlidingWindow: "sw",
	ratelimit.AlgorithmFixedWindow:   "fw",
	ratelimit.AlgorithmSlidingLog:    "sl",
	ratelimit.AlgorithmTokenBucket:   "tb",
	ratelimit.AlgorithmLeakyBucket:   "lb",
	ratelimit.AlgorithmPenalty:       "pn",
}

// append appends the key.
func (k *keyCoder) append(dst []byte, policy string, partition ratelimit.Partition, a ratelimit.Algorithm, window time.Duration) []byte {
	dst = append(dst, k.prefix...)
	dst = append(dst, '{')
	dst = k.appendPartition(dst, string(partition))
	dst = append(dst, '}')
	if int(a) < len(algorithmCodes) {
		dst = append(dst, algorithmCodes[a]...)
	}
	if window%time.Second == 0 {
		dst = strconv.AppendInt(dst, int64(window/time.Second), 10)
		dst = append(dst, "s:"...)
	} else {
		dst = strconv.AppendInt(dst, int64(window/time.Microsecond), 10)
		dst = append(dst, "us:"...)
	}
	if !inClear(policy, maxClearPolicy) {
		return appendHash(dst, nil, policy)
	}
	return append(dst, policy...)
}

func (k *keyCoder) appendPartition(dst []byte, partition string) []byte {
	if len(k.secret) > 0 || !inClear(partition, maxClearPartition) {
		return appendHash(dst, k.secret, partition)
	}
	return append(dst, partition...)
}

// inClear reports whether a part of a key can stand in it as it is: printable,
// without a brace that would move the hash tag, short, and not to be taken for
// a hash.
func inClear(part string, most int) bool {
	if part == "" || len(part) > most || part[0] == '#' {
		return false
	}
	for i := range len(part) {
		if c := part[i]; c < ' ' || c > '~' || c == '{' || c == '}' {
			return false
		}
	}
	return true
}

// appendHash appends 128 bits of a hash: enough that nobody finds two parts
// with the same.
func appendHash(dst, secret []byte, part string) []byte {
	var sum [sha256.Size]byte
	if len(secret) > 0 {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(part))
		mac.Sum(sum[:0])
	} else {
		sum = sha256.Sum256([]byte(part))
	}
	dst = append(dst, '#')
	return base64.RawURLEncoding.AppendEncode(dst, sum[:16])
}

// slots is the number of slots of a Redis Cluster.
const slots = 16384

// slotOf is the Cluster slot of a key made by keyCoder (Redis Cluster
// specification, "Keys distribution model"): CRC-16/XMODEM of its hash tag.
func slotOf(key string, prefix int) uint16 {
	crc := uint16(0)
	for i := prefix + 1; i < len(key) && key[i] != '}'; i++ {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return crc % slots
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
