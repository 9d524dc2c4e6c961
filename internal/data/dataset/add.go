package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Add puts the record that change returns into a file of JSON Lines, which is made if it is missing. change gets the
// record that has the id already, or nil. Every other line stays as it is written. A file with faults is left alone.
// Several processes may add to one file.
func Add(file, id string, change func(old *Record) (Record, error)) error {
	unlock, err := lock(file)
	if err != nil {
		return err
	}
	defer unlock()
	lines, old, err := linesOf(file, id)
	if err != nil {
		return err
	}
	r, err := change(old)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := Encode(&line, []Record{r}); err != nil {
		return err
	}
	if old != nil {
		lines[old.Line-1] = line.Bytes()
	} else {
		if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1], []byte("\n")) {
			lines[n-1] = append(bytes.Clone(lines[n-1]), '\n')
		}
		lines = append(lines, line.Bytes())
	}
	return replace(file, bytes.Join(lines, nil))
}

// linesOf returns the lines of a file, unpacked and with their breaks, and the record with an id. A file that is
// missing has none.
func linesOf(file, id string) (lines [][]byte, old *Record, err error) {
	if !IsLines(file) {
		return nil, nil, fmt.Errorf("%s: items are added to JSON Lines only: call it .jsonl or .jsonl.gz", file)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	c := collector{file: file}
	found := Record{}
	c.each(func(n source.Node) {
		if r := c.record(n); r.ID == id {
			found = r
		}
	})
	if err := c.err(); err != nil {
		return nil, nil, err
	}
	content, err := source.OpenBounded(file, maxFileBytes)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close()); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(data) > 0 {
		lines = bytes.SplitAfter(data, []byte("\n"))
		if last := len(lines) - 1; len(lines[last]) == 0 {
			lines = lines[:last]
		}
	}
	if found.ID == "" {
		return lines, nil, nil
	}
	return lines, &found, nil
}
