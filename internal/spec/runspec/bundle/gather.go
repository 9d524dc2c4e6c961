package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// MostBytes is the largest size of one file.
const MostBytes = 64 << 20

// Gather returns a spec of the disk, whose relative names begin at the working folder, as one with the content of every
// file that it reads. Its names then begin at the nearest folder that all files have in common, the root. read plans
// the run as it is given, through those files and nothing else, and returns the files of its suites. Files that a name
// does not lead to from within the bundle are an error.
func Gather(s runspec.Spec, read func(source.Files, runspec.Spec) (suites []string, err error)) (gathered runspec.Spec,
	root string, err error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return s, "", fmt.Errorf("gather the files of the run: %w", err)
	}
	top := filepath.VolumeName(here) + string(filepath.Separator)
	fromTop := func(name string) (string, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(here, name)
		}
		name, err := filepath.Rel(top, name)
		if err != nil {
			err = source.Invalid("gather the files of the run: %w", err)
		}
		return name, err
	}
	spec, err := renamed(s, fromTop)
	if err != nil {
		return s, "", err
	}
	files, recorded := source.Recording(top)
	if spec.Suites, err = read(files, spec); err != nil {
		return s, "", explained(err, top, strings.TrimPrefix(here, top))
	}
	names, err := regular(files, recorded)
	if err != nil {
		return s, "", fmt.Errorf("gather the files of the run: %w", err)
	}
	if len(names) > runspec.MostFiles {
		return s, "", source.Invalid("the run reads %d files: a run has at most %d", len(names), runspec.MostFiles)
	}
	root = common(names)
	inBundle := func(name string) (string, error) {
		name, err := filepath.Rel(root, name)
		return filepath.ToSlash(name), err
	}
	if spec, err = renamed(spec, inBundle); err != nil {
		return s, "", fmt.Errorf("gather the files of the run: %w", err)
	}
	spec.Files = make(map[string]runspec.File, len(names))
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			return s, "", fmt.Errorf("gather the files of the run: %w", err)
		}
		short, err := inBundle(name)
		if err != nil {
			return s, "", fmt.Errorf("gather the files of the run: %w", err)
		}
		spec.Files[short] = runspec.File{Content: content}
	}
	return spec, filepath.Join(top, root), spec.Check()
}

// explained makes an absolute path a mistake of the author, and gives places the names that the working folder has for
// them.
func explained(err error, top, fromTop string) error {
	// Where a name begins, with or without the top of the disk.
	begins := regexp.MustCompile(`(^|[\s"'(:=,])(?:` + regexp.QuoteMeta(top) + `)?` +
		regexp.QuoteMeta(fromTop+string(filepath.Separator)))
	here := func(text string) string {
		if fromTop == "" {
			return text
		}
		return begins.ReplaceAllString(text, "$1")
	}
	if problems, ok := errors.AsType[source.Problems](err); ok {
		problems = slices.Clone(problems)
		for i := range problems {
			if name, err := filepath.Rel(fromTop, problems[i].File); err == nil && problems[i].File != "" {
				problems[i].File = name
			}
			problems[i].Message = here(problems[i].Message)
		}
		return problems
	}
	if errors.Is(err, source.ErrAbsolute) {
		return source.AsInvalid(err)
	}
	return &fromHere{err, here(err.Error())}
}

// fromHere is an error in whose text the names of files begin at the working folder.
type fromHere struct {
	error
	text string
}

func (e *fromHere) Error() string { return e.text }

func (e *fromHere) Unwrap() error { return e.error }

// regular returns the names of the files that were read, and of those in folders that are read whole.
func regular(files source.Files, recorded *source.Recorded) ([]string, error) {
	found := map[string]bool{}
	for _, name := range recorded.Files() {
		info, err := files.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir():
			continue // it was looked for, or listed
		case err != nil:
			return nil, err
		}
		found[name] = true
	}
	for _, folder := range recorded.Folders() {
		err := files.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() && name != folder && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case len(found) > runspec.MostFiles:
				return filepath.SkipAll
			case !d.IsDir() && !strings.HasPrefix(d.Name(), "."):
				found[name] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		info, err := files.Stat(name) // of what a link leads to
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			continue
		case !info.Mode().IsRegular():
			return nil, source.Invalid("%s is no regular file: a run on a server takes files along only",
				files.OnDisk(name))
		case info.Size() > MostBytes:
			return nil, source.Invalid("%s has more than %d MB: a server takes no larger file", files.OnDisk(name),
				MostBytes>>20)
		}
		names = append(names, name)
	}
	return names, nil
}

// common returns the nearest folder that all names have in common.
func common(names []string) string {
	root := ""
	for i, name := range names {
		dir := filepath.Dir(name)
		if i == 0 {
			root = dir
		}
		for root != "." && dir != root && !strings.HasPrefix(dir, root+string(filepath.Separator)) {
			root = filepath.Dir(root)
		}
	}
	return root
}

// renamed returns a spec whose names of files are changed.
func renamed(s runspec.Spec, to func(string) (string, error)) (runspec.Spec, error) {
	var faults []error
	rename := func(name string) string {
		name, err := to(name)
		faults = append(faults, err)
		return name
	}
	all := func(names []string, rename func(string) string) []string {
		var changed []string
		for _, name := range names {
			changed = append(changed, rename(name))
		}
		return changed
	}
	short := func(name string) string { return renamedShort(name, rename) }
	panel := func(names string) string { return strings.Join(all(strings.Split(names, ","), short), ",") }
	s.Suites, s.Targets = all(s.Suites, rename), all(s.Targets, short)
	places := func(names ...*string) {
		for _, name := range names {
			if *name != "" {
				*name = rename(*name)
			}
		}
	}
	places(&s.Config)
	s.Judge, s.User, s.Model = panel(s.Judge), short(s.User), short(s.Model)
	if s.Replay != nil {
		r := *s.Replay
		places(&r.Flows, &r.Prompts)
		r.User = short(r.User)
		s.Replay = &r
	}
	if s.Classify != nil {
		c := *s.Classify
		places(&c.Items)
		c.Target = short(c.Target)
		s.Classify = &c
	}
	if s.E2E != nil {
		e := *s.E2E
		places(&e.Items, &e.Sites, &e.Prompts)
		s.E2E = &e
	}
	return s, errors.Join(faults...)
}

// renamedShort renames the file of a short form, such as flow:FILE#ID.
func renamedShort(name string, rename func(string) string) string {
	kind, file, _ := strings.Cut(name, ":")
	switch kind = strings.TrimSpace(kind); {
	case kind != "scripted" && kind != "cassette" && kind != "flow" && kind != "site", file == "",
		strings.Contains(file, "://"):
		return name
	}
	file, part, chosen := strings.Cut(file, "#")
	if file = rename(file); chosen {
		file += "#" + part
	}
	return kind + ":" + file
}
