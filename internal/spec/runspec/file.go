package runspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// MostFiles is the largest number of files of one run.
const MostFiles = 10_000

// The longest path of a file, and the longest name in it, in bytes: what file systems take.
const (
	maxPath = 1024
	maxName = 255
)

// File is a file of a bundle: its content, or the hash of one that was sent before. Its JSON form is a text, {"base64":
// …} or {"sha256": …}.
type File struct {
	Content []byte
	// SHA256 is the hash of the content in hexadecimal digits, where the content is elsewhere; else empty.
	SHA256 string
}

// Hash returns the SHA-256 of the content in hexadecimal digits.
func (f File) Hash() string {
	if f.SHA256 != "" {
		return f.SHA256
	}
	sum := sha256.Sum256(f.Content)
	return hex.EncodeToString(sum[:])
}

// MarshalJSON writes text as it is and anything else in base64.
func (f File) MarshalJSON() ([]byte, error) {
	switch {
	case f.SHA256 != "":
		return json.Marshal(map[string]string{"sha256": f.SHA256})
	case utf8.Valid(f.Content):
		return json.Marshal(string(f.Content))
	}
	return json.Marshal(map[string][]byte{"base64": f.Content})
}

var digest = text.Regexp(`^[0-9a-f]{64}$`)

// Keys are those of the two objects.
func (File) Keys() []string { return []string{"base64", "sha256"} }

// UnmarshalJSON reads one of the three forms.
func (f *File) UnmarshalJSON(data []byte) error {
	var text string
	if string(data) != "null" && json.Unmarshal(data, &text) == nil {
		f.Content = []byte(text)
		return nil
	}
	var form struct {
		Base64 *[]byte `json:"base64"`
		SHA256 *string `json:"sha256"`
	}
	if err := json.Unmarshal(data, &form); err != nil || (form.Base64 == nil) == (form.SHA256 == nil) {
		return errors.New(`a file is a text, {"base64": …} or {"sha256": …}`)
	}
	if form.SHA256 != nil {
		if !digest().MatchString(*form.SHA256) {
			return errors.New("a sha256 has 64 hexadecimal digits in lower case")
		}
		f.SHA256 = *form.SHA256
		return nil
	}
	f.Content = *form.Base64
	return nil
}

// checkFiles refuses paths that are not those of a bundle: relative to its root, with slashes and without .. in them.
func (s *Spec) checkFiles() error {
	if len(s.Files) > MostFiles {
		return source.Invalid("run spec: %d files: a run has at most %d", len(s.Files), MostFiles)
	}
	for name := range s.Files {
		if err := s.checkPlace(name); err != nil {
			return err
		}
		if name == "" || name == "." || path.IsAbs(name) || path.Clean(name) != name || name == ".." ||
			strings.HasPrefix(name, "../") || strings.ContainsAny(name, "\\\x00") {
			return source.Invalid("run spec: files: %q is no path of a bundle: write it from the bundle's root, "+
				"with slashes and without `..`", name)
		}
	}
	return nil
}

// checkPlace refuses a path that no file system can hold, alone or beside the other files.
func (s *Spec) checkPlace(name string) error {
	if len(name) > maxPath {
		return source.Invalid("run spec: files: a path has %d bytes: it has at most %d", len(name), maxPath)
	}
	for folder, part := path.Split(name); ; folder, part = path.Split(folder) {
		if len(part) > maxName {
			return source.Invalid("run spec: files: a name in a path has %d bytes: it has at most %d",
				len(part), maxName)
		}
		if folder = strings.TrimSuffix(folder, "/"); folder == "" {
			return nil
		}
		if _, file := s.Files[folder]; file {
			return source.Invalid("run spec: files: %q is a file and the folder of %q", folder, name)
		}
	}
}
