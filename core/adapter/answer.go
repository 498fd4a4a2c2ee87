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
	header["Content-Type"] = contentType(answer.ContentType)
	header["Content-Length"] = contentLength(len(answer.Body))
	w.WriteHeader(answer.Status)
	if method == http.MethodHead {
		return nil
	}
	_, err := w.Write(answer.Body)
	return err
}

// Refusals are what a flood gets: the values of these fields are ready for
// them. Their capacity is their length, so that whoever appends copies.
var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	lengths     = func() (texts [512][]string) {
		for n := range texts {
			texts[n] = []string{strconv.Itoa(n)}
		}
		return texts
	}()
)

func contentType(name string) []string {
	switch name {
	case jsonType[0]:
		return jsonType
	case problemType[0]:
		return problemType
	}
	return []string{name}
}

func contentLength(n int) []string {
	if n < len(lengths) {
		return lengths[n]
	}
	return []string{strconv.Itoa(n)}
}
