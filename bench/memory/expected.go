package memory

// What peers are known to need, in readings of the clock (time.Since, 24 ns, of
// which two processors do two at a time) of the machine where the promises were
// made.
var (
	hotAllowed1 = clocks(24, map[string]float64{
		Sethvargo: 73, Ulule: 223, Httprate: 119, Throttled: 99, Tollbooth: 258, Mennanov: 132, XTime: 82, Echo: 90, Fiber: 409,
	})
	// sethvargo/go-limiter took 70 in one run and 164 in the next.
	hotAllowed2 = clocks(12, map[string]float64{
		Ulule: 358, Httprate: 123, Throttled: 111, Tollbooth: 271, Mennanov: 138, XTime: 111, Echo: 96, Fiber: 430,
	})
	hotDenied1 = clocks(24, map[string]float64{
		Sethvargo: 69, Ulule: 211, Httprate: 83, Throttled: 81, Tollbooth: 255, Mennanov: 127, XTime: 81, Echo: 88, Fiber: 414,
	})
	hotDenied2 = clocks(12, map[string]float64{
		Sethvargo: 69, Ulule: 197, Httprate: 86, Throttled: 67, Tollbooth: 267, Mennanov: 194, XTime: 101, Echo: 99, Fiber: 299,
	})
	uniform1 = clocks(24, map[string]float64{
		Sethvargo: 586, Ulule: 1056, Httprate: 314, Throttled: 480, Tollbooth: 1002, Mennanov: 920, XTime: 1136, Echo: 798, Fiber: 762,
	})
	uniform2 = clocks(12, map[string]float64{
		Sethvargo: 318, Ulule: 521, Httprate: 337, Throttled: 287, Tollbooth: 1328, Mennanov: 1132, XTime: 534, Echo: 906, Fiber: 809,
	})
	churn1 = clocks(24, map[string]float64{
		Sethvargo: 637, Ulule: 908, Httprate: 344, Throttled: 584, Tollbooth: 1208, Mennanov: 1005, XTime: 1034, Echo: 910, Fiber: 935,
	})
	churn2 = clocks(12, map[string]float64{
		Sethvargo: 617, Ulule: 489, Httprate: 334, Throttled: 531, Tollbooth: 1043, Mennanov: 859, XTime: 464, Echo: 869, Fiber: 857,
	})
)

func clocks(floor float64, nanoseconds map[string]float64) map[string]float64 {
	for name := range nanoseconds {
		nanoseconds[name] /= floor
	}
	return nanoseconds
}

// notes say, where a peer is ahead in a scenario, why, and what it gives up.
var notes = map[string]map[string]string{
	Churn: {
		Httprate:  "a Go map of bare hashes without a seed or a cap: a new key makes no room and looks for nothing that could go",
		Sethvargo: "has no cap: a new key makes no room, and what could go stays until a sweep that locks everything",
	},
	Heap: {
		Httprate: "its keys are bare hashes without a seed, which clients can make collide, and it has no cap: all counts of a window go at once",
	},
}
