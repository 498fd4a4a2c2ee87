// Package bench compares Floodgate with its peers, each in its documented
// fastest set-up, in one run on one machine. It is a module of its own, so that
// the peers are nobody's dependencies.
//
// The command redis (make bench/redis) measures redisstore on a local Redis.
package bench
