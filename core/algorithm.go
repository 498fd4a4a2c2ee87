package ratelimit

import "fmt"

// Algorithm names one of the five ways to count, or the way to keep a
// [Penalty]. The zero value is none of them: a [Limit] without an algorithm is "not set" and refused by [New].
type Algorithm uint8

// The five algorithms; the README says when to use which.
const (
	// AlgorithmSlidingWindow counts in two epoch-aligned windows and weighs
	// the previous one by how much of it is still in view.
	AlgorithmSlidingWindow Algorithm = iota + 1
	// AlgorithmFixedWindow counts in one epoch-aligned window.
	AlgorithmFixedWindow
	// AlgorithmSlidingLog remembers every admitted unit for one window.
	AlgorithmSlidingLog
	// AlgorithmTokenBucket refills continuously and allows bursts.
	AlgorithmTokenBucket
	// AlgorithmLeakyBucket queues: an admitted request waits for its slot.
	AlgorithmLeakyBucket
	// AlgorithmPenalty keeps a [Penalty]: it counts strikes and blocks. It is
	// what a store is charged with, and no limit of a policy.
	AlgorithmPenalty
	// algorithmUnlimited marks the value [Unlimited]; no store ever sees it.
	algorithmUnlimited
)

var algorithmNames = [...]string{
	AlgorithmSlidingWindow: "sliding_window",
	AlgorithmFixedWindow:   "fixed_window",
	AlgorithmSlidingLog:    "sliding_log",
	AlgorithmTokenBucket:   "token_bucket",
	AlgorithmLeakyBucket:   "leaky_bucket",
	AlgorithmPenalty:       "penalty",
	algorithmUnlimited:     "unlimited",
}

// String returns the name used in text forms, vectors and stored keys, such
// as "token_bucket".
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) && algorithmNames[a] != "" {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// Bucket reports whether a is one of the two that have a burst (or a queue)
// beside their quota.
func (a Algorithm) Bucket() bool {
	return a == AlgorithmTokenBucket || a == AlgorithmLeakyBucket
}
