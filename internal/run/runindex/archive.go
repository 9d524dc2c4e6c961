// Package runindex finds the runs that can be looked at and keeps an index of each in memory, which grows with its run.
// It only reads.
package runindex

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Latest stands for the newest run where an id is asked for.
const Latest = "latest"

// Archive knows runs by their folders. It is safe for concurrent use. Make it with New.
type Archive struct {
	now func() time.Time

	mu    sync.Mutex
	roots []string
	dirs  []string
	more  []func() []string
	byDir map[string]*Run // by folder
	runs  []*Found
	by    map[string]*Found
	seen  time.Time
	as    []time.Time // when the roots were changed, as they were seen
	bad   []string
}

// Found is a run with its record as it was when runs were last looked for.
type Found struct {
	*Run
	Record result.Run
	// Twin is the name of another folder of the same run, which ended at the same time with other figures; empty where
	// there is none.
	Twin string
}

// findEvery is how often folders are looked through; a new folder in them is seen at once.
const findEvery = 500 * time.Millisecond

// New returns an archive without runs. A nil now means time.Now.
func New(now func() time.Time) *Archive {
	if now == nil {
		now = time.Now
	}
	return &Archive{now: now, byDir: map[string]*Run{}}
}

// AddRoot adds a folder of runs: those in it, and those that come later. It need not be there yet.
func (a *Archive) AddRoot(dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roots, a.seen = append(a.roots, dir), time.Time{}
}

// Add adds the folder of one run.
func (a *Archive) Add(dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dirs, a.seen = append(a.dirs, dir), time.Time{}
}

// AddFrom adds runs whose folders a function names whenever runs are looked for. It must be quick.
func (a *Archive) AddFrom(folders func() []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.more, a.seen = append(a.more, folders), time.Time{}
}

// IsRun reports whether a folder is that of a run.
func IsRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, runlog.RunFile))
	return err == nil && info.Mode().IsRegular()
}

// Runs returns all runs, newest first. Unreadable are the names of folders whose run.json cannot be read.
func (a *Archive) Runs() (runs []*Found, unreadable []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.find()
	return a.runs, a.bad
}

// Find returns the run with an id, the one whose id alone begins with it, or for Latest the newest; nil if there is
// none.
func (a *Archive) Find(id string) *Found {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.find()
	if id == Latest && len(a.runs) > 0 {
		return a.runs[0]
	}
	return a.by[id]
}

// find looks through the folders. a.mu is held.
func (a *Archive) find() {
	now, changed := a.now(), a.changed()
	if now.Sub(a.seen) < findEvery && !a.seen.IsZero() && slices.EqualFunc(changed, a.as, time.Time.Equal) {
		return
	}
	a.seen, a.as = now, changed
	a.runs, a.by, a.bad = nil, map[string]*Found{}, nil
	known := map[string]*Run{}
	for _, dir := range a.folders() {
		run := a.byDir[dir]
		if run == nil {
			run = &Run{Dir: dir, now: a.now}
		}
		known[dir] = run
		record, err := run.Record()
		if err != nil {
			a.bad = append(a.bad, filepath.Base(dir))
			continue
		}
		if record.ID == "" {
			record.ID = filepath.Base(dir)
		}
		a.take(&Found{Run: run, Record: record})
	}
	a.byDir = known
	for _, f := range a.by {
		a.runs = append(a.runs, f)
	}
	slices.SortFunc(a.runs, func(x, y *Found) int {
		return cmp.Or(y.Record.StartedAt.Compare(x.Record.StartedAt), strings.Compare(y.Record.ID, x.Record.ID))
	})
}

// changed returns when each folder of runs was changed last.
func (a *Archive) changed() []time.Time {
	times := make([]time.Time, len(a.roots))
	for i, root := range a.roots {
		if info, err := os.Stat(root); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// take takes a run. Of several folders of one run the one counts that has ended, then the one that ended last, then the
// first.
func (a *Archive) take(f *Found) {
	before := a.by[f.Record.ID]
	switch {
	case before == nil:
		a.by[f.Record.ID] = f
	case f.ended() != before.ended():
		if f.ended() {
			a.by[f.Record.ID] = f
		}
	case f.Record.EndedAt.After(before.Record.EndedAt):
		a.by[f.Record.ID] = f
	case f.Record.EndedAt.Equal(before.Record.EndedAt) && f.ended() && f.outcome() != before.outcome():
		before.Twin = filepath.Base(f.Dir)
	}
}

func (f *Found) ended() bool { return f.Record.ExitCode != nil }

// outcome is what two folders of a run that has ended must agree on.
func (f *Found) outcome() [5]int {
	t := f.Record.Totals
	return [5]int{f.Record.Code(), t.Tests, t.Passed, t.Failed, t.Errors}
}

// folders returns the folders of all runs.
func (a *Archive) folders() []string {
	var found []string
	for _, root := range a.roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue // it is not there yet
		}
		for _, e := range entries {
			if dir := filepath.Join(root, e.Name()); IsRun(dir) {
				found = append(found, dir)
			}
		}
	}
	named := slices.Clip(a.dirs)
	for _, more := range a.more {
		named = append(named, more()...)
	}
	for _, dir := range named {
		if IsRun(dir) && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}
