package dataset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// open returns the file's content, unpacked if it ends in .gz.
func open(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(file, ".gz") {
		return opened{&bounded{f, maxFileBytes}, f}, nil
	}
	unpacked, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("not a gzip file: %w", err), f.Close())
	}
	return opened{&bounded{unpacked, maxFileBytes}, f}, nil
}

type opened struct {
	io.Reader
	io.Closer
}

// bounded fails, rather than ends, behind so many bytes.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("larger than %d MB", maxFileBytes>>20)
	}
	return n, err
}
