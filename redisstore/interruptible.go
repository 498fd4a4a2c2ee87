package redisstore

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Interruptible returns a copy of a client's options with which a [Store] on
// that client is faster for requests that come one at a time: it can end a call
// that waits for Redis from outside, so that a lone request needs no second
// goroutine to be able to leave when its time is up. [Open] does so by itself.
//
//	client := redis.NewClient(redisstore.Interruptible(&redis.Options{Addr: address}))
//
// In the copy ContextTimeoutEnabled is set, so that contexts bound whatever
// else the client is used for, too, and Dialer wraps the one of the options, or
// the default one, which sees to TLSConfig. The client's hooks then run on the
// request's goroutine. A request whose context ends while it waits takes its
// connection with it. The budget has to be below half of ReadTimeout and
// WriteTimeout (5 s if unset), or nothing is gained.
func Interruptible(options *redis.Options) *redis.Options {
	made := *options
	made.ContextTimeoutEnabled = true
	if made.Dialer == nil {
		made.Dialer = defaultDialer(&made)
	}
	made.Dialer = interruptible(made.Dialer)
	return &made
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// defaultDialer is the one that go-redis takes for options without one.
func defaultDialer(options *redis.Options) dialFunc {
	dialing := redis.Options{DialTimeout: options.DialTimeout, TLSConfig: options.TLSConfig}
	if dialing.DialTimeout == 0 {
		dialing.DialTimeout = 5 * time.Second
	}
	return redis.NewDialer(&dialing)
}

func interruptible(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		plain, err := dial(ctx, network, address)
		dialFailures.note(address, err)
		if err != nil {
			return nil, err
		}
		made := &conn{Conn: plain}
		if looked, ok := plain.(syscall.Conn); ok {
			if raw, err := looked.SyscallConn(); err == nil {
				return &socket{made, look{RawConn: raw}}, nil
			}
		}
		return made, nil
	}
}

// conn is a connection that can be taken from an errand. go-redis tells a
// connection the deadline of the context of each call: by this the connection
// knows whose call it is.
type conn struct {
	net.Conn

	mu     sync.Mutex
	errand *errand // whose call was the last to use it; nil: no errand's
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// SetDeadline is [net.Conn.SetDeadline].
func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetDeadline(c.claimLocked(t))
}

// SetReadDeadline is [net.Conn.SetReadDeadline].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetReadDeadline(c.claimLocked(t))
}

// SetWriteDeadline is [net.Conn.SetWriteDeadline].
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetWriteDeadline(c.claimLocked(t))
}

// claimLocked notes whose deadline it is, and returns the one to be set.
func (c *conn) claimLocked(t time.Time) time.Time {
	c.errand = errands.find(t)
	if c.errand != nil && c.errand.use(c) {
		return past
	}
	return t
}

// interrupt ends what an errand does on the connection; it does nothing if
// that has passed to another call.
func (c *conn) interrupt(e *errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errand == e {
		_ = c.Conn.SetDeadline(past) // the connection may be closed already
	}
}

// NetConn returns the connection beneath, as [crypto/tls.Conn.NetConn] does:
// go-redis looks there for what has arrived.
func (c *conn) NetConn() net.Conn { return c.Conn }

// socket is a conn whose socket go-redis can look at, which it does before each
// use, to see whether the server has closed it.
type socket struct {
	*conn
	look look
}

// Read is [net.Conn.Read].
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.conn.Read(p)
	if err == nil {
		s.look.heard.Store(int64(time.Since(epoch)))
	}
	return n, err
}

// SyscallConn implements [syscall.Conn].
func (s *socket) SyscallConn() (syscall.RawConn, error) { return &s.look, nil }

// look is how a socket is looked at: not at all if the server has just been
// heard. To look takes a call of the kernel, a thirtieth of a lone decision's
// time.
type look struct {
	syscall.RawConn
	heard atomic.Int64 // when, in nanoseconds since epoch
}

// epoch is before everything.
var epoch = time.Now()

// just is how long ago a server was heard that need not be looked at.
const just = time.Millisecond

// Read is [syscall.RawConn.Read].
func (l *look) Read(see func(fd uintptr) (done bool)) error {
	if time.Since(epoch)-time.Duration(l.heard.Load()) < just {
		return nil
	}
	return l.RawConn.Read(see)
}

// dialFailures are why the servers that can't be reached at present can't: a
// call that is out of time does not know.
var dialFailures failures

type failures struct{ byAddress sync.Map }

func (f *failures) note(address string, err error) {
	if err != nil {
		f.byAddress.Store(address, err)
	} else if _, failed := f.byAddress.Load(address); failed {
		f.byAddress.Delete(address)
	}
}

func (f *failures) of(address string) error {
	err, _ := f.byAddress.Load(address)
	failure, _ := err.(error)
	return failure
}
