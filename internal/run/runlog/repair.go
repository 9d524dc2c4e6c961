package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// repair makes the log end after a whole line and returns its size and how many bytes were moved to the file torn.
// A last line that is whole but for its line break gets one.
func repair(log *os.File, torn string) (size, moved int64, err error) {
	info, err := log.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	end, err := lastLineEnd(log, size)
	if err != nil || end == size {
		return size, 0, err
	}
	tail := io.NewSectionReader(log, end, size-end)
	if tail.Size() < maxLine {
		line, err := io.ReadAll(tail)
		if err != nil {
			return 0, 0, err
		}
		if json.Valid(line) {
			n, err := log.Write([]byte("\n"))
			return size + int64(n), 0, err
		}
	}
	if err := moveAside(tail, torn); err != nil {
		return 0, 0, err
	}
	if err := log.Truncate(end); err != nil {
		return 0, 0, err
	}
	return end, size - end, log.Sync()
}

// lastLineEnd returns where the last whole line ends: one past the last line break, or 0.
func lastLineEnd(r io.ReaderAt, size int64) (int64, error) {
	chunk := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(chunk)), 0)
		part := chunk[:end-start]
		if _, err := r.ReadAt(part, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// moveAside appends the tail and a line break to the file, and only returns once it is on disk.
func moveAside(tail *io.SectionReader, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := tail.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(file, tail); err != nil {
		return err
	}
	if _, err := file.WriteString("\n"); err != nil {
		return err
	}
	return file.Sync()
}
