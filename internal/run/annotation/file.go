package annotation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// File is where the annotations of a run stand in its folder, a JSON object a line.
const File = runlog.AnnotationFile

// Limits of a file: of a line, and of the annotations that are read.
const (
	maxLine = 1 << 20
	maxRead = 100_000
)

// Append adds annotations to the file in the folder of their run. Several processes may add at the same time. A line
// that was cut off by a crash is ended first.
func Append(dir string, of ...Annotation) (err error) {
	var lines []byte
	for _, a := range of {
		a.RunID = ""
		line, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("annotation: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	path := filepath.Join(dir, File)
	// a folder may come from others: nothing is written where a link leads
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("annotation: %s is no file", path)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if size, err := file.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			lines = append([]byte("\n"), lines...)
		}
	}
	if _, err := file.Write(lines); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	return file.Sync()
}

// Read returns the annotations in the folder of a run, and how many lines are none. A folder without the file has none.
func Read(dir string) (all []Annotation, unreadable int, err error) {
	path := filepath.Join(dir, File)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("annotations: %w", err)
	case !info.Mode().IsRegular(): // opening a pipe waits for somebody who writes to it
		return nil, 0, fmt.Errorf("annotations: %s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("annotations: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReader(file)
	for {
		line, long, err := readLine(lines)
		if a := parse(line); a != nil && len(all) < maxRead {
			all = append(all, *a)
		} else if long || len(bytes.TrimSpace(line)) > 0 {
			unreadable++
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, unreadable, nil
		case err != nil:
			return all, unreadable, fmt.Errorf("annotations: %w", err)
		}
	}
}

// parse reads a line; nil is one that is no annotation.
func parse(line []byte) *Annotation {
	var a Annotation
	if json.Unmarshal(line, &a) != nil || a.Kind == "" || a.TestID == "" || a.known() != nil {
		return nil
	}
	return &a
}

// readLine returns the next line. It keeps none that has more than maxLine bytes; long is true for such a line.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
