package evaluation

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rehearse/internal/setup"
	"rehearse/internal/suite"
)

// Snapshot sums up names, sizes and times of the files beside the suites, results left out.
func Snapshot(suites []string) string {
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

// isInput reports whether a run may read a file of this kind; logs, for one, must not start another run.
func isInput(path string) bool {
	extension := filepath.Ext(strings.TrimSuffix(path, ".gz"))
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv", ".md", ".sh", ".py", ".js"}, extension)
}
