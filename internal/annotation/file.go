package annotation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rehearse/internal/runlog"
)

// File is where the annotations of a run stand in its folder, a JSON object a line.
const File = runlog.AnnotationFile

// Limits of a file: of a line, and of the annotations that are read.
const (
	maxLine = 1 << 20
	maxRead = 100_000
)

// Append adds an annotation to the file in the folder of its run. Several processes may add at the same time. A line that was cut off by a crash is
// ended first.
func Append(dir string, a Annotation) (err error) {
	a.RunID = ""
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if size, err := file.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("annotation: %w", err)
	}
	return file.Sync()
}

// Read returns the annotations in the folder of a run, and how many lines are none. A folder without the file has none.
func Read(dir string) (all []Annotation, unreadable int, err error) {
	file, err := os.Open(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("annotations: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for lines.Scan() && len(all) < maxRead {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var a Annotation
		if json.Unmarshal(lines.Bytes(), &a) != nil || a.Kind == "" || a.TestID == "" {
			unreadable++
			continue
		}
		all = append(all, a)
	}
	if err := lines.Err(); err != nil {
		return all, unreadable, fmt.Errorf("annotations: %w", err)
	}
	return all, unreadable, nil
}
