package adapter

import (
	"net/http"

	ratelimit "github.com/go-floodgate/floodgate/core"
)

// WriteAnswer writes a refusal to w, for frameworks that have a ResponseWriter.
// method is the request's.
func WriteAnswer(w http.ResponseWriter, method string, answer ratelimit.Answer) error {
	answer.SetFields(w.Header())
	w.WriteHeader(answer.Status)
	if method == http.MethodHead {
		return nil
	}
	_, err := w.Write(answer.Body)
	return err
}
