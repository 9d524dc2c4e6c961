package fingerprint

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Limits of what is read for a fingerprint. Beyond them size and time of a file stand for its content.
const (
	maxContentFiles = 20_000
	maxContentBytes = 1 << 30
	// maxScanned is the largest file that is searched for the names of others.
	maxScanned = 1 << 20
	// maxNested is how far files that name files are followed.
	maxNested = 4
)

// filePrefixes stand before the names of files: of prompts, of models that are played, of flows and of sites.
var filePrefixes = []string{"file://", "scripted:", "cassette:", "flow:", "site:"}

// Content is a file by the name under which it was found, with the hash of its content.
type Content struct{ Name, Sum string }

// Files finds and hashes the files that definitions name, each once. It is used by one goroutine. Use New.
type Files struct {
	from         source.Files
	sums         map[string]string // by path
	files, bytes int64
}

// New returns the files of a place.
func New(from source.Files) *Files {
	return &Files{from: from, sums: map[string]string{}}
}

// Named returns the files that the strings in a plain value name, whole folders too; relative names start in dir.
func (f *Files) Named(value any, dir string) []Content {
	// configurations of submitted runs hold names from the top of the files
	return f.namedIn(value, dir, f.from.Bounded())
}

// Defined is Named for the definition of a target or judge. Its names start in the folder of the configuration or,
// where flags have given them or that folder, in the working folder.
func (f *Files) Defined(value any, dir string) []Content { return f.namedIn(value, dir, true) }

func (f *Files) namedIn(value any, dir string, top bool) []Content {
	var found []Content
	seen := map[string]bool{}
	for _, text := range texts(value, nil) {
		whole, words := candidates(text)
		for i, name := range append(whole, words...) {
			at := f.at(name, dir, seen, 0)
			if at == nil && top && (i < len(whole) || f.from.Bounded()) {
				at = f.at(name, "", seen, 0)
			}
			found = append(found, at...)
		}
	}
	return found
}

// texts returns all strings in a plain value.
func texts(value any, all []string) []string {
	switch value := value.(type) {
	case string:
		return append(all, value)
	case []any:
		for _, item := range value {
			all = texts(item, all)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = texts(value[key], all)
		}
	}
	return all
}

// candidates returns what in a text may be the name of a file: the whole, without what chooses a part of it, the file
// of a short form, and each word of a command.
func candidates(text string) (whole, words []string) {
	if len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return nil, nil
	}
	text = strings.TrimPrefix(text, filePrefixes[0])
	whole = []string{text}
	if before, _, ok := strings.Cut(text, "#"); ok {
		whole = append(whole, before)
	}
	for _, prefix := range filePrefixes[1:] {
		if file, ok := strings.CutPrefix(whole[len(whole)-1], prefix); ok {
			whole = append(whole, file)
		}
	}
	if words = strings.Fields(text); len(words) < 2 || len(words) >= 64 {
		words = nil
	}
	return whole, words
}

// at returns the content of the file or folder of that name, and of the files that it names itself; nothing when there
// is none.
func (f *Files) at(name, dir string, seen map[string]bool, depth int) []Content {
	if filepath.Ext(name) == "" && !strings.ContainsRune(name, '/') {
		return nil // a word, such as the name of a model
	}
	if strings.Trim(name, "./") == "" {
		return nil // a point or a slash of a text, and not the folder around the suite or all files of the machine
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if whole, err := filepath.Abs(path); err == nil && !f.from.Bounded() {
		path = whole // one file is one, however it is named
	}
	info, err := f.from.Stat(path)
	if err != nil || seen[path] || depth > maxNested {
		return nil
	}
	if !info.IsDir() {
		seen[path] = true
		return append([]Content{{filepath.Base(name), f.sum(path, info)}}, f.nested(path, info, seen, depth)...)
	}
	var found []Content
	// What cannot be read is missed by whoever opens it.
	_ = f.from.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // as above
		case d.IsDir() && file != path && (strings.HasPrefix(d.Name(), ".") || runlog.IsRun(file)):
			return filepath.SkipDir
		case d.IsDir() || seen[file] || isOutput(file):
			return nil
		case f.files > maxContentFiles:
			return filepath.SkipAll
		}
		info, err := d.Info()
		relative, relErr := filepath.Rel(path, file)
		if errors.Join(err, relErr) == nil && info.Mode().IsRegular() {
			seen[file] = true
			found = append(found, Content{filepath.ToSlash(relative), f.sum(file, info)})
			found = append(found, f.nested(file, info, seen, depth)...)
		}
		return nil
	})
	return found
}

