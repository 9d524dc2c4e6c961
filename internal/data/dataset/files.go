package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

const (
	// maxFileBytes bounds a file of lines, unpacked; a .json file is bounded by source.MaxBytes.
	maxFileBytes = 1 << 30
	maxLineBytes = 16 << 20
	// maxCommas bounds the values of a .json file, which are all in memory at once.
	maxCommas = 4_000_000
)

// records yields the records of a file as its name says to read it. Errors may be source.Problems; reading goes on
// behind a bad line.
func records(files source.Files, file string) iter.Seq2[source.Value, error] {
	return func(yield func(source.Value, error) bool) {
		f, err := files.OpenBounded(file, maxFileBytes)
		if err != nil {
			yield(source.Value{}, err)
			return
		}
		defer func() { _ = f.Close() }() // nothing was written
		switch strings.ToLower(filepath.Ext(strings.TrimSuffix(file, ".gz"))) {
		case ".jsonl", ".ndjson":
			readLines(files, file, f, yield)
		case ".json":
			readList(files, file, f, yield)
		case ".csv":
			readTable(files, file, f, yield)
		default:
			yield(source.Value{}, source.Problems{{
				File: file, Message: "the name does not say how to read the file",
				Hint: "call it .jsonl, .json or .csv, each also with .gz behind",
			}})
		}
	}
}

// readLines reads JSON Lines; empty lines are skipped.
func readLines(files source.Files, file string, f io.Reader, yield func(source.Value, error) bool) {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	for number := 1; lines.Scan(); number++ {
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !yield(files.ParseJSON(file, line, number)) {
			return
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a line is longer than %d MB", maxLineBytes>>20)
	}
	if err != nil {
		yield(source.Value{}, err)
	}
}

// readList reads a JSON file: a list of records, or an object with such a list as its only entry.
func readList(files source.Files, file string, f io.Reader, yield func(source.Value, error) bool) {
	data, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	switch {
	case err != nil:
		yield(source.Value{}, err)
		return
	case len(data) > source.MaxBytes || bytes.Count(data, []byte(",")) > maxCommas:
		yield(source.Value{}, errors.New("too large to be read at once: keep the records in a .jsonl file"))
		return
	}
	root, err := files.ParseJSON(file, bytes.TrimPrefix(data, []byte("\ufeff")), 1)
	if err != nil {
		problems := asProblems(file, err)
		problems[0].Hint = "check the quotes, commas and brackets here"
		yield(source.Value{}, problems)
		return
	}
	if root.Kind == source.Map && len(root.Fields) == 1 {
		root = root.Fields[0].Value
	}
	if root.Kind != source.List {
		yield(source.Value{}, source.Problems{{
			File: file, Line: root.Line, Column: root.Column,
			Message: fmt.Sprintf("expected a list of records, got %s", root.Kind), Hint: "write [{…}, {…}]",
		}})
		return
	}
	for _, item := range root.Items {
		if !yield(item, nil) {
			return
		}
	}
}

// asProblems returns an error about a file as problems that name it.
func asProblems(file string, err error) source.Problems {
	if problems, ok := errors.AsType[source.Problems](err); ok {
		return problems
	}
	hint := "check the file"
	switch pathError, ok := errors.AsType[*fs.PathError](err); {
	case ok:
		err, hint = pathError.Err, "name a file that you may read"
	case errors.Is(err, io.ErrUnexpectedEOF):
		err, hint = errors.New("the file ends in the middle"), "copy it again, completely"
	}
	return source.Problems{{File: file, Message: err.Error(), Hint: hint}}
}
