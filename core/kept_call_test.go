package ratelimit_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// sayingYes is a forgetful store that lets everything pass.
type sayingYes struct {
	take func(charges []ratelimit.Charge)
}

func (k *sayingYes) Take(_ context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	if k.take != nil {
		k.take(charges)
	}
	for i := range charges {
		results[i] = ratelimit.Result{Allowed: true, Limit: charges[i].Limit.Capacity(), Remaining: 1}
	}
	return nil
}
func (*sayingYes) Adjust(context.Context, []ratelimit.Adjustment) error { return nil }
func (*sayingYes) Reset(context.Context, []ratelimit.Key) error         { return nil }
func (k *sayingYes) Forgets() ratelimit.Store                           { return k }

// TestDenyListedLogsItsOwnKey logs what is on a deny list by a policy's key under
// that key, and not under one that lay in the same memory before.
func TestDenyListedLogsItsOwnKey(t *testing.T) {
	var log bytes.Buffer
	secret := []byte("0123456789abcdef")
	list := new(ratelimit.AccessList)
	if err := list.Add(ratelimit.AccessEntry{Key: ratelimit.HeaderKey("X-Api-Key", "evil")}); err != nil {
		t.Fatal(err)
	}
	l := mustNew(t, new(sayingYes),
		ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9), Key: ratelimit.FirstOf(ratelimit.ByHeader("X-Api-Key"), ratelimit.ByIP())},
		ratelimit.DenyList(list),
		&ratelimit.RefusalLog{Logger: slog.New(slog.NewTextHandler(&log, nil)), Pseudonyms: &ratelimit.Pseudonyms{Secret: secret}})
	call := new(ratelimit.Call)
	call.Keep()
	r, first := &fakeRequest{peer: "192.0.2.77:1"}, http.Header{}
	call.KnownByHeader(first)
	l.Begin(call, r, first)
	if !call.Proceed() || !call.Leave() {
		t.Fatal("victim was not let through")
	}
	r.header = http.Header{"X-Api-Key": {"evil"}}
	l.Begin(call, r, http.Header{})
	runtime.KeepAlive(first)
	if call.Proceed() {
		t.Fatal("not denied")
	}
	call.Finish(0, false)
	_, key, _ := strings.Cut(log.String(), "key=")
	key, _, _ = strings.Cut(key, " ")
	own := (&ratelimit.Pseudonyms{Secret: secret}).Of(ratelimit.HeaderKey("X-Api-Key", "evil"))
	if key != own {
		t.Errorf("logged under %s, want %s", key, own)
	}
}

// TestAllowKeepsNoPartition lets go of the key that it is given, which may lie in
// memory that is used again.
func TestAllowKeepsNoPartition(t *testing.T) {
	store := new(sayingYes)
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(9)})
	for range 3 { // works go back to the pool, as those of a Call that isn't kept do
		call := new(ratelimit.Call)
		l.Begin(call, &fakeRequest{peer: "192.0.2.1:1"}, http.Header{})
		call.Leave()
	}
	buffer := []byte("ip:192.0.2.99") // a framework's, say
	l.Allow(t.Context(), ratelimit.Partition(unsafe.String(&buffer[0], len(buffer))))
	copy(buffer, "ip:192.0.2.55") // the buffer's next request
	shared := false
	store.take = func(charges []ratelimit.Charge) {
		shared = unsafe.StringData(string(charges[0].Partition)) == &buffer[0]
	}
	call := new(ratelimit.Call)
	l.Begin(call, &fakeRequest{peer: "192.0.2.55:1"}, http.Header{})
	runtime.KeepAlive(buffer)
	if shared {
		t.Error("another request's partition lies in the buffer that was given to Allow")
	}
}

// editing is a store around another that changes the charges themselves.
type editing struct {
	sayingYes
	seen []string
}

func (k *editing) Take(ctx context.Context, charges []ratelimit.Charge, results []ratelimit.Result) error {
	for i := range charges {
		charges[i].Policy = "staging/" + charges[i].Policy
		charges[i].Limit.Quota /= 2
		k.seen = append(k.seen, charges[i].Policy+" "+charges[i].Limit.String())
	}
	return k.sayingYes.Take(ctx, charges, results)
}

// TestStoreMayEditCharges makes charges anew for a store that may have changed the
// last ones.
func TestStoreMayEditCharges(t *testing.T) {
	store := new(editing)
	l := mustNew(t, store, ratelimit.Policy{Name: "p", Limit: ratelimit.PerHour(8)})
	call := new(ratelimit.Call)
	call.Keep()
	r := &fakeRequest{peer: "192.0.2.1:1"}
	for range 3 {
		header := http.Header{}
		call.KnownByHeader(header)
		l.Begin(call, r, header)
		if !call.Proceed() || !call.Leave() {
			t.Fatal("not free")
		}
		runtime.KeepAlive(header)
	}
	if store.seen[2] != store.seen[0] {
		t.Errorf("charges of one and the same request: %q", store.seen)
	}
}

// TestLongPartitionIsLetGo keeps no long partition with a Call that is kept.
func TestLongPartitionIsLetGo(t *testing.T) {
	long := strings.Repeat("x", 64<<20)
	l := mustNew(t, new(sayingYes), ratelimit.Policy{
		Name: "p", Limit: ratelimit.PerHour(9), Match: "POST",
		Key: ratelimit.ByPartition(func(*ratelimit.Request) ratelimit.Partition { return ratelimit.Partition(long) }),
	})
	call := new(ratelimit.Call)
	call.Keep()
	header := http.Header{}
	call.KnownByHeader(header)
	l.Begin(call, &fakeRequest{method: "POST", peer: "192.0.2.1:1"}, header)
	if !call.Proceed() || !call.Leave() {
		t.Fatal("not free")
	}
	runtime.KeepAlive(header)
	long = ""
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d MB are kept", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(call)
	runtime.KeepAlive(l)
}
