package report

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxKept is the size of a log, in bytes, up to which its records are kept in memory.
const maxKept = 4 << 20

// Records returns the records of the log in a folder. Those of a log of up to 4 MiB are decoded once, however often
// they are read, unless the log has grown since.
func Records(dir string) runlog.Tests {
	var mu sync.Mutex
	var all []*result.Test
	size := int64(-1) // of the log that all is from
	read := func(now int64) ([]*result.Test, error) {
		mu.Lock()
		defer mu.Unlock()
		if size == now {
			return all, nil
		}
		all, size = nil, -1
		for t, err := range runlog.Read(dir) {
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		size = now
		return all, nil
	}
	return func(yield func(*result.Test, error) bool) {
		info, err := os.Stat(filepath.Join(dir, runlog.LogFile))
		if err != nil || info.Size() > maxKept {
			runlog.Read(dir)(yield)
			return
		}
		records, err := read(info.Size())
		if err != nil {
			yield(nil, err)
			return
		}
		for _, t := range records {
			if !yield(t, nil) {
				return
			}
		}
	}
}
