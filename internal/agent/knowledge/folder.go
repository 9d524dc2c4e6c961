package knowledge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Open reads the knowledge bases of a folder into memory. Each folder in it is a base of the .md, .txt and .jsonl files
// at any depth; each such file beside them belongs to the base with its name without the extension. Ids begin with the
// path below the folder. Other files, hidden ones and links that lead out of the folder are skipped. Faults of files
// are a source.Problems; faults of an embedder go to Vectors.Failed. Release the bases with Close.
func Open(ctx context.Context, dir string, options ...Option) (*Library, error) {
	bases, err := basesIn(ctx, dir)
	if err != nil {
		return nil, err
	}
	k, err := newInMemory(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err := k.takeIn(ctx, bases); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	k.apply(options)
	if _, _, err := k.embed(ctx, ""); ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), k.Close())
	} else if err != nil {
		k.vectors.failed(err)
	}
	return k, nil
}

// newInMemory returns a library in memory without bases. Errors name it by the folder.
func newInMemory(ctx context.Context, dir string) (*Library, error) {
	db, err := openMemory(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Library{
		db: db, own: db, limits: limits{maxFile, maxPassages, maxMemory},
		hint: "put a file NAME.md or a folder NAME into " + dir,
	}, nil
}

// basesIn returns the bases of a folder. A folder without files is a base without passages.
func basesIn(ctx context.Context, dir string) ([]baseFiles, error) {
	var bases []baseFiles
	at := map[string]int{}
	add := func(base string, files ...textFile) {
		i, ok := at[base]
		if !ok {
			i = len(bases)
			at[base], bases = i, append(bases, baseFiles{name: base})
		}
		bases[i].files = append(bases[i].files, files...)
	}
	files, err := filesIn(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		base, _, inFolder := strings.Cut(file.name, "/")
		if !inFolder {
			base = strings.TrimSuffix(base, path.Ext(base))
		}
		add(base, file)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	for _, e := range entries {
		if e.IsDir() && !hidden(e.Name()) {
			add(e.Name())
		}
	}
	return bases, nil
}

// filesIn returns the files of a folder that have passages, by name, with a path before their names.
func filesIn(ctx context.Context, dir, above string) (files []textFile, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(filepath.Join(dir, name), err)
		case ctx.Err() != nil:
			return ctx.Err()
		case name != "." && hidden(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if splitterFor(name) != nil && isFile(root, name, d) {
			files = append(files, textFile{path.Join(above, name), func() (fs.File, error) {
				return os.OpenInRoot(dir, filepath.FromSlash(name))
			}})
		}
		return nil
	})
	return files, err
}

// isFile reports whether an entry is a file, or a link to one in the same root; a root refuses links that lead out of
// it.
func isFile(root *os.Root, name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := root.Stat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
