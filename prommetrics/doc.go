// Package prommetrics shows Prometheus what Floodgate's limiters and stores do.
//
//	metrics, err := prommetrics.New(prometheus.DefaultRegisterer)
//	...
//	store := redisstore.New(client)
//	err = metrics.Watch("redis", store)
//	api, err := ratelimit.New(store, ratelimit.Observe(metrics.Observer()), ...)
//
// One [Metrics] serves all limiters and stores of a process. It imports no
// store: what a store tells of itself it tells in types of the core
// ([ratelimit.ObservedStore], [ratelimit.MeasuredStore]).
//
// # Metrics
//
// Of requests and policies:
//
//   - rate_limit_requests_total{policy, tier, method, route, outcome, reason}:
//     decisions, one per request and limiter. policy and tier are those of the
//     policy that binds, empty if none does; hidden policies are named here.
//     outcome is "allowed", "refused" or "canceled", reason is
//     [ratelimit.Reason]'s String. route is the pattern in one spelling for all
//     frameworks, "unmatched" for what no route takes, and empty, like method,
//     without HTTP.
//   - rate_limit_exceeded_total{policy, tier}: requests that a policy refused.
//     More than one policy may refuse a request.
//   - rate_limit_shadow_exceeded_total{policy, tier}: requests that a policy in
//     shadow would have refused.
//   - rate_limit_near_limit_total{policy, tier}: requests that a policy admitted
//     and after which a client has used 80 % of its limit or more
//     ([WithNearLimit]).
//   - rate_limit_remaining_ratio{policy, tier}: a histogram of the share of the
//     limit that is left after a decision. Its count is the number of decisions
//     that the policy had a part in.
//   - rate_limit_degraded_total{mode}: decisions without the limiter's store, by
//     what was done instead: "open", "closed" or "local".
//   - rate_limit_store_failures_total{operation, fallback, kind}: calls of
//     limiters to a store that failed, by [ratelimit.StoreFailure].
//   - rate_limit_offenders_total{policy}: sources that were refused far too
//     often, if [Metrics.Offender] is told of them.
//
// Of the stores that [Metrics.Watch] was given, under the name it was given:
//
//   - rate_limit_store_call_duration_seconds{store, outcome}: a histogram of
//     calls to other processes; outcome is "ok" or "error".
//   - rate_limit_store_batch_requests{store}: a histogram of the requests that
//     travelled in one such call.
//   - rate_limit_store_call_errors_total{store, kind}: such calls that failed,
//     by kind ([ratelimit.SortingStore]).
//   - rate_limit_store_late_calls_total{store}: those that nobody waited for any
//     more.
//   - rate_limit_store_breaker_changes_total{store, state}: changes of circuit
//     breakers to "open", "half_open" and "closed".
//   - rate_limit_store_<figure>{store}: every [ratelimit.Figure] of the store,
//     with _total if it is a counter. memstore has keys, max_keys,
//     forgotten_keys, expired_keys and spilled_charges; redisstore has
//     open_breakers, half_open_breakers, denial_hits, leased_units,
//     lease_spent_units and others.
//
// # Bounds
//
// No label has a key, an address or a path. The values of policy, tier and route
// come from the program, and are bounded nonetheless ([Bounds]): what is beyond
// a bound is counted under "other". The number of series so has a limit that no
// client can move.
//
// # Cost
//
// A decision costs no allocation and takes no lock: a few look-ups and atomic
// additions, a fraction of what a decision in memory costs.
package prommetrics
