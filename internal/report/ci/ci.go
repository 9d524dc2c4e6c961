// Package ci tells a CI system how a run came out, in its own words: GitHub's summary and annotations, GitLab's code
// quality report.
package ci

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// The systems that are known; None tells nobody.
const (
	None   = "none"
	GitHub = "github"
	GitLab = "gitlab"
)

// System is where the program runs.
type System struct {
	// Name is one of the systems.
	Name string
	// Workspace is the folder of the checkout, to which paths are relative; empty means the working folder.
	Workspace string
	// Summary is the file that GitHub shows with the job; empty for none.
	Summary string
}

// Check refuses the name of a system that is not known. Empty asks the environment.
func Check(name string) error {
	switch name {
	case "", None, GitHub, GitLab:
		return nil
	}
	return source.Invalid("unknown --ci %q: use %s, %s or %s", name, GitHub, GitLab, None)
}

// Detect returns the system that a flag names, or that the environment shows.
func Detect(named string, getenv func(string) string) (System, error) {
	s := System{Name: named}
	switch {
	case named != "":
	case getenv("GITHUB_ACTIONS") == "true":
		s.Name = GitHub
	case getenv("GITLAB_CI") == "true":
		s.Name = GitLab
	default:
		s.Name = None
	}
	if err := Check(named); err != nil {
		return s, err
	}
	switch s.Name {
	case GitHub:
		s.Workspace, s.Summary = getenv("GITHUB_WORKSPACE"), getenv("GITHUB_STEP_SUMMARY")
	case GitLab:
		s.Workspace = getenv("CI_PROJECT_DIR")
	}
	return s, nil
}

// Summary is what a run has to say. Its report.md stands in Dir, if it was written.
type Summary struct {
	Dir string
	// Stopped says that the run ended before its end, and how far it came; empty for a whole one.
	Stopped string
	Failing func(most int) (failing []report.Failing, more int, err error)
	// Deciding is how many of Failing count. Those in quarantine do not.
	Deciding int
	// What is one of Failing; empty means a failing test.
	What string
}

// Invalid is what a run has to say that did not begin, as its files have problems.
func Invalid(problems source.Problems) Summary {
	return Summary{What: "problem", Deciding: len(problems), Failing: func(most int) ([]report.Failing, int, error) {
		failing := make([]report.Failing, 0, min(most, len(problems)))
		for _, p := range problems[:cap(failing)] {
			failing = append(failing, report.Failing{
				Key: result.Key{TestID: "invalid"}, Verdict: result.Error, File: p.File, Line: max(1, p.Line),
				Message: text.OneLine(p.Text(), 1_000),
			})
		}
		return failing, len(problems) - len(failing), nil
	}}
}

// rest is a number of tests that are not named.
type rest struct{ kind, what string }

// others counts what is not named: how many more there are, apart from those that were told. What is in quarantine is
// counted apart, as it fails no run.
func (s Summary) others(told []report.Failing, more int) (counted []rest) {
	deciding := s.Deciding
	for _, f := range told {
		if !f.Quarantined {
			deciding--
		}
	}
	deciding = max(0, min(deciding, more))
	if deciding > 0 {
		counted = append(counted, rest{kind(false), text.Plural(deciding, "more "+cmp.Or(s.What, "failing test"))})
	}
	if held := more - deciding; held > 0 {
		counted = append(counted, rest{kind(true), text.Plural(held, "more failing test") + " in quarantine"})
	}
	return counted
}

// kind is how loud a failure is.
func kind(quarantined bool) string {
	if quarantined {
		return "warning"
	}
	return "error"
}

// Verdict is what an evaluation has to say that is one verdict over all, such as a replay: its name and a sentence,
// where it did not pass.
func Verdict(dir, name, sentence string, passed bool) Summary {
	return Summary{Dir: dir, Deciding: 1, Failing: func(int) ([]report.Failing, int, error) {
		if passed {
			return nil, 0, nil
		}
		return []report.Failing{{
			Key: result.Key{TestID: name}, Verdict: result.Fail, Message: text.OneLine(sentence, 1_000),
		}}, 0, nil
	}}
}

// Report tells the system how a run came out. w is the standard output of the job, whose commands the system carries
// out: what is written there holds no other command.
func (s System) Report(w io.Writer, said Summary) error {
	switch s.Name {
	case GitHub:
		return s.gitHub(w, said)
	case GitLab:
		return s.gitLab(w, said)
	}
	return nil
}

// file returns the path of a test's file as the system knows it.
func (s System) file(name string) string {
	if name == "" || s.Workspace == "" {
		return name
	}
	whole, err := filepath.Abs(filepath.FromSlash(name))
	if err != nil {
		return name
	}
	near, err := filepath.Rel(s.Workspace, whole)
	if err != nil || near == ".." || strings.HasPrefix(near, ".."+string(filepath.Separator)) {
		return name
	}
	return filepath.ToSlash(near)
}

// message is a failure in a line.
func message(f report.Failing) string {
	if f.Code == "" {
		return f.Message
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Message)
}

// title names a test.
func title(f report.Failing, targets bool) string {
	if targets && f.Target != "" {
		return f.TestID + " [" + f.Target + "]"
	}
	return f.TestID
}

// severalTargets reports whether ids alone would name several tests.
func severalTargets(failing []report.Failing) bool {
	for _, f := range failing {
		if f.Target != failing[0].Target {
			return true
		}
	}
	return false
}
