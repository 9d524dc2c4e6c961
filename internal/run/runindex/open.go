package runindex

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// runsDir is the folder of a project's runs, unless they are told otherwise.
const runsDir = ".rehearse/runs"

// maxNamed is how many known runs an error names.
const maxNamed = 10

// Open returns the archive of the runs that are named: by id, as Latest, by a run's folder, or by a folder of runs. Ids
// are those of the nearest folder .rehearse/runs at or above dir; without a name all runs in it are shown. One is the
// id of the only run that was named, else empty. A name that stands for nothing is source.Invalid.
func Open(named []string, dir string, now func() time.Time) (a *Archive, one string, err error) {
	root := nearest(dir)
	a = New(now)
	if len(named) == 0 {
		a.AddRoot(root)
		return a, "", nil
	}
	home := New(now)
	home.AddRoot(root)
	for _, name := range named {
		id, err := a.open(name, home)
		if err != nil {
			return nil, "", err
		}
		if len(named) == 1 {
			one = id
		}
	}
	return a, one, nil
}

// open adds what a name stands for. Id is that of a single run.
func (a *Archive) open(name string, home *Archive) (id string, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		dir, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		if IsRun(dir) || isClassification(dir) {
			a.Add(dir)
			return idIn(dir), nil
		}
		if !hasRuns(dir) {
			return "", source.Invalid("the folder %s has no run in it, nor is it one: %s", name, home.known())
		}
		a.AddRoot(dir)
		return "", nil
	}
	run, several := home.named(name)
	if run == nil {
		if several {
			return "", source.Invalid("several runs begin with %q: %s", name, home.known())
		}
		return "", source.Invalid("there is no run %q: %s", name, home.known())
	}
	a.Add(run.Dir)
	return run.Record.ID, nil
}

// idIn returns the id of the run in a folder; empty if its record cannot be read.
func idIn(dir string) string {
	one := New(nil)
	one.Add(dir)
	if runs, _ := one.Runs(); len(runs) == 1 {
		return runs[0].Record.ID
	}
	return ""
}

// named returns the run with an id, or whose id alone begins with it.
func (a *Archive) named(id string) (found *Found, several bool) {
	if run := a.Find(id); run != nil || id == "" {
		return run, false
	}
	runs, _ := a.Runs()
	for _, run := range runs {
		if strings.HasPrefix(run.Record.ID, id) {
			if found != nil {
				return nil, true
			}
			found = run
		}
	}
	return found, false
}

// known names the newest runs.
func (a *Archive) known() string {
	runs, _ := a.Runs()
	if len(runs) == 0 {
		return "there are no runs here; name the folder of one"
	}
	var ids []string
	for _, run := range runs[:min(len(runs), maxNamed)] {
		ids = append(ids, run.Record.ID)
	}
	if len(runs) > maxNamed {
		ids = append(ids, "…")
	}
	return "use latest, a folder, or " + strings.Join(ids, ", ")
}

// nearest returns the nearest folder of runs at or above a folder; the one that would be made there if there is none.
func nearest(dir string) string {
	start, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Join(dir, runsDir)
	}
	for at := start; ; {
		candidate := filepath.Join(at, runsDir)
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			return candidate
		}
		up := filepath.Dir(at)
		if up == at {
			return filepath.Join(start, runsDir)
		}
		at = up
	}
}

// hasRuns reports whether a run stands in a folder.
func hasRuns(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if below := filepath.Join(dir, e.Name()); IsRun(below) || isClassification(below) {
			return true
		}
	}
	return false
}
