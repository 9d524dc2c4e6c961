package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// textFile is a file to be taken in. The ids of its passages begin with its name.
type textFile struct {
	name string
	open func() (fs.File, error)
}

// passage is a piece of a file.
type passage struct {
	id, text string
	line     int
}

const kindsHint = "knowledge bases take .md, .txt and .jsonl files in UTF-8"

// splitter cuts a text into passages.
type splitter func(name, text string) ([]passage, source.Problems)

// splitterFor returns how a kind of file is cut, by the end of its name; nil when the kind has no passages.
func splitterFor(name string) splitter {
	switch strings.ToLower(path.Ext(name)) {
	case ".md":
		return func(name, text string) ([]passage, source.Problems) { return splitMarkdown(name, text), nil }
	case ".txt":
		return func(name, text string) ([]passage, source.Problems) { return splitText(name, text), nil }
	case ".jsonl":
		return splitLines
	}
	return nil
}

// passages reads a file. A fault that its author can fix is in a source.Problems, with every fault found.
func (f textFile) passages(limit int64) ([]passage, error) {
	split := splitterFor(f.name)
	if split == nil {
		return nil, fault(f.name, kindsHint, "this kind of file has no passages")
	}
	text, err := f.read(limit)
	if err != nil {
		return nil, err
	}
	found, problems := split(f.name, text)
	return found, problems.Err()
}

// read returns the text of a file with "\n" as line ends and no byte order mark.
func (f textFile) read(limit int64) (text string, err error) {
	file, err := f.open()
	if err != nil {
		return "", unreadable(f.name, err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return "", unreadable(f.name, err)
	case int64(len(data)) > limit:
		return "", fault(f.name, "split it into several files", "the file is larger than %d MB", limit>>20)
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "", faultAt(f.name, 1, 1, "save it as UTF-8", "the file is UTF-16")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if at := bytes.IndexByte(data, 0); at >= 0 {
		line, column := positionOf(data, at)
		return "", faultAt(f.name, line, column, kindsHint, "the file is binary: it has a zero byte")
	}
	if at := brokenAt(data); at >= 0 {
		line, column := positionOf(data, at)
		return "", faultAt(f.name, line, column, "save it as UTF-8", "the file is not UTF-8 text")
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), nil
}

// fault makes an error that an author can correct.
func fault(file, hint, format string, args ...any) error {
	return faultAt(file, 0, 0, hint, format, args...)
}

func faultAt(file string, line, column int, hint, format string, args ...any) error {
	return source.Problems{{File: file, Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

// unreadable says that a file or folder cannot be read. Its path is not repeated.
func unreadable(name string, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return fault(name, "check that it is there and that you may read it", "cannot be read: %v", err)
}

// brokenAt returns where data stops being UTF-8, or -1.
func brokenAt(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// positionOf returns the line and the character of an offset, from 1.
func positionOf(data []byte, at int) (line, column int) {
	before := data[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// maxFaults is how many faults of one file are worth reading.
const maxFaults = 20

// splitLines reads a passage from each line: {"id": …, "text": …, "title": …}. Other keys are passed over.
func splitLines(name, text string) ([]passage, source.Problems) {
	c := newCutter(name)
	reader := &source.Reader{File: name}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		value, err := source.ParseJSON(name, []byte(strings.TrimSuffix(line, "\n")), number)
		if problems, ok := errors.AsType[source.Problems](err); ok {
			reader.Problems = append(reader.Problems, problems...)
		} else {
			c.addLine(reader.Node(value, ""), number)
		}
		if len(reader.Problems) >= maxFaults {
			break
		}
	}
	return c.passages, reader.Problems
}

// addLine adds the passage that a line of JSON holds.
func (c *cutter) addLine(n source.Node, line int) {
	if n.Kind != source.Map {
		n.Report(`write {"id": …, "text": …} on each line`, "expected an object, got %s", n.Kind)
		return
	}
	for _, key := range []string{"id", "text"} {
		if !n.Has(key) {
			n.Report(fmt.Sprintf("add %q: …", key), "the line has no %q", key)
			return
		}
	}
	id, text, title := n.Field("id").Text(), n.Field("text").Text(), ""
	if n.Has("title") {
		title = n.Field("title").Text()
	}
	switch {
	case strings.TrimSpace(id) == "", utf8.RuneCountInString(id) > maxTitle:
		n.Field("id").Report("give each passage a short id of its own",
			"the id must have from 1 to %d characters", maxTitle)
	case c.used[id] > 0:
		n.Field("id").Report("give each passage an id of its own", "the id %q is there twice", id)
	case strings.TrimSpace(text) == "":
		n.Field("text").Report("write what agents shall find, or remove the line", "the text is empty")
	default:
		c.add(id, title, text, line)
	}
}
