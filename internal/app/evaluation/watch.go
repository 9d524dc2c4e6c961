package evaluation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// watchInterval is how often files are looked at; polling works on every file system.
const watchInterval = 500 * time.Millisecond

// Watch tells when the inputs of suites change: the content, or the set, of the files beside them. Make it with
// NewWatch. One goroutine uses it.
type Watch struct {
	suites []string
	except []string
	seen   map[string]watched
	last   string
}

// watched is a file as it was read last.
type watched struct {
	size    int64
	changed time.Time
	sum     string
}

// NewWatch returns a Watch of suites as they are now. What the runs write themselves, such as a recording, is named in
// except.
func NewWatch(suites []string, except ...string) *Watch {
	w := &Watch{suites: suites, seen: map[string]watched{}}
	for _, name := range except {
		if path, err := filepath.Abs(name); err == nil && name != "" {
			w.except = append(w.except, path)
		}
	}
	w.last = w.sum()
	return w
}

// Changed waits for a change since the last call, or since NewWatch. It returns the cause of ctx when that ends before.
func (w *Watch) Changed(ctx context.Context) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		if now := w.sum(); now != w.last {
			w.last = now
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// sum returns a hash of the names and contents of the files beside the suites, results left out.
func (w *Watch) sum() string {
	h := sha256.New()
	folders := map[string]bool{}
	for _, name := range w.suites {
		files, err := suite.Find(source.Files{}, name)
		if err != nil {
			continue // a suite that is not there now may come back
		}
		for _, file := range files {
			folders[filepath.Dir(file)] = true
		}
	}
	for _, folder := range wire.Names(folders) { // in order, so that nothing but a change changes the sum
		// What cannot be read counts as not there.
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // a file that vanishes while we look is a change like any other
			case d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || runlog.IsRun(path)):
				return filepath.SkipDir
			case !d.IsDir() && isInput(path) && !w.isOwn(path):
				fmt.Fprintln(h, path, w.content(path, d))
			}
			return nil
		})
	}
	return fingerprint.Short(h)
}

// isOwn reports whether the runs write the file themselves.
func (w *Watch) isOwn(path string) bool {
	whole, err := filepath.Abs(path)
	return err == nil && slices.Contains(w.except, whole)
}

// content returns the hash of a file. It reads the file only when its size or its time is new.
func (w *Watch) content(path string, d fs.DirEntry) string {
	info, err := d.Info()
	if err != nil {
		return ""
	}
	if was, ok := w.seen[path]; ok && was.size == info.Size() && was.changed.Equal(info.ModTime()) {
		return was.sum
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	_ = file.Close() // nothing was written
	if err != nil {
		return ""
	}
	w.seen[path] = watched{info.Size(), info.ModTime(), fingerprint.Short(h)}
	return w.seen[path].sum
}

// isInput reports whether a run may read a file of this kind; logs, for one, must not start another run.
func isInput(path string) bool {
	extension := filepath.Ext(strings.TrimSuffix(path, ".gz"))
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv", ".md", ".prompt", ".sh", ".py", ".js"},
		extension)
}
