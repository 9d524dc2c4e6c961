package ci

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// CodeQuality is the file that GitLab shows in a merge request.
const CodeQuality = "codequality.json"

// maxIssues bounds the failing tests of a code quality report.
const maxIssues = 1_000

// issue is a finding of a code quality report. GitLab wants every field filled.
//
// Source: docs.gitlab.com, "Code Quality", "Code Quality report format".
type issue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	// Fingerprint is the same for the same test in every run.
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines lines  `json:"lines"`
}

type lines struct {
	Begin int `json:"begin"`
}

// gitLab names the failing tests and writes the code quality report into the folder of the run.
func (s System) gitLab(w io.Writer, said Summary) error {
	failing, more, err := said.Failing(maxIssues)
	if err != nil {
		return err
	}
	if said.Stopped != "" {
		fmt.Fprintln(w, text.NoCommand("error: "+said.Stopped))
	}
	issues := []issue{}
	targets := severalTargets(failing)
	for i, f := range failing {
		at := s.file(f.File)
		if i < maxAnnotations-1 {
			where := ""
			if at != "" {
				where = fmt.Sprintf("%s:%d: ", at, f.Line)
			}
			fmt.Fprintln(w, text.NoCommand(text.OneLine(
				fmt.Sprintf("%s: %s%s: %s", kind(f.Quarantined), where, title(f, targets), message(f)), 2_000)))
		}
		sum := sha256.Sum256([]byte(f.Suite + "\x00" + f.TestID + "\x00" + f.Target + "\x00" + string(f.Code)))
		severity := "major"
		switch {
		case f.Quarantined:
			severity = "info"
		case f.Verdict == result.Error:
			severity = "critical"
		}
		issues = append(issues, issue{
			Description: text.OneLine(title(f, targets)+": "+message(f), 2_000),
			CheckName:   cmp.Or(string(f.Code), string(f.Verdict)),
			Fingerprint: hex.EncodeToString(sum[:16]), Severity: severity,
			Location: location{Path: cmp.Or(at, f.Suite, "rehearse"), Lines: lines{Begin: max(1, f.Line)}},
		})
	}
	told := failing[:min(len(failing), maxAnnotations-1)]
	for _, r := range said.others(told, len(failing)+more-len(told)) {
		fmt.Fprintf(w, "%s: %s\n", r.kind, r.what)
	}
	if said.Dir == "" {
		return nil
	}
	return runlog.WriteFile(filepath.Join(said.Dir, CodeQuality), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(issues)
	})
}
