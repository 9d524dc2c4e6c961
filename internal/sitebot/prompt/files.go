package prompt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

var _ Source = (*Files)(nil)

// Files are prompts in a folder: the prompt NAME is the file NAME.md. Names and links that lead out of the folder are refused.
// A file is read again when it has changed. It must not be copied once used.
type Files struct {
	Dir string

	read cache[string, readFile]
}

// Prompt returns the text of a file. Its version is a hash of the text.
func (f *Files) Prompt(ctx context.Context, name string) (text, version string, err error) {
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	r, ok := f.current(name)
	if !ok {
		if r, err = f.open(name); err != nil {
			return "", "", err
		}
		f.read.put(name, r)
	}
	if r.absent {
		return "", "", unknown(name, f.Dir)
	}
	return r.text, r.version, nil
}

// current returns what is in memory of a name, and whether it is what the folder still holds. That takes a look at the file where opening
// it takes many; where links lead matters only when something is read, and nothing is read here.
func (f *Files) current(name string) (readFile, bool) {
	r, ok := f.read.get(name)
	if !ok {
		return r, false
	}
	info, err := os.Stat(filepath.Join(f.Dir, filepath.FromSlash(name)+".md"))
	if r.absent {
		return r, errors.Is(err, fs.ErrNotExist) && isFolder(f.Dir)
	}
	return r, err == nil && info.Mode().IsRegular() && r.modified.Equal(info.ModTime()) && r.size == info.Size()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// open reads the file of a name, which must lie in the folder.
func (f *Files) open(name string) (readFile, error) {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, `\`) {
		return readFile{}, fmt.Errorf("prompts: %q is not a name: write a path below %s such as response-agents/answer/template, without .md", name, f.Dir)
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return readFile{}, fmt.Errorf("prompts: %w: make the folder, or leave it out to use the built-in prompts", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	file, err := root.Open(filepath.FromSlash(name) + ".md")
	if errors.Is(err, fs.ErrNotExist) {
		return readFile{absent: true}, nil
	}
	if err != nil {
		return readFile{}, fmt.Errorf("prompts: %w: check that the file itself lies in %s and may be read", err, f.Dir)
	}
	defer func() { _ = file.Close() }()
	return readAll(file, path.Join(f.Dir, name+".md"))
}
