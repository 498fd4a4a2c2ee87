package ratelimit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

type entry = ratelimit.AccessEntry

// networks are entries without an end.
func networks(all ...string) (entries []entry) {
	for _, network := range all {
		entries = append(entries, entry{Network: network})
	}
	return entries
}

func mustAdd(t testing.TB, l *ratelimit.AccessList, entries ...entry) {
	t.Helper()
	if err := l.Add(entries...); err != nil {
		t.Fatal(err)
	}
}

// texts are the entries of a list without their ends.
func texts(l *ratelimit.AccessList) (all []string) {
	for _, e := range l.All() {
		all = append(all, e.Network+string(e.Key))
	}
	return all
}

func TestAccessListContents(t *testing.T) {
	var l ratelimit.AccessList
	mustAdd(t, &l, networks("203.0.113.9/24", "192.0.2.7", "2001:db8::1/32", "::ffff:198.51.100.0/120", "2001:db8::7", "0.0.0.0/0", "::/0")...)
	mustAdd(t, &l, entry{Key: ratelimit.UserKey("mallory")}, entry{Network: "203.0.113.0/24"}, entry{Key: "key:a"})
	want := []string{"0.0.0.0/0", "192.0.2.7", "198.51.100.0/24", "2001:db8::/32", "2001:db8::7", "203.0.113.0/24", "::/0", "key:a", "user:mallory"}
	if got := texts(&l); !slices.Equal(got, want) || l.Len() != len(want) || l.Stored() != len(want) {
		t.Errorf("%d entries, %d stored: %q\nwant %q", l.Len(), l.Stored(), got, want)
	}
	removed := l.Remove(entry{Network: "203.0.113.77/24"}, entry{Key: "user:mallory"}, entry{Network: "203.0.113.0/25"}, entry{Key: "user:eve"}, entry{})
	if removed != 2 || l.Len() != len(want)-2 {
		t.Errorf("%d removed, %d left", removed, l.Len())
	}
	if err := l.Replace(append(l.All()[:2], entry{Key: "key:b"})...); err != nil {
		t.Fatal(err)
	}
	if got, want := texts(&l), []string{"0.0.0.0/0", "192.0.2.7", "key:b"}; !slices.Equal(got, want) || l.Lengths() != 2 {
		t.Errorf("after Replace %q, want %q; %d lengths", got, want, l.Lengths())
	}
	if err := l.Replace(); err != nil || l.Len() != 0 || l.Stored() != 0 || len(l.All()) != 0 || l.Lengths() != 0 {
		t.Errorf("after an empty Replace: %v, %d entries, %d lengths", err, l.Len(), l.Lengths())
	}
}

func TestAccessListSaysWhatIsWrong(t *testing.T) {
	var l ratelimit.AccessList
	mustAdd(t, &l, networks("192.0.2.7")...)
	for _, c := range []struct {
		entry entry
		says  []string
	}{
		{entry{}, []string{"neither Network nor Key", "set one"}},
		{entry{Network: "192.0.2.0/24", Key: "user:x"}, []string{"both Network", "make two"}},
		{entry{Network: "ten"}, []string{"AccessEntry.Network", "ten", "10.0.0.0/8"}},
		{entry{Network: "192.0.2.0/33"}, []string{"AccessEntry.Network", "at most 32"}},
		{entry{Network: "192.0.2.1, 192.0.2.2"}, []string{"not one network", "entry of each"}},
		{entry{Network: " "}, []string{"not one network"}},
		{entry{Network: "fe80::1%eth0"}, []string{"zone"}},
		{entry{Network: "64:ff9b::/96"}, []string{"AccessEntry.Network", "IPv4 network"}},
	} {
		for name, change := range map[string]func(...entry) error{"Add": l.Add, "Replace": l.Replace} {
			err := change(entry{Key: "key:good"}, c.entry)
			for _, part := range append(c.says, "ratelimit: ") {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s of %+v: error %v, want %q in it", name, c.entry, err, part)
				}
			}
		}
	}
	if got := texts(&l); !slices.Equal(got, []string{"192.0.2.7"}) {
		t.Errorf("after nothing but errors the list has %q", got)
	}
}

func TestAccessEntriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ratelimit.AccessList
		addr, key := netip.MustParseAddr("192.0.2.7"), []byte("key:a")
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		mustAdd(t, &l, entry{Network: "192.0.2.0/24", Until: in(time.Hour)}, entry{Key: "key:a", Until: in(time.Minute)})
		// The later end counts, in whatever order.
		mustAdd(t, &l, entry{Network: "192.0.2.0/24", Until: in(time.Second)}, entry{Key: "key:a", Until: in(time.Hour)})
		mustAdd(t, &l, entry{Key: "key:for good"}, entry{Key: "key:for good", Until: in(time.Second)}, entry{Key: "key:past", Until: in(0)},
			entry{Key: "key:far", Until: time.Unix(1<<60, 0)})
		if l.Len() != 4 || l.Stored() != 4 || !l.All()[0].Until.Equal(in(time.Hour)) || !l.All()[3].Until.IsZero() {
			t.Errorf("entries %+v", l.All())
		}
		time.Sleep(time.Hour - time.Microsecond)
		if !l.HasAddr(addr) || !l.HasKey(key) || l.Len() != 4 {
			t.Error("an entry has ended before its time")
		}
		time.Sleep(time.Microsecond)
		if l.HasAddr(addr) || l.HasKey(key) || !l.HasKey([]byte("key:for good")) || l.Len() != 2 || len(l.All()) != 2 {
			t.Errorf("an hour later there are %+v", l.All())
		}
		// One that has ended does not lengthen what takes its place.
		mustAdd(t, &l, entry{Key: "key:a", Until: in(time.Second)})
		time.Sleep(time.Second)
		if l.HasKey(key) {
			t.Error("an entry has not ended")
		}
	})
}

// TestEndedEntriesGo sees that what has ended is removed while others are
// added, and makes room.
func TestEndedEntriesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ratelimit.AccessList
		const most = 3000
		l.HoldAtMost(most)
		var entries []entry
		for i := range most / 2 {
			until := time.Now().Add(time.Minute)
			entries = append(entries, entry{Key: ratelimit.NamedKey(strconv.Itoa(i)), Until: until},
				entry{Network: fmt.Sprintf("10.0.%d.%d", i>>8, i&255), Until: until})
		}
		mustAdd(t, &l, entries...)
		if err := l.Add(entry{Key: "key:more"}); !errors.Is(err, ratelimit.ErrListFull) || l.HasKey([]byte("key:more")) {
			t.Errorf("adding to a full list: %v", err)
		}
		mustAdd(t, &l, entries[:10]...) // they are there already
		if err := l.Replace(append(entries, entry{Key: "key:more"})...); !errors.Is(err, ratelimit.ErrListFull) || l.Len() != most {
			t.Errorf("replacing by too many: %v, %d entries", err, l.Len())
		}
		time.Sleep(time.Minute)
		for i := range 64 {
			before := l.Stored()
			mustAdd(t, &l, entry{Key: ratelimit.UserKey(strconv.Itoa(i))})
			if gone := before - l.Stored(); gone > most/8 {
				t.Errorf("one call removed %d of %d entries", gone, most)
			}
		}
		if l.Stored() != 64 || l.Len() != 64 || l.Lengths() != 0 {
			t.Errorf("%d entries are stored, %d prefix lengths, want 64 and none", l.Stored(), l.Lengths())
		}
	})
}

