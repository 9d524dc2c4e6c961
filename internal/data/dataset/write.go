package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// IsLines reports whether a file's name says that it has a record on each line, which is what can be written.
func IsLines(file string) bool {
	ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(file, ".gz")))
	return ext == ".jsonl" || ext == ".ndjson"
}

// JSON returns a value as JSON in which <, > and & stay as they are.
func JSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Response returns an expected output that says in words what a good answer is.
func Response(text string) json.RawMessage {
	expected, _ := JSON(map[string]string{"response": text}) // a text always encodes
	return expected
}

// Encode writes records as JSON Lines.
func Encode(w io.Writer, records []Record) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range records {
		if err := encoder.Encode(&records[i]); err != nil {
			return fmt.Errorf("write the item %q: %w", records[i].ID, err)
		}
	}
	return nil
}

// Write writes records to a file of JSON Lines, packed when it ends in .gz. The file comes about whole, in place of the
// one that was there, or stays as it was.
func Write(file string, records []Record) error {
	return WriteWith(file, func(w io.Writer) error { return Encode(w, records) })
}

// WriteWith is Write for records that write encodes, so that not all of them are in memory at once.
func WriteWith(file string, write func(io.Writer) error) (err error) {
	if !IsLines(file) {
		return fmt.Errorf("%s: items are written as JSON Lines only: call it .jsonl or .jsonl.gz", file)
	}
	mode := fs.FileMode(0o600)
	if actual, err := filepath.EvalSymlinks(file); err == nil {
		info, err := os.Stat(actual)
		if err != nil || !info.Mode().IsRegular() {
			return errors.Join(fmt.Errorf("%s is no regular file: name another one", file), err)
		}
		file, mode = actual, info.Mode().Perm()
	}
	temp := fmt.Sprintf("%s.%x.tmp", file, rand.Uint64())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write the items: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write the items: %w", err), os.Remove(temp))
		}
	}()
	if err := errors.Join(writePacked(f, strings.HasSuffix(file, ".gz"), write), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// writePacked calls write with what leads to a file, through gzip where that is wanted.
func writePacked(f io.Writer, packed bool, write func(io.Writer) error) error {
	buffered := bufio.NewWriter(f)
	if !packed {
		return errors.Join(write(buffered), buffered.Flush())
	}
	packing := gzip.NewWriter(buffered)
	return errors.Join(write(packing), packing.Close(), buffered.Flush())
}

// replace gives a file other content: a temporary file beside it takes its name once it is written and on the disk.
func replace(file string, content []byte) error {
	return WriteWith(file, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
