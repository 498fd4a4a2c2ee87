// Package report turns measurements into tables, curves and a document: what is
// promised stands beside what was measured, and a peer's row that is not as
// expected is marked.
package report
