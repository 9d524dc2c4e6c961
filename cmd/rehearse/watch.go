package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/setup"
	"rehearse/internal/suite"
)

// watchInterval is how often files are looked at; polling works on every file system.
const watchInterval = 500 * time.Millisecond

// watching runs the suites again whenever a file in their folders changes, until the user stops it.
func (f *runFlags) watching(ctx context.Context, env *Env) error {
	for {
		before := snapshot(f.suites)
		err := outcome(f.run(ctx, env))
		var exit *exitError
		if errors.As(err, &exit) && exit.code == result.ExitInterrupted {
			return err
		}
		if err != nil && (exit == nil || exit.err != nil) {
			fmt.Fprintln(env.Stderr, "rehearse: "+err.Error())
		}
		f.out = "" // each run has its own folder
		fmt.Fprintln(env.Stderr, "rehearse: waiting for a change; Ctrl-C ends")
		tick := time.NewTicker(watchInterval)
		for changed := false; !changed; {
			select {
			case <-env.Signals:
				tick.Stop()
				return &exitError{code: result.ExitInterrupted}
			case <-ctx.Done():
				tick.Stop()
				return outcome(ctx.Err())
			case <-tick.C:
				changed = snapshot(f.suites) != before
			}
		}
		tick.Stop()
	}
}

// isRun reports whether a folder holds the results of a run.
func isRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, runlog.RunFile))
	return err == nil
}

// isInput reports whether a run may read a file of this kind; logs, for one, must not start another run.
func isInput(path string) bool {
	extension := filepath.Ext(strings.TrimSuffix(path, ".gz"))
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv", ".md", ".sh", ".py", ".js"}, extension)
}

// snapshot sums up names, sizes and times of the files beside the suites, results left out.
func snapshot(suites []string) string {
	var b strings.Builder
	folders := map[string]bool{}
	for _, name := range suites {
		files, err := suite.Find(name)
		if err != nil {
			continue
		}
		for _, file := range files {
			folders[filepath.Dir(file)] = true
		}
	}
	for _, folder := range setup.Names(folders) { // in order, so that nothing but a change changes the sum
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // a file that vanishes while we look is a change like any other
			}
			if d.IsDir() && path != folder && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if d.IsDir() && isRun(path) {
				return filepath.SkipDir
			}
			if info, err := d.Info(); err == nil && !d.IsDir() && isInput(path) {
				fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(&b, folder, err)
		}
	}
	return b.String()
}
