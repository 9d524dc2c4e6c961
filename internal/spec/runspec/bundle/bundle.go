// Package bundle keeps the files that a run reads in a folder of their own.
package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Blobs returns the content of a file that a spec names by its hash.
type Blobs func(ctx context.Context, sha256 string) ([]byte, error)

// Unpack writes the files of a spec into a folder, which it makes. The folder holds regular files only. Paths were
// checked by runspec.Spec.Check.
func Unpack(ctx context.Context, dir string, s runspec.Spec, blobs Blobs) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("unpack the files of the run: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack the files of the run: %w", err)
	}
	defer func() { _ = root.Close() }() // what was written is checked file by file
	for name, f := range s.Files {
		content := f.Content
		if f.SHA256 != "" {
			if content, err = blobs(ctx, f.SHA256); err != nil {
				return fmt.Errorf("unpack the file %s of the run: %w", name, err)
			}
		}
		local := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(local), 0o700); err != nil {
			return fmt.Errorf("unpack the file %s of the run: %w", name, err)
		}
		if err := root.WriteFile(local, content, 0o600); err != nil {
			return fmt.Errorf("unpack the file %s of the run: %w", name, err)
		}
	}
	return nil
}
