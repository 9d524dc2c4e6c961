package prompt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

var _ Source = (*Files)(nil)

// Files are prompts in a folder: the prompt NAME is the file NAME.md. Names and links that lead out of the folder are
// refused. A file is read again when it has changed. It must not be copied once used.
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

// current returns what is in memory of a name, and whether it is what the folder still holds. That takes a look at the
// file where opening it takes many; where links lead matters only when something is read, and nothing is read here.
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
		return readFile{}, fmt.Errorf(
			"prompts: %q is not a name: write a path below %s such as response-agents/answer/template, without .md",
			name, f.Dir)
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

// maxPromptBytes bounds one prompt.
const maxPromptBytes = 256 << 10

// readFile is what a file held when it was read, or that there was none.
type readFile struct {
	absent        bool
	modified      time.Time
	size          int64
	text, version string
}

// readAll reads an open file. What is not a file, such as a folder, counts as none.
func readAll(file *os.File, at string) (readFile, error) {
	info, err := file.Stat()
	if err != nil {
		return readFile{}, fmt.Errorf("prompts: %w", err)
	}
	if !info.Mode().IsRegular() {
		return readFile{absent: true}, nil
	}
	text, err := textOf(file, at)
	if err != nil {
		return readFile{}, err
	}
	return readFile{modified: info.ModTime(), size: info.Size(), text: text, version: versionOf(text)}, nil
}

// textOf reads a text of bounded size.
func textOf(r io.Reader, at string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPromptBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("prompts: %w", err)
	case len(data) > maxPromptBytes:
		return "", fmt.Errorf("prompts: %s is larger than %d KB: keep what the bot should know in the knowledge base",
			at, maxPromptBytes>>10)
	case !utf8.Valid(data):
		return "", fmt.Errorf("prompts: %s is not UTF-8 text: save it as UTF-8", at)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

// versionOf tells texts apart.
func versionOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
