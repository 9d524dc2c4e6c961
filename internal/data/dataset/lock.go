package dataset

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// lockWait is how long a file that somebody else writes is waited for.
const lockWait = 10 * time.Second

// lock keeps two processes from adding to one file at once: the later one waits. What excludes the other is a lock of
// the operating system on a file beside it, which ends with its process, however the process ends. A lock file that a
// killed process has left locks nothing.
func lock(file string) (unlock func(), err error) {
	type taken struct {
		unlock func()
		err    error
	}
	got, gaveUp := make(chan taken), make(chan struct{})
	go func() {
		unlock, err := lockFile(file + ".lock")
		select {
		case got <- taken{unlock, err}:
		case <-gaveUp:
			if err == nil {
				unlock()
			}
		}
	}()
	timer := time.NewTimer(lockWait)
	defer timer.Stop()
	select {
	case t := <-got:
		if t.err != nil {
			return nil, fmt.Errorf("write %s: %w", file, t.err)
		}
		return t.unlock, nil
	case <-timer.C:
		close(gaveUp)
		return nil, fmt.Errorf(
			"%s is being written by another program that does not come to an end: end that program, then try again",
			file)
	}
}

// lockFile makes and locks the file of that name; unlock removes it. Whoever waited for a file that is removed by then
// takes the one that stands in its place.
func lockFile(name string) (unlock func(), err error) {
	for {
		f, err := lockedfile.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if named(f, name) {
			return func() {
				_ = os.Remove(name) // some systems keep an open file; it is empty and locks nothing
				_ = f.Close()
			}, nil
		}
		if err := f.Close(); err != nil {
			return nil, errors.Join(fmt.Errorf("give back %s", name), err)
		}
	}
}

// named reports whether an open file still has its name.
func named(f *lockedfile.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there)
}
