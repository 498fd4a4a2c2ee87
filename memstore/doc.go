// Package memstore is the in-process store of Floodgate: it counts in memory,
// for one process.
//
//	store := memstore.New()
//	limiter, err := ratelimit.New(store, ratelimit.Policy{...})
//
// It needs no closing and has no goroutine of its own. Keys are hashed under a secret of
// the store's own and not stored; a key takes about 47 bytes, in which there is
// no pointer for the garbage collector to follow. A key's count is removed
// after it has become as good as new, a few at a time by the calls that come
// after it. A sliding log takes up to 8 bytes more for each entry in view.
// Memory grows as keys come; [WithPreallocation] takes it in the beginning.
//
// # The cap
//
// [WithMaxKeys] is a hard cap on the number of keys. Below it no key is ever
// forgotten. At the cap a new key takes the place of one of up to 64 candidates,
// which the hash picks: of one that is as good as new if there is any, else of
// the one that has used the smallest share of its limit. (The search ends after
// 8 of them if one has used no larger a share than the newcomer now does.) A key
// that is at its limit (nothing remaining) is never forgotten. So a flood of
// new keys, however long, does not free a client that is blocked, nor any who
// has used more of his limit than the flood's keys have; LRU would free them
// all.
//
// If all candidates are at their limits, the newcomer is counted together with
// the other newcomers of his policy (and algorithm, window and shard): they are
// limited as if they were one client, until there is room again.
//
// What a flood can earn by all this:
//
//   - Of a client that is forgotten, less than one limit: what he had used,
//     which was less of it than all other candidates had used of theirs. To
//     have a key forgotten that has used a share x of its limit, all candidates
//     next to it, which nobody outside can tell apart, have to be filled up to
//     x first.
//   - Newcomers without an entry get one client's quota for each shard and
//     policy. There are up to 128 shards for caps up to 6 million, and one for
//     each 50,000 keys of a higher cap.
//
// [Store.Stats] counts the forgotten keys and the charges of newcomers limited
// together. If either grows, the cap is too low.
//
// # Time
//
// The store reads one clock: the wall time at [New] and the monotonic time
// since, so nobody who sets the system's clock mints quota. [WithClock] gives
// it another. In a [testing/synctest] bubble it follows the bubble's time.
// [WithCoarseClock] saves most of the readings.
//
// # Restarts
//
// [Store.Dump] and [Store.Restore] carry the counts over to another process,
// for blue-green deployments.
package memstore
