package redisstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// router knows which server a key belongs to.
type router struct {
	store  *Store
	client redis.UniversalClient

	// Of a Ring and a Cluster; both nil: there is one server.
	ring    shardFinder
	cluster masterFinder
	// known says that the Cluster's client has learned the slots, so that
	// asking it takes no call.
	known atomic.Bool

	first *lane    // of the one server, or while the slots aren't known
	lanes sync.Map // *redis.Client or address -> *lane
}

type shardFinder interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

type masterFinder interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	ReloadState(ctx context.Context)
}

func newRouter(s *Store, client redis.UniversalClient) *router {
	r := &router{store: s, client: client}
	address := ""
	switch c := client.(type) {
	case interface{ Options() *redis.Options }:
		address = c.Options().Addr
	case masterFinder:
		r.cluster = c
	case shardFinder:
		r.ring = c
	}
	r.first = newLane(s, address, client)
	return r
}

// place is the lane of a key and, in a Cluster, its slot. Keys that have both
// in common are decided together. The lane is nil if there is no server.
func (r *router) place(key string) (l *lane, slot uint16) {
	switch {
	case r.cluster != nil:
		return r.master(key), slotOf(key, len(r.store.keys.prefix))
	case r.ring != nil:
		return r.shard(key), 0
	default:
		return r.first, 0
	}
}

func (r *router) shard(key string) *lane {
	client, err := r.ring.GetShardClientForKey(key)
	if err != nil {
		return nil
	}
	if l, ok := r.lanes.Load(client); ok {
		return l.(*lane)
	}
	l, _ := r.lanes.LoadOrStore(client, newLane(r.store, client.Options().Addr, client))
	return l.(*lane)
}

// master finds the lane of a Cluster's node. What is sent on it goes through
// the Cluster's client all the same, which follows slots that have moved: lanes
// are there to keep a node that fails from the others.
func (r *router) master(key string) *lane {
	if !r.known.Load() {
		return r.first
	}
	client, err := r.cluster.MasterForKey(background, key)
	if err != nil {
		return r.first
	}
	address := client.Options().Addr
	if l, ok := r.lanes.Load(address); ok {
		return l.(*lane)
	}
	l, _ := r.lanes.LoadOrStore(address, newLane(r.store, address, r.client))
	return l.(*lane)
}

// called learns from how a call went.
func (r *router) called(err error) {
	if r.cluster == nil {
		return
	}
	if err == nil {
		r.known.Store(true)
	} else if ErrorKind(err) != "redis" {
		// Perhaps the node is gone and another has its slots.
		r.cluster.ReloadState(background)
	}
}

func (r *router) all() []*lane {
	all := []*lane{r.first}
	r.lanes.Range(func(_, l any) bool {
		all = append(all, l.(*lane))
		return true
	})
	return all
}
