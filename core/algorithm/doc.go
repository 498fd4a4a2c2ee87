// Package algorithm holds the five ways to count, and the one to keep a
// [ratelimit.Penalty], as pure integer state machines: a [State], an instant, a
// limit and a cost go in; the next state and the answer come out. It reads no
// clock, keeps nothing and never rounds in a client's favour.
//
// Stores are built on it and tests use it as the exact model of what a store
// must answer. Someone who only limits requests needs package ratelimit alone.
//
// Instants are microseconds since the Unix epoch. Limits must be valid (see
// [ratelimit.Limit.Validate]) and not [ratelimit.Unlimited]. A state belongs to
// one key, so to one algorithm and one window; its quota and burst may change
// from call to call, and what was used is kept.
//
// # What all five have in common
//
// A cost fits if used + cost <= capacity. A cost that does not fit changes
// nothing; a cost of 0 looks, fits unless the key is in debt and changes
// nothing either. A clock that went back is read as the last committed instant
// (buckets and the log) or as the start of the last committed window: the key
// stands still until the clock has caught up, so that no quota is minted.
// Waits count from the instant so read, which is the answer's At.
//
// Every number saturates far above the largest limit instead of overflowing,
// and all of them stay within 56 bits (Time) or 52 bits (Level and Rest).
package algorithm
