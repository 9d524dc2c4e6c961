package runindex

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// ClassificationFile is the report of a classifier, ItemsFile has a line for each of its items.
const (
	ClassificationFile = "classification.json"
	ItemsFile          = "items.jsonl"
)

// Classification is a folder with the report of a classifier. ID is the folder's name.
type Classification struct{ ID, Dir string }

// Classifications returns the reports of classifiers among the folders, by their names. Of two folders of one name the
// first counts.
func (a *Archive) Classifications() (found []Classification) {
	a.mu.Lock()
	dirs := slices.Clone(a.dirs)
	roots, from := slices.Clone(a.roots), slices.Clone(a.more)
	a.mu.Unlock()
	for _, more := range from {
		dirs = append(dirs, more()...)
	}
	for _, root := range roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue // it is not there yet
		}
		for _, e := range entries {
			dirs = append(dirs, filepath.Join(root, e.Name()))
		}
	}
	for _, dir := range dirs {
		id := filepath.Base(dir)
		if isClassification(dir) && !slices.ContainsFunc(found, func(c Classification) bool { return c.ID == id }) {
			found = append(found, Classification{id, dir})
		}
	}
	slices.SortFunc(found, func(a, b Classification) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

func isClassification(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ClassificationFile))
	return err == nil && info.Mode().IsRegular()
}
