package httplimit

// Remembered is how many hosts and keys t remembers.
func (t *Transport) Remembered() int {
	t.gates.mu.Lock()
	defer t.gates.mu.Unlock()
	return len(t.gates.all)
}
