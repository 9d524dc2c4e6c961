package rehearse

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence       = regexp.MustCompile("(?ms)^```.*?^```$")
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksOfPages checks that each relative link of a page leads to a file and, where it names one, to a heading.
func TestLinksOfPages(t *testing.T) {
	pages := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." &&
			(entry.Name() == "testdata" || entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		pages++
		for _, found := range link.FindAllStringSubmatch(prose(t, path), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(found[1], "#")
			to := path
			if name != "" {
				to = filepath.Join(filepath.Dir(path), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: link to %s: %v", path, found[1], err)
			} else if anchor != "" && !headings(t, to)[anchor] {
				t.Errorf("%s: link to %s: no such heading", path, found[1])
			}
		}
		return nil
	})
	if err != nil || pages < 20 {
		t.Fatalf("%d pages: %v", pages, err)
	}
}

// installs are the lines that install the program or its module. Nothing is published, so that each uses a checkout.
var (
	installs = regexp.MustCompile(
		`(?m)^.*\b(?:go (?:get|install)|npm (?:i|install)|npx|pip install|brew install)\b.*rehearse.*$`)
	checkout = regexp.MustCompile(`go install \./|npm install \./|pip install \./`)
)

// TestInstallLines checks that no page installs rehearse from a registry.
func TestInstallLines(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range installs.FindAllString(string(text), -1) {
				if !checkout.MatchString(line) {
					t.Errorf("%s: %s: nothing is published; install from a checkout", page, line)
				}
			}
		}
	}
}

// prose returns a page without its blocks of code.
func prose(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fence.ReplaceAllString(string(data), "")
}

// headings returns the anchors of a page: its headings in small letters, with hyphens for blanks and without
// punctuation.
func headings(t *testing.T, path string) map[string]bool {
	t.Helper()
	anchors := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(prose(t, path), -1) {
		anchors[strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
	}
	return anchors
}
