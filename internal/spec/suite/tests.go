package suite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxLineBytes bounds one line of a JSON Lines file.
const maxLineBytes = 16 << 20

// nodes yields the suite's tests unread, one at a time, from the suite or its files of tests.
func (l *loader) nodes() iter.Seq2[source.Node, error] {
	return func(yield func(source.Node, error) bool) {
		index := 0
		node := func(file string, v source.Value, err error) bool {
			reader := &source.Reader{File: file}
			index++
			if l.options.Seen != nil {
				l.options.Seen(v)
			}
			return yield(reader.Node(v, testsKey+"["+strconv.Itoa(index-1)+"]"), err)
		}
		if l.external == nil {
			for v := range l.list.All() {
				files, err := l.named(v)
				if files == nil && !node(l.tests.File(), v, err) || !each(files, node) {
					return
				}
			}
		}
		each(l.external, node)
	}
}

// each calls a function for each test of files, until it returns false. It reports whether it never did.
func each(files []*testFile, node func(file string, v source.Value, err error) bool) bool {
	for _, file := range files {
		for v, err := range file.read() {
			if !node(file.name, v, err) {
				return false
			}
		}
	}
	return true
}

// named returns the files of tests that an element of the list of tests names; none for a test.
func (l *loader) named(v source.Value) ([]*testFile, error) {
	path := strings.TrimPrefix(v.Scalar, "file://")
	if v.Kind != source.String || l.v1 != nil || path == v.Scalar && !readable(format(path)) &&
		!strings.ContainsAny(path, "*?[") {
		return nil, nil
	}
	if files, ok := l.inList[v.Scalar]; ok {
		return files, nil
	}
	files, err := l.testFiles(v.Scalar)
	if err != nil {
		return nil, source.Problems{{
			File: l.tests.File(), Path: testsKey, Line: v.Line, Column: v.Column,
			Message: "cannot read the tests: " + err.Error(), Hint: hintTestFiles,
		}}
	}
	l.inList[v.Scalar] = files // while the suite is validated; afterwards all are there
	return files, nil
}

// rowsOf returns the name of the cluster of the rows of a file: its path from the suite's folder where the suite has
// tests of several sources. Else it is empty: the rows of an only source are the tests of the suite, and clusters of
// their own. Tests that authors wrote in YAML are no rows.
func (l *loader) rowsOf(file string) string {
	if extension := format(file); l.rows == nil && extension != ".jsonl" && extension != ".csv" {
		return ""
	}
	files := len(l.external)
	for _, named := range l.inList {
		files += len(named)
	}
	if inline := l.list.Len() > len(l.inList); files < 2 && !(inline && files > 0) {
		return ""
	}
	name, err := filepath.Rel(l.dir, file)
	if err != nil {
		name = file
	}
	return filepath.ToSlash(name)
}

// testFile is a file of tests, or of rows of which a map makes tests.
type testFile struct {
	files source.Files
	name  string
	// mapped makes tests of rows; nil for a file of tests.
	mapped *rowMap
	// list holds the tests of a YAML or JSON file that was parsed.
	list   source.Packed
	parsed bool
}

// read yields the tests of the file. Errors are source.Problems; reading goes on behind a bad line.
func (f *testFile) read() iter.Seq2[source.Value, error] {
	if f.mapped != nil {
		return f.mapped.tests(f)
	}
	switch format(f.name) {
	case ".jsonl":
		return readLines(f.files, f.name)
	case ".csv":
		return readTable(f.files, f.name)
	}
	return func(yield func(source.Value, error) bool) {
		if !f.parsed {
			list, err := readList(f.files, f.name)
			if err != nil {
				yield(source.Value{}, err)
				return
			}
			f.list, f.parsed = list, true
		}
		for v := range f.list.All() {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// readList reads YAML or JSON: a list of tests, a mapping with tests, or a single test.
func readList(files source.Files, file string) (source.Packed, error) {
	data, err := readBounded(files, file, source.MaxBytes)
	if err != nil {
		return source.Packed{}, fileProblem(file, err)
	}
	root, list, err := parse(files, file, data)
	if err != nil {
		return source.Packed{}, err
	}
	tests, inMapping := root.Get(testsKey)
	if !inMapping {
		tests = root
	}
	for _, f := range root.Fields {
		if inMapping && f.Name != testsKey && f.Name != "name" && f.Name != "description" {
			return source.Packed{}, source.Problems{{
				File: file, Path: f.Name, Line: f.Line, Column: f.Column,
				Message: fmt.Sprintf("%q has no effect in a file of tests", f.Name),
				Hint:    "move it to the suite, or run this file as a suite of its own",
			}}
		}
	}
	if tests.Kind != source.List {
		return source.Pack([]source.Value{tests}), nil
	}
	return list, nil
}

// tooLarge returns the problem of a line or row that is too large to be read.
func tooLarge(file string, line int, what string) error {
	return source.Problems{{
		File: file, Line: line, Column: 1, Message: fmt.Sprintf("the %s is longer than %d MB", what, maxLineBytes>>20),
		Hint: "check that the file has one test per " + what + ", or shorten it",
	}}
}

// readLines reads JSON Lines; empty lines are skipped.
func readLines(files source.Files, file string) iter.Seq2[source.Value, error] {
	return func(yield func(source.Value, error) bool) {
		f, err := open(files, file)
		if err != nil {
			yield(source.Value{}, fileProblem(file, err))
			return
		}
		defer func() { _ = f.Close() }() // nothing was written
		lines := bufio.NewScanner(f)
		lines.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
		number := 1
		for ; lines.Scan(); number++ {
			line := lines.Bytes()
			if number == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			v, err := files.ParseJSON(file, line, number)
			if !yield(v, err) {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(source.Value{}, tooLarge(file, number, "line"))
		case err != nil:
			yield(source.Value{}, fileProblem(file, err))
		}
	}
}
