// Package sse reads answers that come in pieces: server-sent events and JSON Lines.
package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// ErrLong says that a line is longer than it may be.
var ErrLong = errors.New("a line is too long")

// Event is one piece of a stream.
type Event struct {
	// Name is the event's own; empty for one without a name, and for a line.
	Name string
	// ID is the id that the stream named last, to go on from there; empty while it has named none.
	ID string
	// Data is valid until the next event.
	Data []byte
	// Unended is true of a last event behind which the stream ended at once. It may have been cut.
	Unended bool
}

// SSE yields the server-sent events of a stream as https://html.spec.whatwg.org/multipage/server-sent-events.html reads
// them, each as soon as it has come, and also an unended last one. Times of events are passed over. Lines have up to
// limit bytes, and so has all the data of an event. A failure to read is yielded last.
func SSE(r io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := lineReader{r: r, limit: limit, returns: true}
		var e Event
		has := false
		for first := true; ; first = false {
			line, whole, err := lines.next()
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(line) == 0 && (whole || err != nil) {
				e.Unended = err != nil
				if has && !yield(e, nil) || err != nil {
					return
				}
				e, has = Event{ID: e.ID, Data: e.Data[:0]}, false
				continue
			}
			name, value, field := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch {
			case !field && err != nil: // a name that the end of the stream has cut
			case string(name) == "event":
				e.Name = string(value)
			case string(name) == "id" && !bytes.ContainsRune(value, 0):
				e.ID = string(value)
			case string(name) == "data":
				if has {
					e.Data = append(e.Data, '\n')
				}
				if e.Data, has = append(e.Data, value...), true; len(e.Data) > limit {
					yield(Event{}, ErrLong)
					return
				}
			}
			if err != nil {
				if e.Unended = true; has {
					yield(e, nil)
				}
				return
			}
		}
	}
}

// Lines yields the lines of a stream that hold anything but white space, each as soon as it has come, with up to limit
// bytes. The last one is unended when no line end follows it. A failure to read is yielded last.
func Lines(r io.Reader, limit int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := lineReader{r: r, limit: limit}
		for {
			line, _, err := lines.next()
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, err)
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(Event{Data: line, Unended: err != nil}, nil) ||
				err != nil {
				return
			}
		}
	}
}

// lineReader reads lines and looks at each byte once, however few come at a time.
type lineReader struct {
	r     io.Reader
	limit int
	// returns is true where a carriage return ends a line, also alone. It does so at once: a line feed that follows it
	// is passed over later.
	returns  bool
	passFeed bool
	// buffer holds what was read; its part from at is not yet consumed. line is what was put aside of a line that goes
	// on.
	buffer []byte
	at     int
	line   []byte
}

const bufferSize = 16 << 10

// next returns a line without its end, valid until the next one. Whole is false of one that nothing ends: then the
// error is io.EOF.
func (l *lineReader) next() (line []byte, whole bool, err error) {
	l.line = l.line[:0]
	for {
		if l.passFeed && l.at < len(l.buffer) {
			if l.passFeed = false; l.buffer[l.at] == '\n' {
				l.at++
			}
		}
		rest := l.buffer[l.at:]
		end := l.end(rest)
		if end >= 0 {
			l.at += end + 1
			l.passFeed = rest[end] == '\r'
			rest = rest[:end]
		}
		if l.line = append(l.line, rest...); len(l.line) > l.limit {
			return nil, false, ErrLong
		}
		if end >= 0 {
			return l.line, true, nil
		}
		if err := l.read(); err != nil {
			return l.line, false, err
		}
	}
}

// end returns where the first line of some bytes ends; -1 when it goes on.
func (l *lineReader) end(b []byte) int {
	feed := bytes.IndexByte(b, '\n')
	if !l.returns {
		return feed
	}
	if feed >= 0 {
		b = b[:feed]
	}
	if back := bytes.IndexByte(b, '\r'); back >= 0 {
		return back
	}
	return feed
}

// read reads more, at least one byte.
func (l *lineReader) read() error {
	if l.buffer == nil {
		l.buffer = make([]byte, 0, bufferSize)
	}
	for range 100 {
		n, err := l.r.Read(l.buffer[:cap(l.buffer)])
		l.buffer, l.at = l.buffer[:n], 0
		if n > 0 {
			return nil // an error comes again
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
