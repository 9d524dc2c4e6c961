package answer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/sse"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// ReadAll reads an answer that came whole. Media is its media type, as in a Content-Type; it may be empty. Earlier is
// Found.Calls of the turn before. Where a stream is configured, the answer is read like its only event.
func (s *Spec) ReadAll(body []byte, media string, earlier int) (Found, error) {
	foreign := unsupportedCharset(media)
	media = mediaType(media)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return Found{}, ErrEmpty
	case foreign:
		return Found{}, ErrUTF8
	case media == "text/html" || isHTML(body):
		return Found{}, ErrHTML
	case !utf8.Valid(body):
		return Found{}, ErrUTF8
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	doc, err := decode(body)
	if err != nil {
		if !s.mayBeText(body, media) {
			return Found{}, notJSON(body, err)
		}
		doc = string(body)
	}
	r, e := s.Read(earlier), event{doc: doc}
	if err := r.look(e); err != nil {
		return Found{}, err
	}
	text, ok := s.Text.reply(e)
	switch {
	case s.Stream != nil && s.Stream.Text != nil:
		r.listen(e)
	case s.Text == nil:
		if text, ok = string(body), true; media != "text/plain" {
			if text, ok = byName(doc, false); ok {
				if err := s.admits(e); err != nil { // what was found says what went wrong
					return Found{}, err
				}
			}
		}
	}
	if ok {
		r.whole = &text
	}
	return r.Found()
}

// mayBeText reports whether a body that is not JSON can be a reply: where no path needs JSON and nothing says that it
// should have been some.
func (s *Spec) mayBeText(body []byte, media string) bool {
	if s.Text != nil {
		return s.Text.Path == "$"
	}
	if media == "" {
		return !strings.ContainsRune("{[", rune(bytes.TrimSpace(body)[0]))
	}
	return strings.HasPrefix(media, "text/")
}

// unsupportedCharset reports whether a Content-Type names a charset in which text is written with the bytes of other
// text of UTF-8.
func unsupportedCharset(contentType string) bool {
	_, params, err := mime.ParseMediaType(contentType)
	charset := strings.ToLower(params["charset"])
	return err == nil && slices.ContainsFunc([]string{
		"utf-16", "utf-32", "utf-7", "ucs-2", "iso-2022-", "hz-gb-",
	}, func(prefix string) bool {
		return strings.HasPrefix(charset, prefix)
	})
}

func mediaType(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(media))
}

// isHTML reports whether a body begins like a page.
func isHTML(body []byte) bool {
	return page().Match(bytes.TrimPrefix(body[:min(len(body), 2048)], []byte("\ufeff")))
}

// page matches the beginning of a page, behind comments and what announces XML.
var page = text.Regexp(`(?is)^(\s|<!--.*?-->|<\?xml.*?\?>)*<(!doctype\s+html|(html|head|body)[\s>])`)

// FormatOf returns the format of a stream that a Content-Type announces; empty for any other.
func FormatOf(contentType string) Format {
	switch mediaType(contentType) {
	case "text/event-stream":
		return SSE
	case "application/x-ndjson":
		return JSONL
	}
	return ""
}

// Event is one event of a stream as it is kept.
type Event struct {
	Name string `json:"event,omitempty"`
	Data string `json:"data"`
}

