package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

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

// ReadPlayedFile reads replays that were made elsewhere from a file of JSON Lines, also packed as .gz. The error names
// file and line.
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
