package llm

import (
	"errors"
	"io"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/base/sse"
)

// maxEvent bounds one event of a stream; the whole stream is bounded like any answer.
const maxEvent = 1 << 20

var errEventTooLarge = errors.New("the answer has an event larger than 1 MB")

// events yields the data of each server-sent event of a stream. An event that the end of the stream cuts is left out. A
// failure to read is yielded last. The data is valid until the next event.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range sse.SSE(r, maxEvent) {
			if errors.Is(err, sse.ErrLong) {
				err = errEventTooLarge
			}
			if !e.Unended && !yield(e.Data, err) {
				return
			}
		}
	}
}
