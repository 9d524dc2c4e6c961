package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
)

// WriteFile writes a file whole or not at all: write fills a temporary one beside it, which then takes its name.
// Neither an error nor the end of the process leaves half a file. It is not brought to disk at once: what it holds,
// such as a report, can be written again. A device or a pipe is written to as it is.
func WriteFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe) != 0 {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	return replaceFile(path, false, write)
}

// replaceFile is WriteFile. With toDisk a power cut leaves the whole old file or the whole new one, too.
func replaceFile(path string, toDisk bool, write func(io.Writer) error) (err error) {
	temp := fmt.Sprintf("%s.%x.tmp", path, rand.Uint64())
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	b := bufio.NewWriterSize(file, 64<<10)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil && toDisk {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