// isOutput reports whether a file is one that programs write while they run.
func isOutput(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, ".") || strings.Contains(base, ".db") || filepath.Ext(base) == ".log" ||
		filepath.Ext(base) == ".lock"
}

// nestedName is what looks like the name of a file in a flow, a site or a list of tests.
var nestedName = text.Regexp(`[\w./-]+\.(?:ya?ml|jsonl?|md|txt|csv|prompt)\b`)

// nested returns the files that a file of YAML or JSON names.
func (f *Files) nested(path string, info fs.FileInfo, seen map[string]bool, depth int) []Content {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
	default:
		return nil
	}
	if info.Size() > maxScanned {
		return nil
	}
	data, err := f.from.ReadFile(path)
	if err != nil {
		return nil
	}
	var found []Content
	for _, name := range nestedName().FindAllString(string(data), 1_000) {
		found = append(found, f.at(name, filepath.Dir(path), seen, depth+1)...)
	}
	return found
}

// sum returns the hash of a file's content.
func (f *Files) sum(path string, info fs.FileInfo) string {
	if done, ok := f.sums[path]; ok {
		return done
	}
	h := sha256.New()
	f.files++
	f.bytes += info.Size()
	file, err := f.from.Open(path)
	if err == nil && info.Mode().IsRegular() && f.bytes <= maxContentBytes {
		_, err = io.Copy(h, io.LimitReader(file, maxContentBytes))
	} else {
		_, _ = io.WriteString(h, info.ModTime().UTC().String()) // a hash takes everything
		_, _ = io.WriteString(h, info.Mode().String())
	}
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return "unreadable"
	}
	f.sums[path] = Short(h)
	return f.sums[path]
}

// withoutPaths returns a plain value in which the names of files have become their last elements. The configuration of
// a local run holds absolute paths, that of a submitted one names from the top of its files.
func (f *Files) withoutPaths(value any, dir string) any {
	switch value := value.(type) {
	case string:
		return f.WithoutPath(value, dir)
	case []any:
		for i := range value {
			value[i] = f.withoutPaths(value[i], dir)
		}
	case map[string]any:
		for key := range value {
			value[key] = f.withoutPaths(value[key], dir)
		}
	}
	return value
}

// WithoutPath returns a text whose path has become its last element where it names a file, alone or as that of a model.
func (f *Files) WithoutPath(text, dir string) string {
	before, file := "", text
	for _, prefix := range filePrefixes {
		if after, ok := strings.CutPrefix(text, prefix); ok {
			before, file = prefix, after
		}
	}
	file, part, chosen := strings.Cut(file, "#")
	if chosen {
		part = "#" + part
	}
	switch {
	case strings.ContainsAny(file, "\n\x00"):
		return text
	case filepath.IsAbs(file), strings.Contains(file, "/") && f.isThere(file, dir):
		return before + filepath.Base(file) + part
	}
	return text
}

// isThere reports whether there is a file of that name, which starts in dir, or as in Defined.
func (f *Files) isThere(file, dir string) bool {
	_, err := f.from.Stat(filepath.Join(dir, file))
	if err != nil {
		_, err = f.from.Stat(file)
	}
	return err == nil
}
