package grader

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const maxPromptBytes = 256 << 10

// promptVariable matches the variables of a judge's prompt.
var promptVariable = text.Regexp(`\{\{\s*(input|output|criteria|expected_output)\s*\}\}`)

// loadPrompt returns the prompt that an author wrote under key. A prompt of one line that names a file is read from it,
// and the test's variables are filled in. What only looks like the name of a file is a problem: nobody asks a judge a
// path.
func loadPrompt(a *Args, key, written string) string {
	name := strings.TrimSpace(written)
	if name == "" {
		return ""
	}
	if strings.ContainsAny(name, "\r\n") {
		return written
	}
	path, isURL := strings.CutPrefix(name, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.Assertion.Dir, path)
	}
	info, err := a.set.Files.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		if isURL || isPath(name) {
			if err == nil {
				err = fmt.Errorf("%s is no file", path)
			}
			a.Report(key, "paths start from the suite's folder", "cannot read the prompt: %v", err)
		}
		return written
	}
	content, err := readPrompt(a.set.Files, path)
	if err != nil {
		a.Report(key, "a prompt is a text of at most 256 KB", "cannot read the prompt: %v", err)
		return ""
	}
	filled, problems := a.Assertion.Fill(path, content)
	for i := range problems {
		problems[i].Path = a.node.Field(key).Path()
	}
	a.node.Add(problems)
	return filled
}

// isPath reports whether a text is more likely the name of a file than a prompt.
func isPath(text string) bool {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return false
	}
	begins := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(text, suffix) }
	return slices.ContainsFunc([]string{"file://", "/", "./", "../"}, begins) ||
		slices.ContainsFunc([]string{".md", ".txt", ".prompt"}, ends)
}

func readPrompt(files source.Files, path string) (string, error) {
	data, err := files.ReadFile(path)
	switch data = bytes.TrimPrefix(data, []byte("\ufeff")); {
	case err != nil:
		return "", err
	case len(data) > maxPromptBytes:
		return "", fmt.Errorf("%s is larger than %d KB", path, maxPromptBytes>>10)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	case len(bytes.TrimSpace(data)) == 0:
		return "", errors.New(path + " is empty")
	}
	return string(data), nil
}

// fillPrompt fills in what the author of the test wrote, and leaves {{input}} and {{output}} standing: the judge gets
// these as data, apart from its task. It returns the names of the variables that the prompt has.
func fillPrompt(prompt string, q Question) (task string, names []string) {
	task = promptVariable().ReplaceAllStringFunc(prompt, func(found string) string {
		name := promptVariable().FindStringSubmatch(found)[1]
		names = append(names, name)
		switch name {
		case "criteria":
			return q.Criteria
		case "expected_output":
			return q.Expected
		}
		return found
	})
	return task, names
}
