package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/replay"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxValue bounds the bytes of one row of JSON.
const maxValue = 64 << 20

// value is a row of JSON, or why it is none.
type value struct {
	line     int
	raw      json.RawMessage
	rejected replay.Reject
}

// whole matches the begin of JSON that is one document rather than a row a line.
var whole = text.Regexp(`^\s*(\[|\{\s*"(data|resourceSpans)"\s*:\s*\[)`)

// values yields the rows of JSON Lines, or the elements of a list, of `data` or of `resourceSpans` in one or several
// documents. Reading a document ends at invalid JSON; a bad line is skipped.
func values(r *bufio.Reader) iter.Seq2[value, error] {
	if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = r.Discard(3) // which is buffered
	}
	if begin, _ := r.Peek(looked); whole().Match(begin) {
		return documents(r)
	}
	return func(yield func(value, error) bool) {
		for line, err := range replay.Lines(r, maxValue) {
			if err != nil {
				yield(value{}, err)
				return
			}
			v := value{line: line.Number, raw: line.Text}
			switch {
			case line.Long:
				v.rejected = replay.Reject{
					Line: line.Number, Kind: replay.TooLong,
					Reason: fmt.Sprintf("the line is longer than %d MB", maxValue>>20),
				}
			case !json.Valid(line.Text):
				v.rejected = replay.Reject{Line: line.Number, Kind: replay.NotJSON, Reason: "the line is not JSON"}
			case line.Text[0] != '{':
				v.rejected = replay.Reject{
					Line: line.Number, Kind: replay.NotAnObject, Reason: "the line is no JSON object",
				}
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// documents yields the elements of lists in documents that follow one another. Rows are numbered by their place.
func documents(r io.Reader) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		d := json.NewDecoder(r)
		n := 0
		one := func() (more bool, err error) {
			n++
			v := value{line: n}
			if err := d.Decode(&v.raw); err != nil {
				return false, err
			}
			if text := bytes.TrimSpace(v.raw); len(text) == 0 || text[0] != '{' {
				v.rejected = replay.Reject{Line: n, Kind: replay.NotAnObject, Reason: "the element is no JSON object"}
			} else if len(text) > maxValue {
				v.rejected = replay.Reject{
					Line: n, Kind: replay.TooLong,
					Reason: fmt.Sprintf("the element is longer than %d MB", maxValue>>20),
				}
			}
			return yield(v, nil), nil
		}
		for {
			more, err := document(d, one)
			switch {
			case errors.Is(err, errNoMore):
				return
			case err != nil && syntax(err):
				yield(value{rejected: replay.Reject{
					Line: n, Kind: replay.NotJSON, Reason: "the document is not JSON from here on: " + err.Error(),
				}}, nil)
				return
			case err != nil:
				yield(value{}, err)
				return
			case !more:
				return
			}
		}
	}
}

var errNoMore = errors.New("the documents have ended")

// syntax reports whether an error is one of what was read, not of reading.
func syntax(err error) bool {
	_, wrong := errors.AsType[*json.SyntaxError](err)
	return wrong || errors.Is(err, io.ErrUnexpectedEOF)
}

// document reads one document: each element of its list by one, until that wants no more.
func document(d *json.Decoder, one func() (bool, error)) (more bool, err error) {
	opening, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return false, errNoMore
	case err != nil:
		return false, err
	case opening == json.Delim('['):
		return elements(d, one)
	case opening != json.Delim('{'):
		return true, nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false, ended(err)
		}
		if key != "data" && key != "resourceSpans" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return false, ended(err)
			}
			continue
		}
		if opening, err = d.Token(); err != nil || opening != json.Delim('[') {
			return false, errors.Join(ended(err), io.ErrUnexpectedEOF)
		}
		if more, err := elements(d, one); err != nil || !more {
			return more, err
		}
	}
	_, err = d.Token() // the end of the object
	return true, ended(err)
}

func elements(d *json.Decoder, one func() (bool, error)) (more bool, err error) {
	for d.More() {
		if more, err := one(); err != nil || !more {
			return false, ended(err)
		}
	}
	_, err = d.Token() // the end of the list
	return true, ended(err)
}

// ended makes a document that ends too early one that is no JSON.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