// Events reads a stream of up to limit bytes to its last event, and nothing behind it. Spoke, unless nil, is called
// when the first text of a reply has come. An error is that of a stream that is larger, broke off, holds no event, or
// has bytes that are not UTF-8; what the events say is for Found.
func (s *Spec) Events(r io.Reader, f Format, limit int, spoke func()) ([]Event, error) {
	bounded := &bounded{r: r, left: limit}
	reading, last := s.stream(0), false
	var kept []Event
	for e, err := range s.events(bounded, f, limit) {
		if err != nil {
			return nil, err
		}
		if err := s.whole(e, f); err != nil {
			return nil, err
		}
		kept = append(kept, Event{e.Name, string(e.Data)})
		if last, err = reading.Add(e.Name, e.Data); errors.Is(err, ErrUTF8) {
			return nil, err
		} else if err != nil { // Found says so, too
			return kept, nil
		}
		if spoke != nil && reading.Spoken() {
			spoke()
			spoke = nil
		}
		if last {
			return kept, nil
		}
	}
	begin := bounded.begin
	switch {
	case len(kept) == 0 && isHTML(begin):
		return nil, ErrHTML
	case len(kept) == 0 && len(bytes.TrimSpace(begin)) == 0:
		return nil, ErrEmpty
	case len(kept) == 0:
		return nil, fmt.Errorf("%w: a stream without an event, which begins with %s", ErrEmpty,
			clip(string(begin), shownOfBody))
	case reading.end() != (End{}):
		return nil, fmt.Errorf("%w: the stream ended without its last event", ErrBrokeOff)
	}
	return kept, nil
}

// events yields the events of a stream with errors of this package.
func (s *Spec) events(r io.Reader, f Format, limit int) iter.Seq2[sse.Event, error] {
	all := sse.SSE(r, limit)
	if f == JSONL {
		all = sse.Lines(r, limit)
	}
	return func(yield func(sse.Event, error) bool) {
		for e, err := range all {
			switch {
			case errors.Is(err, ErrLarge), errors.Is(err, sse.ErrLong):
				err = Large(limit)
			case err != nil:
				err = fmt.Errorf("%w: %w", ErrBrokeOff, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Found reads the events of a stream. Earlier is Found.Calls of the turn before.
func (s *Spec) Found(events []Event, earlier int) (Found, error) {
	r := s.stream(earlier)
	for _, e := range events {
		if last, err := r.Add(e.Name, []byte(e.Data)); err != nil {
			return Found{}, err
		} else if last {
			break
		}
	}
	return r.Found()
}

// stream begins to read a stream of HTTP.
func (s *Spec) stream(earlier int) *Reading {
	r := s.Read(earlier)
	r.streamed = true
	return r
}

// readsText reports whether the reply is taken from data as it is, be it JSON or not.
func (s *Spec) readsText() bool {
	return s.Stream != nil && s.Stream.Text != nil && s.Stream.Text.Path == "$" || s.Text != nil && s.Text.Path == "$"
}

// whole returns an error for an event that the end of the stream has cut, and for a line that is not JSON although
// paths need it.
func (s *Spec) whole(e sse.Event, f Format) error {
	lines := f == JSONL && !s.readsText() && string(e.Data) != doneData
	begun := e.Unended && bytes.IndexAny(bytes.TrimSpace(e.Data), `{["`) == 0 && string(e.Data) != doneData
	if !lines && !begun {
		return nil
	}
	if !utf8.Valid(e.Data) {
		return ErrUTF8
	}
	_, err := decode(e.Data)
	switch {
	case err == nil:
		return nil
	case e.Unended:
		return fmt.Errorf("%w in the middle of an event: %s", ErrBrokeOff, clip(string(e.Data), shownOfBody))
	case lines && s.Stream != nil && s.Stream.End != nil && s.Stream.End.data != nil &&
		string(e.Data) == *s.Stream.End.data:
		return nil
	}
	return notJSON(e.Data, err)
}

// bounded fails with ErrLarge when more than left bytes come, and keeps the beginning of what was read.
type bounded struct {
	r     io.Reader
	left  int
	begin []byte
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.left+1)])
	if room := 4*shownOfBody - len(b.begin); room > 0 {
		b.begin = append(b.begin, p[:min(n, room)]...)
	}
	if b.left -= n; b.left < 0 {
		return 0, ErrLarge
	}
	return n, err
}

// ReadAll reads a body of up to limit bytes. Its errors are ErrLarge and ErrBrokeOff.
func ReadAll(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case len(data) > limit:
		return nil, Large(limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBrokeOff, err)
	}
	return data, nil
}
