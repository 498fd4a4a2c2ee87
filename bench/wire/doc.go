// Package wire compares whole servers, with and without limiters, over loopback.
// Server and load generator are processes of their own.
package wire
