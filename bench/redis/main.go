// Command redis compares redisstore with redis_rate and with rueidis running a
// GCRA script, on one local Redis in one run, and prints ratios of medians.
//
// Client and server share the machine, so the CPU per decision is the truest of
// the numbers; throughput is bounded by both together. Absolute numbers drift
// from run to run; only ratios within one run can be compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	each := flag.Duration("each", 500*time.Millisecond, "how long one measurement takes")
	rounds := flag.Int("rounds", 6, "measurements of each contender, taken in turn")
	rtt := flag.Duration("rtt", 1200*time.Microsecond, "the round trip of the second half, made by a proxy")
	only := flag.String("only", "", "a regular expression: only the comparisons whose title matches")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err == nil {
		err = run(*each, *rounds, *rtt, pattern)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(each time.Duration, rounds int, rtt time.Duration, only *regexp.Regexp) error {
	server, err := startServer()
	if err != nil {
		return err
	}
	defer server.stop()
	near := &bench{server: server, address: server.address, each: each, rounds: rounds, only: only}
	if err := near.all("on loopback"); err != nil {
		return err
	}
	proxy, err := delay(server.address, rtt/2)
	if err != nil {
		return err
	}
	defer proxy.Close()
	far := &bench{server: server, address: proxy.Addr().String(), each: each, rounds: rounds, only: only}
	return far.all(fmt.Sprintf("with a round trip of %v", rtt))
}

// bench is the comparison over one address.
type bench struct {
	server  *server
	address string
	each    time.Duration
	rounds  int
	only    *regexp.Regexp
}

// all runs every scenario.
func (b *bench) all(where string) error {
	many := []int{1, 16, 64, 256}
	for _, s := range []struct {
		title      string
		goroutines []int
		contenders []func(string) (contender, error)
	}{
		{"one policy, 100,000 keys", many, []func(string) (contender, error){redisRate(1, roomy), rueidisGCRA, floodgate("floodgate", 1, roomy)}},
		{"three policies of one request", many, []func(string) (contender, error){redisRate(3, roomy), floodgate("floodgate", 3, roomy)}},
		{"one denied key", []int{16}, []func(string) (contender, error){redisRate(1, denied), floodgate("floodgate", 1, denied)}},
		{"100 hot keys", []int{64}, []func(string) (contender, error){
			redisRate(1, hot), floodgate("floodgate", 1, hot), floodgate("leases of 10", 1, hot.leases(10)), floodgate("leases of 100", 1, hot.leases(100)),
		}},
	} {
		for _, goroutines := range s.goroutines {
			title := fmt.Sprintf("%s, %d goroutines, %s", s.title, goroutines, where)
			if !b.only.MatchString(title) {
				continue
			}
			fmt.Printf("\n%s\n", title)
			if err := b.compare(goroutines, s.contenders); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare measures the contenders in turn, so that what drifts drifts for all.
func (b *bench) compare(goroutines int, makers []func(string) (contender, error)) error {
	var contenders []contender
	defer func() {
		for _, c := range contenders {
			c.close()
		}
	}()
	for _, m := range makers {
		c, err := m(b.address)
		if err != nil {
			return err
		}
		contenders = append(contenders, c)
	}
	series := make([][]measurement, len(contenders))
	for round := range b.rounds + 1 {
		for i := range contenders {
			m, err := b.measure(goroutines, contenders[i])
			if err != nil {
				return fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			if round > 0 { // the first warms up
				series[i] = append(series[i], m)
			}
		}
	}
	report(os.Stdout, contenders, series)
	return nil
}

// contender is a limiter under load; ask makes decision i.
type contender struct {
	name  string
	ask   func(ctx context.Context, i int) error
	close func()
}
