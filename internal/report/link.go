package report

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// written is where a reader of a test's source should look first. Its zero value is not known.
type written struct {
	file string
	line int
}

func writtenAt(t *result.Test) written {
	file, line := t.Location()
	return written{file, line}
}

func (p written) String() string {
	if p.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// spotOf returns the id on the page of what explains a record's verdict: a turn, the grades of the whole conversation,
// or the record itself. The turns of a test with trials stand in its trials.
func spotOf(t *result.Test) string {
	id := t.Key().Anchor()
	if t.Trials != nil {
		return id
	}
	if n := t.FirstFailing(); n > 0 {
		return fmt.Sprintf("%s-turn-%d", id, n)
	}
	whole := func(s result.Score) bool {
		return turnOf(s.Name) == 0 && (s.Verdict == result.Fail || s.Verdict == result.Error)
	}
	if slices.ContainsFunc(t.Scores, whole) {
		return id + "-assertions"
	}
	return id
}

// link returns the address of an id on the page of a run, or of the page, below the place where its folder is
// published; empty means beside the page.
func link(base, id string) string {
	if base != "" && !strings.HasSuffix(base, "/") {
		base += "/"
	}
	if base += htmlFile; id != "" {
		base += "#" + id
	}
	return base
}

// CheckAddress refuses an address that cannot be where the folder of a run is published. Empty is none.
func CheckAddress(address string) error {
	if address == "" {
		return nil
	}
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return fmt.Errorf("%q is no address of a folder: give one such as https://ci.example/runs/7", address)
	case at.User != nil:
		return errors.New("the address has a name or password in it: leave them out")
	case strings.Contains(address, "#"): // links to single tests stand behind one
		return fmt.Errorf("%q leads to a part of a page: give the address of a folder, without #", address)
	}
	return nil
}

// PageOf returns where the page of a run is: below the address where its folder is published, else in the folder; empty
// where there is none.
func PageOf(dir, base string) string {
	if base != "" {
		return link(base, "")
	}
	path := filepath.Join(dir, htmlFile)
	if _, err := os.Stat(path); err != nil || dir == "" {
		return ""
	}
	return path
}
