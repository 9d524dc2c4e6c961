package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Added is what Add did.
type Added struct {
	Files, Passages int
	// Replaced is the number of passages that the files had before.
	Replaced int
	// Embedded is the number of passages of the base that got a vector, those of earlier files included. Unembedded is
	// the number of those without one.
	Embedded, Unembedded int
	// EmbedError is why some passages have no vector. All passages are kept nevertheless; adding the same files again
	// continues the embedding.
	EmbedError error
}

// Add puts files into a base. A folder stands for all files in it that have passages. A file that the base has already
// is replaced. A file is identified by its path below the working folder, else by its whole path; ids begin with that
// path. After an error, the base is unchanged; a source.Problems has every fault of the files.
func (k *Library) Add(ctx context.Context, base string, paths ...string) (Added, error) {
	into := baseFiles{name: base}
	var problems source.Problems
	seen := map[string]bool{}
	for _, given := range paths {
		files, err := gather(ctx, given)
		if found, ok := errors.AsType[source.Problems](err); ok {
			problems = append(problems, found...)
		} else if err != nil {
			return Added{}, err
		}
		for _, file := range files {
			if !seen[file.name] {
				into.files = append(into.files, file)
			}
			seen[file.name] = true
		}
	}
	if err := problems.Err(); err != nil {
		return Added{}, err
	}
	done, err := k.takeIn(ctx, []baseFiles{into})
	if err == nil {
		done.Embedded, done.Unembedded, done.EmbedError = k.embed(ctx, base)
	}
	return done, err
}

// gather returns the file that a path names, or the files of the folder.
func gather(ctx context.Context, given string) ([]textFile, error) {
	info, err := os.Stat(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault(given, "check the path", "there is no such file")
	case err != nil:
		return nil, unreadable(given, err)
	case info.IsDir():
		files, err := filesIn(ctx, given, fileName(given))
		if err == nil && len(files) == 0 {
			err = fault(given, kindsHint, "the folder has no such files")
		}
		return files, err
	case !info.Mode().IsRegular():
		return nil, fault(given, kindsHint, "not a file")
	}
	return []textFile{{fileName(given), func() (fs.File, error) { return os.Open(given) }}}, nil
}

// fileName is the name of a file in a base. It is the same however its path was written.
func fileName(given string) string {
	whole, err := filepath.Abs(given)
	if err != nil {
		return filepath.ToSlash(filepath.Clean(given))
	}
	if here, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(here, whole); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
	}
	return filepath.ToSlash(whole)
}

// baseFiles is a base and the files that go into it.
type baseFiles struct {
	name  string
	files []textFile
}

// takeIn takes in all files or none. Faults that authors can fix are a source.Problems with the faults of all files.
func (k *Library) takeIn(ctx context.Context, bases []baseFiles) (Added, error) {
	t := taking{limits: k.limits}
	err := k.db.Write(ctx, func(tx *sql.Tx) (err error) {
		t.tx = tx
		defer func() { err = errors.Join(err, t.close()) }()
		if err := t.prepare(ctx); err != nil {
			return err
		}
		for _, base := range bases {
			if err := t.takeBase(ctx, base); err != nil {
				return err
			}
		}
		if err := t.problems.Err(); err != nil {
			return err
		}
		return countWords(ctx, tx)
	})
	if len(t.problems) > 0 {
		return Added{}, t.problems
	}
	if err != nil {
		return Added{}, k.db.Explain("write knowledge to", err)
	}
	return t.done, nil
}
