package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are where a suite, a configuration and what they name are read from: the disk, or one folder that no name leads
// out of. The zero value is the disk. It is safe for concurrent use.
type Files struct {
	root     *os.Root
	recorded *Recorded
	// input is the path of what Stdin stands for; empty without one.
	input string
	// allowance is that of the submission whose files these are; nil for others.
	allowance *Allowance
}

// Stdin is the name of what a command was given on its standard input.
const Stdin = "-"

// WithStdin returns the files of the disk, among which Stdin is the file at a path.
func WithStdin(path string) Files { return Files{input: path} }

// Within returns the files of a folder. Their names are relative to it; an absolute name, one that leads out of it by
// .. or by a link, is an error. The folder stays the caller's to close, after the last use.
func Within(root *os.Root) Files { return Files{root: root} }

// ErrOutside says that a name leads out of the folder that files are read from.
var ErrOutside = errors.New("it leads out of the files that came with the run")

// Bounded reports whether files are those of one folder, where every name is relative.
func (f Files) Bounded() bool { return f.root != nil || f.recorded != nil }

// Open opens a file for reading.
func (f Files) Open(name string) (*os.File, error) {
	if f.root == nil {
		path, err := f.read("open", name)
		if err != nil {
			return nil, err
		}
		return os.Open(path)
	}
	name, err := inside("open", name)
	if err != nil {
		return nil, err
	}
	file, err := f.root.Open(name)
	return file, explained("open", name, err)
}

// Stat describes a file or a folder.
func (f Files) Stat(name string) (fs.FileInfo, error) {
	if f.root == nil {
		path, err := f.path("stat", name)
		if err != nil {
			return nil, err
		}
		return os.Stat(path)
	}
	name, err := inside("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := f.root.Stat(name)
	return info, explained("stat", name, err)
}

// IsFolder reports whether there is a folder of that name.
func (f Files) IsFolder(name string) bool {
	info, err := f.Stat(name)
	return err == nil && info.IsDir()
}

// FolderOf returns a folder itself, or the folder of a file.
func (f Files) FolderOf(name string) string {
	if name == "" {
		return "."
	}
	if info, err := f.Stat(name); err == nil && !info.IsDir() {
		return filepath.Dir(name)
	}
	return name
}

// ReadFile returns the content of a file.
func (f Files) ReadFile(name string) ([]byte, error) {
	if f.root == nil {
		path, err := f.read("open", name)
		if err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	}
	name, err := inside("open", name)
	if err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(name)
	return data, explained("open", name, err)
}

// ReadDir returns what a folder holds, in order of name.
func (f Files) ReadDir(name string) ([]fs.DirEntry, error) {
	folder, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	entries, err := folder.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, errors.Join(err, folder.Close())
}

// WalkDir is filepath.WalkDir.
func (f Files) WalkDir(name string, do fs.WalkDirFunc) error {
	if f.root == nil {
		path, err := f.path("open", name)
		if err != nil {
			return do(name, nil, err)
		}
		return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			return do(f.named(path), d, err)
		})
	}
	name, err := inside("open", name)
	if err != nil {
		return do(name, nil, err)
	}
	return fs.WalkDir(f.root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		return do(filepath.FromSlash(path), d, err)
	})
}

// Glob is filepath.Glob.
func (f Files) Glob(pattern string) ([]string, error) {
	if f.root == nil {
		path, err := f.path("open", pattern)
		if err != nil {
			return nil, err
		}
		names, err := filepath.Glob(path)
		for i := range names {
			names[i] = f.named(names[i])
		}
		return names, err
	}
	pattern, err := inside("open", pattern)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(f.root.FS(), filepath.ToSlash(pattern))
	for i := range names {
		names[i] = filepath.FromSlash(names[i])
	}
	return names, err
}

// Abs returns a name by which two names of one file can be told to be the same.
func (f Files) Abs(name string) (string, error) {
	if !f.Bounded() {
		return filepath.Abs(name)
	}
	return inside("open", name)
}

// OnDisk returns the path at which a program finds a file or a folder. A name that leads out of a folder is cut at its
// top.
func (f Files) OnDisk(name string) string {
	if f.recorded != nil {
		return filepath.Join(f.recorded.top, filepath.Join(string(filepath.Separator), name))
	}
	if f.root == nil {
		return name
	}
	return filepath.Join(f.root.Name(), filepath.Join(string(filepath.Separator), name))
}

// inside returns a cleaned name that leads to nothing above the folder. Links are the root's to refuse.
func inside(op, name string) (string, error) {
	clean := filepath.Clean(name)
	if !filepath.IsLocal(clean) {
		return "", &fs.PathError{Op: op, Path: name, Err: ErrOutside}
	}
	return clean, nil
}

// explained says in plain words that a link leads out of the folder.
func explained(op, name string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) &&
		strings.Contains(failed.Err.Error(), "escapes") {
		return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%w: %w", ErrOutside, failed.Err)}
	}
	return err
}
