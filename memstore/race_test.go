//go:build race

package memstore

// raceEnabled says that the race detector slows everything down tenfold.
const raceEnabled = true
