package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"rehearse/internal/source"
)

// ReadFiles yields the events of files one after the other: CSV where the name ends in .csv, else JSON Lines, each also packed as .gz.
// Rows that are no events go to rejected. An error names its file and is the last that is yielded.
func ReadFiles(files []string, rejected func(file string, r Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, file := range files {
			for e, err := range readFile(file, func(r Reject) { rejected(file, r) }) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

func readFile(file string, rejected func(Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := source.Open(file)
		if err != nil {
			yield(Event{}, fmt.Errorf("%s: %w", file, err))
			return
		}
		defer func() { _ = f.Close() }() // it was only read
		read := ReadJSONL
		if strings.HasSuffix(strings.ToLower(strings.TrimSuffix(file, ".gz")), ".csv") {
			read = ReadCSV
		}
		for e, err := range read(f, rejected) {
			if err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// WriteJSONL writes events as JSON Lines, which ReadJSONL reads. After an error the events before it are written.
func WriteJSONL(w io.Writer, events iter.Seq2[Event, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for e, err := range events {
		if err == nil {
			err = encoder.Encode(e)
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}

// ReadPlayedFile reads replays that were made elsewhere from a file of JSON Lines, also packed as .gz. The error names file and line.
func ReadPlayedFile(file string) ([]Played, error) {
	f, err := source.Open(file)
	if err != nil {
		return nil, source.Invalid("%s: %w", file, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	played, err := ReadPlayed(f)
	if err != nil {
		return nil, source.Invalid("%s: %w", file, err)
	}
	return played, nil
}
