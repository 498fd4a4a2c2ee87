package redisstore

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// The store's own errors; all others are those of Redis or the client.
var (
	// ErrTimeout says that no answer came within the budget. Whether the
	// charge was taken is not known; it is never sent again.
	ErrTimeout = errors.New("redisstore: no answer from Redis within the budget of a decision")
	// ErrBreakerOpen says that Redis failed several times in a row and was not
	// asked.
	ErrBreakerOpen = errors.New("redisstore: Redis is not asked while the circuit breaker is open")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("redisstore: the store is closed")
	// ErrOverloaded says that too many calls which nobody waits for any more
	// still wait for the client: shorten its ReadTimeout.
	ErrOverloaded = errors.New("redisstore: too many calls are left behind, waiting for the client's own timeouts")
)

// ErrorKind sorts an error of the store for a metric: "timeout", "breaker",
// "closed", "overloaded", "redis" (an error that Redis answered, such as
// READONLY), "network" or "other". It is empty for nil.
func ErrorKind(err error) string {
	var answered redis.Error
	var network net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrTimeout):
		return "timeout"
	case errors.Is(err, ErrBreakerOpen):
		return "breaker"
	case errors.Is(err, ErrClosed):
		return "closed"
	case errors.Is(err, ErrOverloaded):
		return "overloaded"
	case errors.As(err, &network):
		return "network"
	case errors.As(err, &answered):
		return "redis"
	default:
		return "other"
	}
}

// ErrorKind is the function of that name, for those who don't know which store
// they have.
func (*Store) ErrorKind(err error) string { return ErrorKind(err) }
