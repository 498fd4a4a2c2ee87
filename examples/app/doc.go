// Package app is what the example servers have in common: the flags, the
// limiters, what the routes answer, and how a server starts and stops. What
// differs between them, and is worth reading, is in each server's main.go.
package app
