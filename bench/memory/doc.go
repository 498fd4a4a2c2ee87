// Package memory compares memstore with what other libraries count with in
// memory.
package memory
