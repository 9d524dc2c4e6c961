package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string
	}{
		{"", nil, None},
		{"", map[string]string{"CI": "true"}, None},
		{"", map[string]string{"GITHUB_ACTIONS": "true"}, GitHub},
		{"", map[string]string{"GITHUB_ACTIONS": "false"}, None},
		{"", map[string]string{"GITLAB_CI": "true"}, GitLab},
		{"none", map[string]string{"GITHUB_ACTIONS": "true"}, None},
		{"gitlab", map[string]string{"GITHUB_ACTIONS": "true"}, GitLab},
	} {
		s, err := Detect(c.flag, func(name string) string { return c.env[name] })
		if err != nil || s.Name != c.want {
			t.Errorf("--ci %q with %v: %q, %v; want %q", c.flag, c.env, s.Name, err, c.want)
		}
	}
	if _, err := Detect("travis", os.Getenv); err == nil {
		t.Error("an unknown system was accepted")
	}
}

// What a run says is never more than one command a line, whatever stands in it.
func TestAnnotationsAreOneCommandEach(t *testing.T) {
	f := report.Failing{
		Key: result.Key{TestID: "a\r\n::warning::forged,b:c%"}, Verdict: result.Fail, File: "x,y:z\n::error::%.yaml",
		Line: 3, Code: result.AssistantContent, Message: "one\r\n::error::two 100% : , three",
	}
	var b bytes.Buffer
	if err := (System{Name: GitHub}).Report(&b, Summary{Failing: func(int) ([]report.Failing, int, error) {
		return []report.Failing{f}, 0, nil
	}}); err != nil {
		t.Fatal(err)
	}
	const want = `::error file=x%2Cy%3Az%0A%3A%3Aerror%3A%3A%25.yaml,line=3,title=a%0A%3A%3Awarning%3A%3Aforged%2Cb%3Ac%25::ASSISTANT_CONTENT: one%0A::error::two 100%25 : , three` + "\n"
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
}

// A place outside the workspace stays as it is; what cannot be read says so.
func TestPlaces(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ workspace, file, want string }{
		{"", "suite.yaml", "suite.yaml"},
		{here, "suite.yaml", "suite.yaml"},
		{filepath.Dir(here), "suite.yaml", "ci/suite.yaml"},
		{filepath.Join(here, "deeper"), "suite.yaml", "suite.yaml"},
		{here, "../ci/suite.yaml", "suite.yaml"},
		{here, "", ""},
	} {
		if got := (System{Workspace: c.workspace}).file(c.file); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.file, c.workspace, got, c.want)
		}
	}
	broken := errors.New("the log is gone")
	said := Summary{Failing: func(int) ([]report.Failing, int, error) { return nil, 0, broken }}
	for _, name := range []string{GitHub, GitLab} {
		if err := (System{Name: name}).Report(&bytes.Buffer{}, said); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSummaryIsBounded(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat(strings.Repeat("é", 40)+"\n", 40_000)
	if err := os.WriteFile(filepath.Join(dir, "report.md"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	s := System{Name: GitHub, Summary: filepath.Join(dir, "summary.md")}
	none := Summary{Dir: dir, Failing: func(int) ([]report.Failing, int, error) { return nil, 0, nil }}
	if err := s.Report(&bytes.Buffer{}, none); err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile(s.Summary)
	if err != nil || len(summary) > maxSummary || !strings.HasSuffix(string(summary), "see report.md of the run\n") ||
		strings.Contains(string(summary), "\ufffd") {
		t.Errorf("%d bytes, ends with %q, %v", len(summary), summary[max(0, len(summary)-80):], err)
	}
}

// A run that was stopped says so, whatever failed.
func TestStoppedRuns(t *testing.T) {
	for name, want := range map[string]string{
		GitHub: "::error title=rehearse::Stopped (budget): 2 of 5 tests completed, 3 not run\n",
		GitLab: "error: Stopped (budget): 2 of 5 tests completed, 3 not run\n",
	} {
		var b bytes.Buffer
		said := Summary{
			Stopped: "Stopped (budget): 2 of 5 tests completed, 3 not run",
			Failing: func(int) ([]report.Failing, int, error) { return nil, 0, nil },
		}
		if err := (System{Name: name}).Report(&b, said); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v; want %q", name, b.String(), err, want)
		}
	}
	many := make([]report.Failing, maxAnnotations-1)
	var b bytes.Buffer
	said := Summary{Stopped: "Stopped", Deciding: len(many) + 4, Failing: func(int) ([]report.Failing, int, error) {
		return many, 4, nil
	}}
	if err := (System{Name: GitHub}).Report(&b, said); err != nil ||
		strings.Count(b.String(), "\n") != maxAnnotations || !strings.HasSuffix(b.String(), "5 more failing tests\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What is not named is counted by what it decides: a run that passes beside its quarantine shows no error.
func TestOthersInQuarantine(t *testing.T) {
	for _, c := range []struct {
		deciding, quarantined int
		github, gitlab        string
	}{
		{
			0, 12, "::warning title=3 more failing tests in quarantine::3 more failing tests in quarantine",
			"warning: 3 more failing tests in quarantine",
		},
		{10, 0, "::error title=1 more failing test::1 more failing test", "error: 1 more failing test"},
		{
			11, 1, "::error title=2 more failing tests::2 more failing tests\n" +
				"::warning title=1 more failing test in quarantine::1 more failing test in quarantine",
			"error: 2 more failing tests\nwarning: 1 more failing test in quarantine",
		},
		{
			4, 6, "::warning title=1 more failing test in quarantine::1 more failing test in quarantine",
			"warning: 1 more failing test in quarantine",
		},
	} {
		said := Summary{Deciding: c.deciding, Failing: func(most int) ([]report.Failing, int, error) {
			all := make([]report.Failing, c.deciding+c.quarantined)
			for i := range all {
				all[i].Quarantined = i >= c.deciding
			}
			most = min(most, len(all))
			return all[:most], len(all) - most, nil
		}}
		for name, want := range map[string]string{GitHub: c.github, GitLab: c.gitlab} {
			var b bytes.Buffer
			if err := (System{Name: name}).Report(&b, said); err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitN(strings.TrimSuffix(b.String(), "\n"), "\n", maxAnnotations)
			if got := lines[len(lines)-1]; got != want {
				t.Errorf("%s, %d and %d: %q, want %q", name, c.deciding, c.quarantined, got, want)
			}
		}
	}
}

// GitLab refuses a finding with an empty field. So a verdict over all has every field, and so has a test without a
// file.
func TestIssuesAreWhole(t *testing.T) {
	dir := t.TempDir()
	if err := (System{Name: GitLab}).Report(&bytes.Buffer{},
		Verdict(dir, "replay", "Not passed: worse", false)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, CodeQuality))
	if err != nil {
		t.Fatal(err)
	}
	var issues []issue
	if err := json.Unmarshal(data, &issues); err != nil || len(issues) != 1 {
		t.Fatalf("%s: %v", data, err)
	}
	if i := issues[0]; i.CheckName != "fail" || i.Location.Path != "rehearse" || i.Location.Lines.Begin != 1 ||
		i.Fingerprint == "" || i.Description == "" {
		t.Errorf("%+v", i)
	}
}
