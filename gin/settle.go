package ginlimit

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/go-floodgate/floodgate/core/adapter"
)

// settle runs the rest of the chain and notes how it ended.
func settle(c *gin.Context, p *adapter.Passage[*gin.Context]) {
	panicked := true
	defer func() {
		if panicked {
			p.Finish(http.StatusInternalServerError, true)
		}
	}()
	c.Next()
	panicked = false
	if pending(c) {
		c.Writer = &telling{c.Writer, p}
		return
	}
	p.Finish(c.Writer.Status(), false)
}

// pending reports whether something further out is to answer: middleware that
// finds the handler's error in the context, or that sees that the chain was
// aborted without an answer. Guessing it from the status, which is 200 as long
// as nobody sets one, would let every attempt pass for a success.
func pending(c *gin.Context) bool {
	return !c.Writer.Written() && (len(c.Errors) > 0 || c.IsAborted() && c.Writer.Status() == http.StatusOK)
}

// telling is the writer of an answer that is yet to come, of which it tells the
// status. If none comes, what was charged stays.
type telling struct {
	gin.ResponseWriter
	passage *adapter.Passage[*gin.Context]
}

// Unwrap is for http.ResponseController.
func (w *telling) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// tell tells the status; again it does nothing.
func (w *telling) tell() { w.passage.Finish(w.Status(), false) }

// WriteHeader only notes a status, but Gin sends the last one that was noted
// past this writer.
func (w *telling) WriteHeader(code int) {
	w.ResponseWriter.WriteHeader(code)
	if code > 0 { // -1 leaves the status as it is
		w.tell()
	}
}

func (w *telling) WriteHeaderNow() {
	w.tell()
	w.ResponseWriter.WriteHeaderNow()
}

func (w *telling) Write(body []byte) (int, error) {
	w.tell()
	return w.ResponseWriter.Write(body)
}

func (w *telling) WriteString(body string) (int, error) {
	w.tell()
	return w.ResponseWriter.WriteString(body)
}

func (w *telling) Flush() {
	w.tell()
	w.ResponseWriter.Flush()
}
