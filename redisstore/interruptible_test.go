package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-floodgate/floodgate/redisstore/redistest"
)

// An errand ends what it does on a connection, and nothing of the call that has
// the connection after it.
func TestErrandInterrupts(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	c := &conn{Conn: ours}
	read := func() error {
		answer := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			answer <- err
		}()
		select {
		case err := <-answer:
			return err
		case <-time.After(guard):
			return errors.New("it goes on")
		}
	}
	use := func(e *errand, set func(time.Time) error) {
		deadline, _ := e.Deadline()
		if err := set(deadline); err != nil {
			t.Fatal(err)
		}
	}

	e := newErrand(time.Hour)
	use(e, c.SetReadDeadline)
	waiting := make(chan error)
	go func() { waiting <- read() }()
	e.end(context.Canceled)
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read that was under way: %v", err)
	}
	use(e, c.SetReadDeadline)
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read that began when the errand had ended: %v", err)
	}
	e.close()

	for name, next := range map[string]time.Time{"none": {}, "go-redis' own": time.Now().Round(0).Add(time.Hour)} {
		e := newErrand(time.Hour)
		use(e, c.SetDeadline)
		if err := c.SetDeadline(next); err != nil {
			t.Fatal(err)
		}
		e.end(context.Canceled)
		go func() { _, _ = theirs.Write([]byte("x")) }()
		if err := read(); err != nil {
			t.Errorf("another call on the connection, deadline %s: %v", name, err)
		}
		deadline, _ := e.Deadline()
		e.close()
		if errands.find(deadline) != nil {
			t.Error("an errand that is closed is left over")
		}
	}
}

// An errand is a context that ends by itself.
func TestErrandExpires(t *testing.T) {
	e := newErrand(time.Millisecond)
	<-e.Done()
	if err := e.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Err: %v", err)
	}
	one, other := newErrand(time.Hour), newErrand(time.Hour)
	errands.remove(other)
	errands.add(other, one.deadline)
	if one.deadline.Equal(other.deadline) || errands.find(one.deadline) != one || errands.find(other.deadline) != other {
		t.Error("two errands can't be told apart")
	}
	one.close()
	other.close()
}

// A caller that leaves ends its errand, but no errand that is done with.
func TestErrandWatchesItsCaller(t *testing.T) {
	caller, leave := context.WithCancel(t.Context())
	e, done := newErrandOf(caller, time.Hour), newErrandOf(caller, time.Hour)
	redistest.Eventually(t, "the caller is watched", func() bool {
		done.mu.Lock()
		defer done.mu.Unlock()
		return done.unwatch != nil
	})
	done.close()
	leave()
	redistest.Eventually(t, "the errand ends", func() bool { return e.Err() != nil })
	if err := e.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("Err: %v", err)
	}
	if err := done.Err(); err != nil {
		t.Errorf("an errand that is done with ends: %v", err)
	}
	e.close()
	brief := newErrandOf(t.Context(), 2*time.Millisecond)
	redistest.Eventually(t, "an errand ends whose caller stays", func() bool { return brief.Err() != nil })
	if err := brief.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Err: %v", err)
	}
}

// Interruptible leaves the options as they were, and TLS switched on.
func TestInterruptibleOptions(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the test
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	first := make(chan byte, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		b := make([]byte, 1)
		_, _ = conn.Read(b)
		first <- b[0]
	}()
	options := &redis.Options{Addr: listener.Addr().String(), TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	made := Interruptible(options)
	if options.Dialer != nil || options.ContextTimeoutEnabled || !made.ContextTimeoutEnabled {
		t.Errorf("the options are changed: %+v", options)
	}
	if _, err := made.Dialer(context.Background(), "tcp", options.Addr); err == nil {
		t.Error("a handshake with nobody succeeds")
	}
	if b := <-first; b != 22 { // a TLS handshake
		t.Errorf("the first byte sent is %d: a password would be in clear", b)
	}
}

// A connection that has been quiet for a while is looked at before it is used, so
// that one that the server has closed is not.
func TestQuietConnectionIsLookedAt(t *testing.T) {
	server := redistest.Start(t)
	dial := Interruptible(&redis.Options{}).Dialer
	plain, err := dial(context.Background(), "tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	c := plain.(*socket)
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	looked := func() (seen bool) {
		if err := raw.Read(func(uintptr) bool { seen = true; return true }); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	c.look.heard.Store(int64(time.Since(epoch) + time.Hour))
	if looked() {
		t.Error("a connection is looked at that has just been heard")
	}
	c.look.heard.Store(int64(time.Since(epoch) - just))
	if !looked() {
		t.Error("a connection is not looked at that has been quiet")
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if since := time.Since(epoch) - time.Duration(c.look.heard.Load()); since >= guard {
		t.Errorf("an answer was heard %v ago", since)
	}

	// go-redis does look, or the rest is for nothing.
	s := lone(t, server.Addr, time.Minute)
	for range 3 {
		server.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		killed := time.Now()
		redistest.Eventually(t, "it has been quiet", func() bool { return time.Since(killed) > just })
		take(t, s, charge("client", hourly, 1))
	}
}
