package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// maxEvent bounds one line of a stream of events; the whole stream is bounded like any answer.
const maxEvent = 1 << 20

var errEventTooLarge = errors.New("the answer has an event larger than 1 MB")

// events yields the data of each server-sent event of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// Lines end in \n or \r\n; comments, names and IDs of events are left out, and so is an event that the end of the stream cuts.
// A failure to read is yielded last. The data is valid until the next event.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := lineReader{r: bufio.NewReader(r)}
		var data []byte
		has := false
		for {
			line, err := lines.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, err)
				return
			case len(line) == 0:
				if has && !yield(data, nil) {
					return
				}
				data, has = data[:0], false
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			if string(name) != "data" {
				continue
			}
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
	}
}

// lineReader reads lines of up to maxEvent bytes. Unlike bufio.Scanner it looks at each byte once, however few come at a time.
type lineReader struct {
	r    *bufio.Reader
	line []byte
}

// next returns a line without its end, valid until the next one. What the end of the stream cuts is not a line.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if l.line = append(l.line, part...); len(l.line) > maxEvent {
			return nil, errEventTooLarge
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(l.line[:len(l.line)-1], []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
