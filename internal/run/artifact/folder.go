package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Folder is a folder with a file for each artifact, named by its hash.
type Folder struct{ Dir string }

var _ Storage = Folder{}

var hash = text.Regexp(`^[0-9a-f]{64}$`)

// IsHash reports whether a name can be that of an artifact.
func IsHash(name string) bool { return hash().MatchString(name) }

// Put writes a file, which is whole and on the disk before it has its name.
func (f Folder) Put(_ context.Context, sha256 string, data []byte) (err error) {
	if !IsHash(sha256) {
		return fmt.Errorf("keep an artifact: %q is no hash", sha256)
	}
	path := filepath.Join(f.Dir, sha256)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("keep an artifact: %w", err)
	}
	file, err := os.CreateTemp(f.Dir, ".new-*")
	if err != nil {
		return fmt.Errorf("keep an artifact: %w", err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("keep an artifact: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// Get reads a file.
func (f Folder) Get(_ context.Context, sha256 string) ([]byte, error) {
	if !IsHash(sha256) {
		return nil, ErrNone
	}
	data, err := os.ReadFile(filepath.Join(f.Dir, sha256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("read an artifact: %w", err)
	}
	return data, nil
}

// Delete removes a file.
func (f Folder) Delete(_ context.Context, sha256 string) error {
	if !IsHash(sha256) {
		return nil
	}
	if err := os.Remove(filepath.Join(f.Dir, sha256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete an artifact: %w", err)
	}
	return nil
}

// Each calls f with each artifact of the folder and its size, in bytes. A folder that is not there has none.
func (f Folder) Each(each func(sha256 string, size int64)) error {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list artifacts: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && IsHash(e.Name()) {
			each(e.Name(), info.Size())
		}
	}
	return nil
}
