package answers

import "sync/atomic"

// forgottenPlaces is how many numbers tell what was forgotten last. Those who
// share one are asked about anew together, which costs a question and is no
// fault; 16,384 of them take 128 KiB once anything is forgotten.
const forgottenPlaces = 1 << 14

// forgotten tells what was forgotten since a question was put, without
// a list of who that is or of the keys that lead to him. Each time has a number,
// and each hash a place that has the number of the last time. The zero value is
// ready.
type forgotten struct {
	times  atomic.Uint64
	places atomic.Pointer[[forgottenPlaces]atomic.Uint64]
}

// version is what had been forgotten until now.
func (f *forgotten) version() uint64 { return f.times.Load() }

// since reports whether the hash, or one that shares its place, was forgotten
// after version.
func (f *forgotten) since(version, hash uint64) bool {
	places := f.places.Load()
	return places != nil && places[place(hash)].Load() > version
}

func (f *forgotten) add(hash uint64) {
	places := f.places.Load()
	if places == nil {
		f.places.CompareAndSwap(nil, new([forgottenPlaces]atomic.Uint64))
		places = f.places.Load()
	}
	last, now := &places[place(hash)], f.times.Add(1)
	for before := last.Load(); before < now; before = last.Load() {
		if last.CompareAndSwap(before, now) {
			return
		}
	}
}

// place takes other bits than those that choose a shard.
func place(hash uint64) uint64 { return (hash >> 32) % forgottenPlaces }
