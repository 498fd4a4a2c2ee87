package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// algorithms are those of the routes GET /algorithms/{name}, each with a limit
// of 10 per window.
var algorithms = [...]string{"fixed_window", "sliding_window", "sliding_log", "token_bucket", "leaky_bucket"}

const (
	window = 2 * time.Second
	// perSecond is how many requests each algorithm gets: twice what its limit
	// admits in the long run.
	perSecond = 10
	interval  = time.Second / perSecond
)

// showAlgorithms sends the same requests to all five algorithms at the same
// time, for so many seconds, and prints a row after each second.
func showAlgorithms(ctx context.Context, out io.Writer, url string, seconds int) error {
	fmt.Fprintf(out, `
The five algorithms, each with a limit of 10 per %d s (the leaky bucket with
room for 4 to wait) and %d requests a second for %d seconds. A row is a second,
# an answer 200, . an answer 429.

`, window/time.Second, perSecond, seconds)
	printLine(out, "second", func(i int) string { return algorithms[i] })

	// From the start of a window, so that its edges are the rows'. Each request
	// is sent in the middle of its interval.
	begin := time.Now().Truncate(window).Add(window)
	t := &tally{answered: make([][len(algorithms)]counts, seconds+1)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var senders sync.WaitGroup
	for i := range algorithms {
		senders.Go(func() {
			if err := t.send(ctx, i, url, begin, seconds); err != nil {
				cancel(err)
			}
		})
	}
	for second := range seconds {
		if !sleepUntil(ctx, begin.Add(time.Duration(second+1)*time.Second)) {
			break
		}
		t.printRow(out, second)
	}
	senders.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.printRest(out, seconds)
	return nil
}

// counts are the answers of one algorithm in one second.
type counts struct{ admitted, refused int }

// tally is what has come back. The last row is for what came after the last
// second.
type tally struct {
	mu       sync.Mutex
	answered [][len(algorithms)]counts
	slowest  [len(algorithms)]time.Duration
}

// send sends an algorithm its requests, each on time whether or not the one
// before has been answered, and returns when all are.
func (t *tally) send(ctx context.Context, algorithm int, url string, begin time.Time, seconds int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: perSecond}}
	defer client.CloseIdleConnections()
	failed := make(chan error, 1)
	var all sync.WaitGroup
	for n := range seconds * perSecond {
		if !sleepUntil(ctx, begin.Add(interval/2+time.Duration(n)*interval)) {
			break
		}
		all.Go(func() {
			sent := time.Now()
			got, err := ask(ctx, client, url+"/algorithms/"+algorithms[algorithm])
			if err != nil {
				select {
				case failed <- err:
				default:
				}
				return
			}
			t.add(algorithm, got.code, time.Since(begin), time.Since(sent))
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// add counts an answer that came at so much after the beginning.
func (t *tally) add(algorithm, code int, at, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	second := min(int(at/time.Second), len(t.answered)-1)
	c := &t.answered[second][algorithm]
	if code == http.StatusOK {
		c.admitted++
		t.slowest[algorithm] = max(t.slowest[algorithm], took)
	} else {
		c.refused++
	}
}

// printRow prints a second.
func (t *tally) printRow(out io.Writer, second int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	printLine(out, strconv.Itoa(second+1), func(i int) string {
		c := t.answered[second][i]
		return strings.Repeat("#", c.admitted) + strings.Repeat(".", c.refused)
	})
}

// printRest prints what came after the last second, if anything did, and the
// sums.
func (t *tally) printRest(out io.Writer, seconds int) {
	if t.answered[seconds] != ([len(algorithms)]counts{}) {
		t.printRow(out, seconds)
	}
	var sums [len(algorithms)]counts
	for _, row := range t.answered {
		for i, c := range row {
			sums[i].admitted += c.admitted
			sums[i].refused += c.refused
		}
	}
	printLine(out, "200", func(i int) string { return strconv.Itoa(sums[i].admitted) })
	printLine(out, "429", func(i int) string { return strconv.Itoa(sums[i].refused) })
	printLine(out, "slowest", func(i int) string { return fmt.Sprintf("%.2f s", t.slowest[i].Seconds()) })
	fmt.Fprintln(out, "\nThe slowest 200: the leaky bucket holds requests back until it is their turn.")
}

// printLine prints what belongs to each algorithm below its name.
func printLine(out io.Writer, title string, cell func(algorithm int) string) {
	var line strings.Builder
	fmt.Fprintf(&line, "%7s", title)
	for i := range algorithms {
		fmt.Fprintf(&line, " %-14s", cell(i))
	}
	fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
}

// sleepUntil reports whether it slept until then.
func sleepUntil(ctx context.Context, then time.Time) bool {
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
