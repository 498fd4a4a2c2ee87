// Package overredis compares redisstore with what other libraries count with in
// Redis, on one local Redis that all use in turn.
package overredis
