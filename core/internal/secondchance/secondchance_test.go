package secondchance

import (
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var seed = maphash.MakeSeed()

func hash(key string) uint64 { return maphash.String(seed, key) }

func put(m *Map[string, int], key string, value, part int) { m.Put(hash(key), key, value, part) }

func has(m *Map[string, int], key string) bool {
	_, ok := m.Get(hash(key), key)
	return ok
}

func TestWhatIsAskedForOutlivesWhatIsNot(t *testing.T) {
	m := New[string, int](8)
	for i := range 4 {
		put(m, "used"+strconv.Itoa(i), i, 0)
	}
	for i := range 1000 {
		put(m, "once"+strconv.Itoa(i), i, 0)
		for j := range 4 {
			if !has(m, "used"+strconv.Itoa(j)) {
				t.Fatalf("entry %d, which is asked for all the time, was gone after %d others", j, i+1)
			}
		}
	}
	if n := m.Len(0); n != 8 {
		t.Errorf("%d entries, want 8", n)
	}
}

func TestAPartPushesNothingOutOfAnother(t *testing.T) {
	m := New[string, int](1000, 100)
	for i := range 500 {
		put(m, "known"+strconv.Itoa(i), i, 0)
	}
	for i := range 100_000 {
		put(m, "flood"+strconv.Itoa(i), i, 1)
	}
	for i := range 500 {
		if !has(m, "known"+strconv.Itoa(i)) {
			t.Errorf("entry %d is gone", i)
		}
	}
	if n := m.Len(1); n > 100 {
		t.Errorf("the flood's part has %d entries, want at most 100", n)
	}
}

// A Put that finds everything asked for still ends after a few entries.
func TestAPutLooksAtFewEntries(t *testing.T) {
	m := New[string, int](100)
	for i := range 100 {
		put(m, strconv.Itoa(i), i, 0)
		has(m, strconv.Itoa(i))
	}
	put(m, "new", 0, 0)
	still := 0
	for i := range m.shards[0].parts[0].slots {
		if m.shards[0].parts[0].slots[i].used {
			still++
		}
	}
	if want := 100 - maxLooks; still != want {
		t.Errorf("%d entries were left as they were, want %d", still, want)
	}
}

func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := []int{rapid.IntRange(1, 6).Draw(t, "size"), rapid.IntRange(1, 6).Draw(t, "size")}
		m := New[string, int](sizes...)
		type entry struct{ value, part int }
		model := map[string]entry{}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 14).Draw(t, "key"))
			if rapid.Bool().Draw(t, "get") {
				value, ok := m.Get(hash(key), key)
				raw, rawOK := Lookup(m, hash(key), []byte(key))
				if ok && value != model[key].value || raw != value || rawOK != ok {
					t.Fatalf("Get(%s) = %d, Lookup %d, want %v", key, value, raw, model[key])
				}
				continue
			}
			part := rapid.IntRange(0, 1).Draw(t, "part")
			put(m, key, i, part)
			model[key] = entry{i, part}
			if value, ok := m.Get(hash(key), key); !ok || value != i {
				t.Fatalf("what was just put is not there: %d, %v", value, ok)
			}
		}
		var found []int
		for key, e := range model {
			if value, ok := m.Get(hash(key), key); ok {
				found = append(found, value)
				if at := m.shards[0].at[key]; at.part != e.part {
					t.Fatalf("%s is in part %d, want %d", key, at.part, e.part)
				}
			}
		}
		slices.Sort(found)
		if all := slices.Sorted(m.Values()); !slices.Equal(all, found) {
			t.Fatalf("Values: %v, want %v", all, found)
		}
		if n := m.Len(0) + m.Len(1); n != len(found) || m.Len(0) > sizes[0] || m.Len(1) > sizes[1] {
			t.Fatalf("%d and %d entries in parts of %v, %d found", m.Len(0), m.Len(1), sizes, len(found))
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	m := New[string, int](256, 128)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 5000 {
				n := (i*7 + g) % 1000
				key := strconv.Itoa(n)
				if value, ok := m.Get(hash(key), key); ok && value != n {
					t.Errorf("key %d has the value %d", n, value)
				}
				put(m, key, n, (i+g)%2)
			}
			for range m.Values() {
				break
			}
		})
	}
	all.Wait()
	if m.Len(0) > 256 || m.Len(1) > 128 {
		t.Errorf("%d and %d entries, want at most 256 and 128", m.Len(0), m.Len(1))
	}
	for i := range m.shards {
		s := &m.shards[i]
		if n := len(s.at); n != len(s.parts[0].slots)+len(s.parts[1].slots) {
			t.Errorf("shard %d: %d keys for %d entries", i, n, len(s.parts[0].slots)+len(s.parts[1].slots))
		}
	}
}
