// Package apptest proves that an example server is what all of them are. Each
// server's test is one call:
//
//	func TestServer(t *testing.T) { apptest.Run(t, server) }
//
// The servers run over real connections, on every store of [Stores]. What they
// have to answer is written in testdata/script.txt, the same for all.
package apptest
