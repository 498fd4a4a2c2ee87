package ratelimit

// The default lengths of the networks that addresses are counted by: a single
// IPv4 address, and the /64 that is the least an IPv6 client is given.
const (
	defaultIPv4Bits = 32
	defaultIPv6Bits = 64
)
