package adapter

import (
	"net/http"
	"strconv"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// WriteAnswer writes a refusal to w, for frameworks that have a ResponseWriter.
// method is the request's.
func WriteAnswer(w http.ResponseWriter, method string, answer ratelimit.Answer) error {
	header := w.Header()
	header.Set("Content-Type", answer.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	if method == http.MethodHead {
		return nil
	}
	_, err := w.Write(answer.Body)
	return err
}
