package source

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Open opens a file for reading. One whose name ends in .gz is unpacked on the way. The caller closes it.
func Open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return file, err
	}
	return unpacked(file, path)
}

// unpacked reads a file as its name says.
func unpacked(file *os.File, name string) (io.ReadCloser, error) {
	if !strings.HasSuffix(name, ".gz") {
		return file, nil
	}
	content, err := gzip.NewReader(bufio.NewReaderSize(file, 64<<10))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("not a gzip file: %w", err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{content, file}, nil
}

// OpenBounded opens a file as Open does. Reading fails, rather than ends, behind so many bytes.
func OpenBounded(path string, most int64) (io.ReadCloser, error) {
	return Files{}.OpenBounded(path, most)
}

// OpenBounded is OpenBounded for these files.
func (f Files) OpenBounded(name string, most int64) (io.ReadCloser, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := unpacked(file, name)
	if err != nil {
		return nil, err
	}
	if content != io.ReadCloser(file) {
		content = f.Unpacked(content)
	}
	return &bounded{content, most, most}, nil
}

type bounded struct {
	io.ReadCloser
	most, left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("larger than %d MB", b.most>>20)
	}
	return n, err
}
