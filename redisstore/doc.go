// Package redisstore is the store of Floodgate that counts in Redis, for limits
// that hold over any number of processes: exact, one round trip per request
// however many policies it has, and unhurt by outages.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store := redisstore.New(client)
//	limiter, err := ratelimit.New(store, ratelimit.Policy{...})
//
// It works with every redis.UniversalClient: one server, the master that
// Sentinels name, a Cluster, a Ring. [Open] makes a client from a URL. Neither
// calls Redis: a service starts while Redis is down. Redis 7 or later.
//
// # Exactness
//
// A script decides with the same arithmetic as package core/algorithm, by the
// server's own clock, and writes only what an admitted request takes. It is
// never sent twice: a request whose answer was lost counts once, and fails.
// Microseconds are counted up to the year 2255.
//
// Requests that arrive while others are under way travel together: many
// decisions in one call, with no added wait and no timer. Each keeps its own
// context, result and error. A request that comes alone is sent on its caller's
// own goroutine if the client's connections can be taken from it, so that it
// still leaves in time: see [Interruptible].
//
// # When Redis fails
//
// A decision takes at most [WithBudget], 100 ms if unset, whatever the
// timeouts, retries and pool of the client are; the client's options are left
// alone. Then [ratelimit.Store.Take] returns [ErrTimeout] and the policy
// decides (ratelimit.FailOpen, FailClosed or FailLocal). Calls that nobody
// waits for any more are bounded, and end with the client's own timeouts: do
// not disable its ReadTimeout.
//
// After 5 failed calls in a row a circuit breaker opens, so that a request
// costs microseconds. Every half second one call probes whether Redis is back.
// A Cluster and a Ring have a breaker for each server: one that is down does not
// touch the keys of the others. A request that was cancelled is no failure.
//
// What is admitted while Redis fails is the policy's to say. A request that
// failed may have been charged, never more than once.
//
// # Cluster and Ring
//
// All policies of one partition (one client, say) lie in one slot and are
// decided together. A request whose policies have different partitions, such as
// an address and a user, may have keys in several slots, which no script can
// reach at once: all are asked in one pipelined round trip, each decides its
// part, and if one denies, what the others took is given back before the
// request is answered. Until then, for one round trip, the others' keys are
// charged for a request that is not admitted, which can deny another request
// that would have passed; nothing is ever admitted beyond a limit. If giving
// back fails, the charge stays until it has expired. [Stats].GivenBack counts
// such requests. They have no strikes of a penalty, only blocks: a denial in
// passing must not block anybody.
//
// A Ring whose server fails counts that server's keys elsewhere, afresh.
//
// # Denials and leases
//
// A denied request is remembered for up to a second ([WithDenialCache]), so
// that a client that floods costs no round trip. It is answered as Redis would
// answer; what another process resets or gives back is seen within that
// second. Requests that settle (policies that count by outcome) or strike are
// never answered so.
//
// [WithLease] takes units of hot keys ahead, for keys that are asked thousands
// of times a second; it states the bound.
//
// # What is stored
//
// A key is prefix, {partition}, algorithm and window, policy:
//
//	fg:{ip:192.0.2.1}sw60s:per-ip
//
// Long and unprintable parts are hashed; with [WithHashedKeys] every partition
// is. Every key expires within a second of being as good as new. The README
// lists the bytes per key and the privileges that a Redis user needs.
package redisstore
