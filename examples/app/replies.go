package app

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// ContentType is the media type of every [Reply].
const ContentType = "application/json"

// Reply is what a route answers, as every framework sends it.
type Reply struct {
	Status int
	Body   []byte
}

func reply(status int, value any) Reply {
	body, err := json.Marshal(value)
	if err != nil {
		return Reply{Status: http.StatusInternalServerError, Body: []byte(`{"error":"internal"}`)}
	}
	return Reply{Status: status, Body: body}
}

// OK is the answer of a route that only shows that it was reached.
func OK(route string) Reply {
	return reply(http.StatusOK, map[string]string{"route": route})
}

// User is the answer of GET /api/users/{id}.
func User(id string) Reply {
	return reply(http.StatusOK, map[string]string{"id": id})
}

// Report is the answer of POST /api/reports, which tells the limiter what the
// report has cost. ctx is the request's.
func Report(ctx context.Context) Reply {
	if err := ratelimit.Settle(ctx, "points", reportPoints); err != nil {
		slog.WarnContext(ctx, "the estimate stays charged", slog.Any("error", err))
	}
	return OK("reports")
}

// SignIn is the answer of POST /login to this body.
func SignIn(body []byte) Reply {
	var form struct{ Username, Password string }
	if err := json.Unmarshal(body, &form); err != nil || form.Username != "demo" || form.Password != "demo" {
		return reply(http.StatusUnauthorized, map[string]string{"error": "wrong username or password"})
	}
	return reply(http.StatusOK, map[string]string{"user": form.Username})
}

// Events yields the server-sent events of GET /events, 100 ms apart.
func Events() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 1; i <= 5; i++ {
			if i > 1 {
				time.Sleep(100 * time.Millisecond)
			}
			if !yield(fmt.Sprintf("data: event %d\n\n", i)) {
				return
			}
		}
	}
}
