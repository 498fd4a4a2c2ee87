// Package middleware compares what a limiter adds to a request in each framework,
// by calling handlers directly: no network.
package middleware
