package monitoring

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-floodgate/floodgate/examples/apptest"
	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// patience is how long a test waits for what has to come.
const patience = 90 * time.Second

// await asks until it is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// start starts a program that ends with the test, and shows what it wrote to
// its standard error if the test fails.
func start(t *testing.T, program string, arguments ...string) (stdout io.Reader) {
	t.Helper()
	command := exec.CommandContext(context.Background(), program, arguments...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program, &stderr)
		}
	})
	return stdout
}

// server is an example server.
type server struct {
	addr string
	// guesses is how many passwords a client tries in a row.
	guesses atomic.Int64
}

func startServer(t *testing.T, redis string) *server {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	arguments := append(append([]string{"build", "-o", program}, apptest.BuildFlags()...), "../nethttp")
	if out, err := exec.CommandContext(context.Background(), "go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	line, err := bufio.NewReader(start(t, program, "-addr", "127.0.0.1:0", "-redis", "redis://"+redis+"/0")).ReadString('\n')
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if err != nil || !found {
		t.Fatalf("the server says %q (%v)", line, err)
	}
	return &server{addr: addr}
}

// load has a client send requests, most of which are refused, until the test
// ends.
func (s *server) load(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
	})
	go func() {
		defer close(ended)
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for {
			for _, one := range []struct{ method, path, key string }{
				{"GET", "/api/users/7", ""},
				{"GET", "/api/search", "premium-key"},
				{"GET", "/algorithms/token_bucket", ""},
			} {
				s.send(ctx, one.method, one.path, one.key)
			}
			for range s.guesses.Load() {
				s.send(ctx, "POST", "/login", "")
			}
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
			}
		}
	}()
}

// send sends a request, whatever comes back.
func (s *server) send(ctx context.Context, method, path, key string) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		return
	}
	if key != "" {
		request.Header.Set("X-API-Key", key)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// metricNames are the metrics that the server shows.
func (s *server) metricNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(string(get(t, "http://"+s.addr+"/metrics"))) {
		if name, found := strings.CutPrefix(line, "# TYPE "); found {
			names = append(names, strings.Fields(name)[0])
		}
	}
	return names
}

func get(t *testing.T, address string) []byte {
	t.Helper()
	body, err := tryGet(address)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func tryGet(address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, response.Status, body)
	}
	return body, err
}

// prometheus is a Prometheus that scrapes one server.
type prometheus struct{ url string }

// startPrometheus starts it on a free port; it says nothing of which it has
// got, so that it is told one.
func startPrometheus(t *testing.T, target, rules string) *prometheus {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("prometheus is missing: apt-get install -y prometheus (brew install prometheus), or run make deps")
	}
	rules, err = filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf(`global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}
rule_files: [%q]
scrape_configs:
  - job_name: example
    static_configs: [{targets: [%q]}]
`, rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.FreePort(t)))
	start(t, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+addr, "--log.level=warn")
	p := &prometheus{url: "http://" + addr}
	await(t, "Prometheus is ready", func() bool {
		_, err := tryGet(p.url + "/-/ready")
		return err == nil
	})
	return p
}

// has reports whether a query returns a number.
func (p *prometheus) has(t *testing.T, query string) bool {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(get(t, p.url+"/api/v1/query?query="+url.QueryEscape(query)), &answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, result := range answer.Data.Result {
		if value, ok := result.Value[1].(string); ok && value != "NaN" {
			return true
		}
	}
	return false
}

// rules are the alerts and their states.
func (p *prometheus) rules(t *testing.T) map[string]string {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, State, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal(get(t, p.url+"/api/v1/rules"), &answer); err != nil {
		t.Fatal(err)
	}
	states := make(map[string]string)
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			states[rule.Name] = rule.State
			if rule.Health == "err" {
				t.Errorf("the rule %s fails: %s", rule.Name, rule.LastError)
			}
		}
	}
	return states
}
