package overredis

import (
	"fmt"
	"time"

	"github.com/go-floodgate/floodgate/bench/measure"
)

// The scenarios, each with so many goroutines and a Redis near or far.
const (
	onePolicy     = "one policy, 100,000 keys"
	threePolicies = "three policies of one request"
	oneDenied     = "one denied key"
	hot           = "100 hot keys"
)

// Longer is how many times as long a measurement takes here as elsewhere: an
// answer of Redis takes long, and what arrives together differs.
const Longer = 5

// RoundTrip is how far the far Redis is.
const RoundTrip = 1200 * time.Microsecond

const (
	near = "on loopback"
	far  = "with a round trip of 1.2ms"
)

// Scenario names what is measured.
func Scenario(what string, goroutines int, where string) string {
	return fmt.Sprintf("redis: %s, %d goroutines, %s", what, goroutines, where)
}

// scene is a scenario and who takes part.
type scene struct {
	what       string
	load       Load
	policies   int
	goroutines []int
	where      string
	names      []string
}

var goroutines = []int{1, 16, 64, 256}

func scenes() []scene {
	return []scene{
		{onePolicy, manyKeys, 1, goroutines, near, []string{Ping, Ours, RedisRate, Rueidis, Ulule, Throttled, Httprate}},
		{threePolicies, manyKeys, 3, goroutines, near, []string{Ping, Ours, RedisRate}},
		{oneDenied, deniedKey, 1, []int{1, 16, 64}, near, []string{Ping, Ours, RedisRate}},
		{hot, hotKeys, 1, []int{64}, near, []string{Ping, Ours, Lease10, Lease100, RedisRate}},
		{onePolicy, manyKeys, 1, goroutines, far, []string{Ping, Ours, RedisRate, Rueidis}},
		{threePolicies, manyKeys, 3, []int{64}, far, []string{Ping, Ours, RedisRate}},
	}
}

// Measure runs all scenarios that size has on a Redis that it starts, whose
// version it returns. start begins a session of a contender.
func Measure(size *measure.Size, start func(contender string) (measure.Session, error), results *measure.Results) (version string, err error) {
	wanted := false
	for _, s := range scenes() {
		for _, n := range s.goroutines {
			wanted = wanted || size.Has(Scenario(s.what, n, s.where))
		}
	}
	if !wanted {
		return "", nil
	}
	server, err := StartServer()
	if err != nil {
		return "", err
	}
	defer server.Stop()
	proxy, err := delay(server.Address, RoundTrip/2)
	if err != nil {
		return "", err
	}
	defer func() { _ = proxy.Close() }()
	for _, s := range scenes() {
		address := server.Address
		if s.where == far {
			address = proxy.Addr().String()
		}
		for _, n := range s.goroutines {
			if !size.Has(Scenario(s.what, n, s.where)) {
				continue
			}
			if err := server.empty(); err != nil {
				return "", err
			}
			if err := s.measure(size, n, address+" "+server.Address, start, results); err != nil {
				return "", err
			}
		}
	}
	return server.Version, nil
}

func (s *scene) measure(size *measure.Size, goroutines int, address string, start func(string) (measure.Session, error), results *measure.Results) error {
	scenario := Scenario(s.what, goroutines, s.where)
	plan := measure.Plan{
		Rounds: size.Rounds, Contenders: s.names, Progress: size.Progress,
		Steps: []measure.Step{{As: scenario, Order: measure.Order{
			Scenario: scenario, Goroutines: goroutines, Keys: size.Keys / 10, For: Longer * size.Each, Address: address,
		}}},
		Start: func(name string) (measure.Session, error) {
			return start(id(Contender{Name: name}, s.load, s.policies))
		},
	}
	return plan.Run(results)
}
