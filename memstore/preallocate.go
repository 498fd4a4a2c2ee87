package memstore

// allocate makes all segments that a full table has. One that by chance gets
// more keys than it has slots for splits as any other, and remains when its two
// halves are joined again; no more are joined than that.
func (t *table) allocate(depth uint8) {
	t.atOnce, t.leastDepth = true, depth
	for i := range t.shards {
		d := newDirectory(depth)
		all, allMarks := make([][slotsPerSegment]entry, len(d.paths)), make([]marks, len(d.paths))
		// It is zero as it is, but the system provides memory when it is written to.
		clear(all)
		clear(allMarks)
		for j := range d.paths {
			d.paths[j].store(segment{marks: &allMarks[j], slots: &all[j]})
			d.depths[j] = depth
		}
		t.shards[i].start(d)
	}
}
