package setup

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
)

// Bytes reads a size such as 64MiB or 8GB, of at least one byte.
func Bytes(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size < 1 || size > math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size: write it such as 64MiB or 8GiB", text)
	}
	return int64(size), nil
}
