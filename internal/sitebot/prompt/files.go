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
	"sync"
	"time"
	"unicode/utf8"
)

// maxPromptBytes bounds one prompt.
const maxPromptBytes = 256 << 10

var _ Source = (*Files)(nil)

// Files are prompts in a folder: the prompt NAME is the file NAME.md. Names and links that lead out of the folder are refused.
// A file is read again when it has changed. It must not be copied once used.
type Files struct {
	Dir string

	mu   sync.Mutex
	read map[string]readFile
}

// readFile is what a file held when it was read.
type readFile struct {
	modified      time.Time
	size          int64
	text, version string
}

// Prompt returns the text of a file. Its version is a hash of the text.
func (f *Files) Prompt(ctx context.Context, name string) (text, version string, err error) {
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, `\`) {
		return "", "", fmt.Errorf("prompts: %q is not a name: write a path below %s such as response-agents/answer/template, without .md", name, f.Dir)
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return "", "", fmt.Errorf("prompts: %w: make the folder, or leave it out to use the built-in prompts", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	file, err := root.Open(filepath.FromSlash(name) + ".md")
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", unknown(name, f.Dir)
	}
	if err != nil {
		return "", "", fmt.Errorf("prompts: %w: check that the file itself lies in %s and may be read", err, f.Dir)
	}
	defer func() { _ = file.Close() }()
	r, err := f.current(name, file)
	return r.text, r.version, err
}

// current returns what a file holds, from memory unless the file has changed.
func (f *Files) current(name string, file *os.File) (readFile, error) {
	info, err := file.Stat()
	if err != nil {
		return readFile{}, fmt.Errorf("prompts: %w", err)
	}
	if !info.Mode().IsRegular() {
		return readFile{}, unknown(name, f.Dir)
	}
	f.mu.Lock()
	r, ok := f.read[name]
	f.mu.Unlock()
	if ok && r.modified.Equal(info.ModTime()) && r.size == info.Size() {
		return r, nil
	}
	text, err := textOf(file, path.Join(f.Dir, name+".md"))
	if err != nil {
		return readFile{}, err
	}
	r = readFile{modified: info.ModTime(), size: info.Size(), text: text, version: versionOf(text)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read == nil {
		f.read = map[string]readFile{}
	}
	f.read[name] = r
	return r, nil
}

// textOf reads a text of bounded size.
func textOf(r io.Reader, at string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPromptBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("prompts: %w", err)
	case len(data) > maxPromptBytes:
		return "", fmt.Errorf("prompts: %s is larger than %d KB: keep what the bot should know in the knowledge base", at, maxPromptBytes>>10)
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
