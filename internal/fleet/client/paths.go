package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// placed copies records and gives the files in which their tests were written the names that place has for them.
func placed(w io.Writer, r io.Reader, place func(file string) string) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, failed := w.Write(append(placedRecord(bytes.TrimSpace(line), place), '\n')); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// placedRecord returns a record with another name of its file. Its other members stay as they came, also those of a
// newer server. What is no record stays as it is: whoever reads it says so.
func placedRecord(line []byte, place func(file string) string) []byte {
	written := json.NewDecoder(bytes.NewReader(line))
	if open, err := written.Token(); err != nil || open != json.Delim('{') {
		return line
	}
	out := []byte{'{'}
	for written.More() {
		var value json.RawMessage
		name, err := written.Token()
		if err == nil {
			err = written.Decode(&value)
		}
		if err != nil {
			return line
		}
		if name == "source" {
			value = placedSource(value, place)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), value...)
	}
	if _, err := written.Token(); err != nil {
		return line
	}
	return append(out, '}')
}

func placedSource(value json.RawMessage, place func(file string) string) json.RawMessage {
	var at *result.Source
	if err := json.Unmarshal(value, &at); err != nil || at == nil || at.File == "" {
		return value
	}
	at.File = filepath.ToSlash(place(at.File))
	data, err := json.Marshal(at)
	if err != nil {
		return value
	}
	return data
}

// quoted returns a name as JSON writes it.
func quoted(name json.Token) []byte {
	data, err := json.Marshal(name)
	if err != nil {
		return fmt.Appendf(nil, "%q", name)
	}
	return data
}
