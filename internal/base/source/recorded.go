package source

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// Recorded are the names of what was read through Files that record. It is safe for concurrent use.
type Recorded struct {
	top            string
	mu             sync.Mutex
	files, folders map[string]bool
}

// Recording returns the files of a whole disk, whose top is given, and what is read through them. Names are relative to
// the top, as those of Within are to their folder; an absolute name is an error.
func Recording(top string) (Files, *Recorded) {
	r := &Recorded{top: top, files: map[string]bool{}, folders: map[string]bool{}}
	return Files{recorded: r}, r
}

// ErrAbsolute says that a name begins at the top of the disk, where another machine has other files.
var ErrAbsolute = errors.New(
	"an absolute path: write it relative to the file that it stands in, so that a server finds the file")

// Files returns the names that were opened, in order. Some may be those of folders, or of nothing.
func (r *Recorded) Files() []string { return r.sorted(r.files) }

// Folders returns the names of folders that are read whole, in order.
func (r *Recorded) Folders() []string { return r.sorted(r.folders) }

func (r *Recorded) sorted(names map[string]bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(names))
}

// RecordFolder notes that everything in a folder is read, by whoever takes it by its path (OnDisk). It does nothing for
// files that do not record.
func (f Files) RecordFolder(folder string) {
	if f.recorded == nil || folder == "" {
		return
	}
	if name, err := inside("open", folder); err == nil {
		f.recorded.mu.Lock()
		defer f.recorded.mu.Unlock()
		f.recorded.folders[name] = true
	}
}

// path returns where the disk has a name.
func (f Files) path(op, name string) (string, error) {
	switch {
	case f.recorded == nil && f.input != "" && name == Stdin:
		return f.input, nil
	case f.recorded == nil:
		return name, nil
	case filepath.IsAbs(name):
		return "", &fs.PathError{Op: op, Path: name, Err: ErrAbsolute}
	}
	name, err := inside(op, name)
	return filepath.Join(f.recorded.top, name), err
}

// read is path for a file that is read now.
func (f Files) read(op, name string) (string, error) {
	path, err := f.path(op, name)
	if err == nil && f.recorded != nil {
		f.recorded.mu.Lock()
		defer f.recorded.mu.Unlock()
		f.recorded.files[filepath.Clean(name)] = true
	}
	return path, err
}

// named returns the name of a path.
func (f Files) named(path string) string {
	if f.recorded == nil {
		return path
	}
	if name, err := filepath.Rel(f.recorded.top, path); err == nil {
		return name
	}
	return path
}