// TestAccessListIsExact compares random lists with a search through all of
// their entries.
func TestAccessListIsExact(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		// Few different bits, so that networks lie in each other.
		randomAddr := func() netip.Addr {
			if rnd.IntN(2) == 0 {
				return netip.AddrFrom4([4]byte{10, byte(rnd.IntN(2)) << 7, byte(rnd.IntN(4)), byte(rnd.IntN(3))})
			}
			addr := [16]byte{0: 0x20, 7: byte(rnd.IntN(3)), 8: byte(rnd.IntN(2)) << 7, 15: byte(rnd.IntN(3))}
			if rnd.IntN(4) == 0 {
				addr = [16]byte{15: byte(rnd.IntN(3))} // ::1, near the IPv4-mapped ones
			}
			return netip.AddrFrom16(addr)
		}
		var l ratelimit.AccessList
		want := make(map[netip.Prefix]bool)
		for range 300 {
			addr := randomAddr()
			prefix, err := addr.Prefix(rnd.IntN(addr.BitLen() + 1))
			if err != nil {
				t.Fatal(err)
			}
			switch n := rnd.IntN(40); {
			case n == 0:
				clear(want)
				if err := l.Replace(); err != nil {
					t.Fatal(err)
				}
			case n < 15:
				removed := l.Remove(entry{Network: prefix.String()})
				if (removed == 1) != want[prefix] {
					t.Fatalf("seed %d: removing %v removed %d", seed, prefix, removed)
				}
				delete(want, prefix)
			default:
				mustAdd(t, &l, entry{Network: prefix.String()})
				want[prefix] = true
			}
			lengths := make(map[int]bool)
			for prefix := range want {
				lengths[128-prefix.Addr().BitLen()+prefix.Bits()] = true
			}
			if l.Len() != len(want) || l.Lengths() != len(lengths) {
				t.Fatalf("seed %d: %d networks of %d lengths, want %d of %d", seed, l.Len(), l.Lengths(), len(want), len(lengths))
			}
			for range 20 {
				addr, listed := randomAddr(), false
				for prefix := range want {
					listed = listed || prefix.Contains(addr)
				}
				if l.HasAddr(addr) != listed {
					t.Fatalf("seed %d: %v is listed: %t, want %t, in %v", seed, addr, l.HasAddr(addr), listed, texts(&l))
				}
			}
		}
	}
}

// TestAccessListWhileItChanges looks entries up that are there all the time,
// and one that never is, while others come and go.
func TestAccessListWhileItChanges(t *testing.T) {
	var l ratelimit.AccessList
	lasting := append(networks("192.0.2.0/24", "2001:db8::/48"), entry{Key: "user:mallory"})
	mustAdd(t, &l, lasting...)
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !l.HasAddr(netip.MustParseAddr("192.0.2.9")) || !l.HasAddr(netip.MustParseAddr("2001:db8::9")) || !l.HasKey([]byte("user:mallory")) {
					t.Error("an entry is missing while others change")
					return
				}
				if l.HasAddr(netip.MustParseAddr("198.51.100.1")) || l.HasKey([]byte("user:alice")) {
					t.Error("an entry is there that never was")
					return
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range 200 {
				other := append(networks(fmt.Sprintf("10.%d.%d.0/%d", w, i%250, 16+i%17)), entry{Key: ratelimit.NamedKey(fmt.Sprint(w, i))})
				if err := errors.Join(l.Add(other...), l.Replace(append(other, lasting...)...)); err != nil {
					t.Error(err)
				}
				l.Remove(other...)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got := texts(&l); len(got) < len(lasting) || l.Lengths() < 0 {
		t.Errorf("in the end there are %q", got)
	}
}

func TestAccessListKeepsNoCaller(t *testing.T) {
	var l ratelimit.AccessList
	buffer := []byte("user:mallory")
	mustAdd(t, &l, entry{Key: ratelimit.Partition(unsafe.String(&buffer[0], len(buffer)))})
	copy(buffer, "user:another")
	if !l.HasKey([]byte("user:mallory")) || !slices.Equal(texts(&l), []string{"user:mallory"}) {
		t.Errorf("the list changed with its caller's memory: %q", texts(&l))
	}
}
