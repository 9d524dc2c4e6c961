package runlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// LockFile is the file in the folder of a run that its writer keeps locked. It holds the writer's process number.
const LockFile = ".lock"

// BusyError says that another process is writing the run in a folder.
type BusyError struct {
	// ID is the run's; empty when its record cannot be read.
	ID string
	// PID is the number of the writing process, 0 when it is not known.
	PID int
}

func (e *BusyError) Error() string {
	what := "the run"
	if e.ID != "" {
		what = "run " + e.ID
	}
	if e.PID == 0 {
		return what + " is under way"
	}
	return fmt.Sprintf("%s is under way (pid %d)", what, e.PID)
}

// Lock is the right to write the run in a folder. It ends with its process, however the process ends.
type Lock struct{ file *flock.Flock }

// lockWait outlasts a reader who looks whether the lock is held.
const lockWait = 300 * time.Millisecond

// AcquireLock takes the lock of the folder, which must be there. It returns a *BusyError when another process has it.
func AcquireLock(ctx context.Context, dir string) (*Lock, error) {
	path := filepath.Join(dir, LockFile)
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	file := flock.New(path, flock.SetPermissions(0o600))
	switch taken, err := file.TryLockContext(ctx, lockWait/20); {
	case errors.Is(err, context.DeadlineExceeded):
		run, _ := ReadRun(dir) // a run without a record has no ID
		return nil, &BusyError{ID: run.ID, PID: writerOf(path)}
	case err != nil || !taken:
		return nil, fmt.Errorf("lock %s, so that no other run writes there (choose another folder with --out): %w",
			path, err)
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &Lock{file}, nil
}

// writerOf returns the process number in a lock file, 0 when there is none.
func writerOf(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

// Release gives the lock back. The file stays.
func (l *Lock) Release() error { return l.file.Close() }

// Locked reports whether some process is writing the run in a folder. A lock that cannot be looked at counts as held.
func Locked(dir string) bool {
	path := filepath.Join(dir, LockFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	file := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if err != nil || !free {
		return true
	}
	return file.Close() != nil
}
