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
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return file, err
	}
	unpacked, err := gzip.NewReader(bufio.NewReaderSize(file, 64<<10))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("not a gzip file: %w", err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, file}, nil
}

// OpenBounded opens a file as Open does. Reading fails, rather than ends, behind so many bytes.
func OpenBounded(path string, most int64) (io.ReadCloser, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	return &bounded{file, most, most}, nil
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
