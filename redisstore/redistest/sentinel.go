package redistest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
)

// Sentinel is a master, its replica and the Sentinel that watches them.
type Sentinel struct {
	Master, Replica *Server
	Addr            string
}

// MasterName is what the Sentinel calls its master.
const MasterName = "primary"

// StartSentinel starts all three.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	master := Start(t, "--repl-diskless-sync-delay", "0")
	replica := Start(t, "--repl-diskless-sync-delay", "0", "--replicaof", fmt.Sprintf("127.0.0.1 %d", master.Port))
	Eventually(t, "the replica is in step", func() bool {
		return contains(replica, "replication", "master_link_status:up")
	})
	port := FreePort(t)
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Port: port, t: t, dir: t.TempDir()}
	// A Sentinel writes what it learns into its configuration.
	file := s.File("sentinel.conf", fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
sentinel monitor %s 127.0.0.1 %d 1
sentinel down-after-milliseconds %s 4000
sentinel failover-timeout %s 3000
`, port, s.dir, MasterName, master.Port, MasterName, MasterName))
	s.args = []string{file, "--sentinel"}
	t.Cleanup(s.Kill)
	s.Run()
	Eventually(t, "the sentinel knows the replica", func() bool {
		replicas, ok := s.Do("SENTINEL", "REPLICAS", MasterName).([]any)
		return ok && len(replicas) == 1
	})
	return &Sentinel{Master: master, Replica: replica, Addr: s.Addr}
}

// Promoted reports whether the replica has become the master.
func (s *Sentinel) Promoted() bool { return contains(s.Replica, "replication", "role:master") }

func contains(s *Server, section, line string) bool {
	client := s.Client()
	defer client.Close()
	// A server that changes its role drops its connections.
	info, err := client.Info(context.Background(), section).Result()
	return err == nil && strings.Contains(info, line)
}
