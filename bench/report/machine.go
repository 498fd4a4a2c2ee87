package report

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Machine is where and with what was measured.
type Machine struct {
	Processor string
	Cores     int
	System    string
	Go        string
	Date      time.Time
	Redis     string // empty if it took no part
	Took      time.Duration
	Rounds    int
	// Peers are the paths of the modules whose versions are told.
	Peers []string
}

// ThisMachine looks around.
func ThisMachine(peers []string) Machine {
	return Machine{
		Processor: processor(), Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Date: time.Now().UTC(), Peers: peers,
	}
}

// processor is the processor's name, where the system tells it in a file.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor unknown"
}

func (m *Machine) lines() []string {
	lines := []string{
		fmt.Sprintf("%s, %d cores, %s, %s", m.Processor, m.Cores, m.System, m.Go),
		fmt.Sprintf("%s, %d rounds in %s", m.Date.Format("2 January 2006"), m.Rounds, m.Took.Round(time.Second)),
	}
	if m.Redis != "" {
		lines = append(lines, "redis-server "+m.Redis+", on the same cores")
	}
	return lines
}

// modules are the peers with the versions that are in this program.
func (m *Machine) modules() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var out []string
	for _, dependency := range info.Deps {
		if slices.Contains(m.Peers, dependency.Path) {
			out = append(out, dependency.Path+" "+dependency.Version)
		}
	}
	return out
}
