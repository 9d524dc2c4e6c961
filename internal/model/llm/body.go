package llm

import (
	"errors"
	"io"
)

const (
	// maxBody bounds one answer, in bytes, whether it comes whole or as a stream.
	maxBody = 8 << 20
	// maxReason is how much is read of an answer that is no success, in bytes.
	maxReason = 64 << 10
)

var errTooLarge = errors.New("the answer is larger than 8 MB")

// boundedBody fails with errTooLarge when more than left bytes are read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
