package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// slots is the number of slots of a Cluster.
const slots = 16384

// Cluster is a Redis Cluster of masters and, if asked for, a replica of each.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server // of the master with the same index

	t testing.TB
}

// StartCluster starts three masters, each with so many replicas (0 or 1).
func StartCluster(t testing.TB, replicas int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range 3 {
		c.Masters = append(c.Masters, startNode(t))
	}
	if replicas > 0 {
		for range 3 {
			c.Replicas = append(c.Replicas, startNode(t))
		}
	}
	for i, s := range c.Masters {
		s.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/3, (i+1)*slots/3-1)
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	for _, s := range c.all()[1:] {
		s.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].Port, c.Masters[0].busPort())
	}
	for _, s := range c.all() {
		Eventually(t, "every node knows the others", func() bool { return s.info("cluster_known_nodes") == len(c.all()) })
	}
	for i, s := range c.Replicas {
		s.Do("CLUSTER", "REPLICATE", c.ID(c.Masters[i]))
	}
	for _, s := range c.all() {
		// A node that serves without full coverage calls its state ok before it
		// has heard who serves which slots.
		Eventually(t, "every node knows who serves which slot", func() bool {
			return s.info("cluster_slots_ok") == slots && strings.Contains(text(s.Do("CLUSTER", "INFO")), "cluster_state:ok")
		})
	}
	for _, s := range c.Replicas {
		Eventually(t, "replicas are in step", func() bool {
			return strings.Contains(text(s.Do("INFO", "replication")), "master_link_status:up")
		})
	}
	if replicas == 0 {
		// No one takes over, so let none be called dead for having been slow.
		for _, s := range c.Masters {
			s.Do("CONFIG", "SET", "cluster-node-timeout", 15000)
		}
	}
	return c
}

func startNode(t testing.TB) *Server {
	t.Helper()
	return Start(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(FreePort(t)), "--cluster-node-timeout", "1000",
		"--cluster-config-file", "nodes.conf", "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0")
}

func (s *Server) busPort() int {
	for i, arg := range s.args {
		if arg == "--cluster-port" {
			port, _ := strconv.Atoi(s.args[i+1])
			return port
		}
	}
	return 0
}

func (s *Server) info(field string) int {
	s.t.Helper()
	_, rest, _ := strings.Cut(text(s.Do("CLUSTER", "INFO")), field+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.Atoi(value)
	return n
}

func text(v any) string { return fmt.Sprint(v) }

func (c *Cluster) all() []*Server {
	return append(append([]*Server(nil), c.Masters...), c.Replicas...)
}

// Addrs are the addresses of the masters.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Masters {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// ID is a node's own.
func (c *Cluster) ID(s *Server) string {
	c.t.Helper()
	return text(s.Do("CLUSTER", "MYID"))
}

// Move moves a slot with its keys from one master to another, as a reshard
// does, and calls between while the slot has been announced and its keys have
// not been moved yet.
func (c *Cluster) Move(slot int, from, to *Server, between func()) {
	c.t.Helper()
	to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ID(from))
	from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ID(to))
	if between != nil {
		between()
	}
	for {
		keys, ok := from.Do("CLUSTER", "GETKEYSINSLOT", slot, 100).([]any)
		if !ok || len(keys) == 0 {
			break
		}
		for _, key := range keys {
			from.Do("MIGRATE", "127.0.0.1", to.Port, key, 0, 5000)
		}
	}
	for _, s := range []*Server{to, from} {
		s.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ID(to))
	}
}
