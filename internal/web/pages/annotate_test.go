package pages_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// A secret that somebody pastes into a comment does not travel with the run.
func TestSecretInAComment(t *testing.T) {
	s, _ := withStore(t, func(c *pages.Config) {
		c.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted KEY]") }
	})
	reviewedRun(s)
	s.browser().send("/runs/one/tests/a?suite=shop&target=x", "override", map[string]string{
		"verdict": "pass", "comment": "with hunter2 it works", "author": "Ada",
	})
	said, _, err := annotation.Read(filepath.Join(s.root, "one"))
	if err != nil || len(said) != 1 || said[0].Comment != "with [redacted KEY] it works" {
		t.Errorf("%+v, %v", said, err)
	}
}

// What could not be written into the folder of the run is said: it does not travel with the run.
func TestSaidInTheStoreAlone(t *testing.T) {
	clock := now
	s, _ := withStore(t, func(c *pages.Config) { c.Now = func() time.Time { return clock } })
	reviewedRun(s)
	file := filepath.Join(s.root, "one", annotation.File)
	if err := os.Mkdir(file, 0o755); err != nil { // nothing can be written to it
		t.Fatal(err)
	}
	page := "/runs/one/tests/a?suite=shop&target=x"
	if status, _ := s.browser().send(page, "override", map[string]string{
		"verdict": "pass", "comment": "right", "author": "Ada",
	}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if shown := s.get(http.StatusOK, page); warned(shown, "in the store alone") {
		t.Error("it may be on its way")
	}
	clock = clock.Add(time.Minute)
	for _, at := range []string{page, "/runs/one"} {
		if shown := s.get(http.StatusOK, at); !warned(shown, "1 annotation of this run stands in the store alone") {
			t.Errorf("%s says nothing", at)
		}
	}
	s.browser().send(page, "override", map[string]string{"verdict": "fail", "comment": "wrong", "author": "Bob"})
	if said, _, err := annotation.Read(filepath.Join(s.root, "one")); err != nil || len(said) != 2 ||
		said[0].Author != "Ada" {
		t.Errorf("%+v, %v", said, err)
	}
	if shown := s.get(http.StatusOK, page); warned(shown, "in the store alone") {
		t.Error("it is still said")
	}
}

// Another run may take the folder while somebody writes: what was said of the one before is not said of it.
func TestFolderTakenByAnotherRun(t *testing.T) {
	root := t.TempDir()
	runs := runindex.New(func() time.Time { return now }) // it does not look again
	runs.AddRoot(root)
	s, kept := withStore(t, func(c *pages.Config) { c.Runs = runs })
	s.root = root
	reviewedRun(s)
	s.get(http.StatusOK, "/runs/one")
	dir := filepath.Join(root, "one")
	if err := runlog.WriteRun(dir, result.Run{
		Schema: result.Schema, ID: "two", ExitReason: result.ReasonPassed, ExitCode: new(0),
	}); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.browser().send("/runs/one/tests/a?suite=shop&target=x", "override", map[string]string{
		"verdict": "pass", "comment": "right", "author": "Ada",
	}); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	inStore, err := kept.Annotations().Of(t.Context(), "one")
	inFolder, _, err2 := annotation.Read(dir)
	if err != nil || err2 != nil || len(inStore) != 1 || len(inFolder) != 0 {
		t.Errorf("%v in the store, %v in the folder, %v %v", inStore, inFolder, err, err2)
	}
}

// With several targets what was reviewed, and the pass rate after it, stand with each target; there is none over
// different systems.
func TestReviewOfTargets(t *testing.T) {
	s, _ := withStore(t)
	other := talked("a")
	other.Target = "y"
	s.put(result.Run{
		ID: "one", Suites: []string{"shop"}, Targets: []string{"x", "y"},
		ByTarget: map[string]result.TargetResult{"x": {}, "y": {}},
	}, failed(talked("a"), result.AssistantContent, "no"), talked("b"), other)
	s.browser().send("/runs/one/tests/a?suite=shop&target=x", "override", map[string]string{
		"verdict": "pass", "comment": "right", "author": "Ada",
	})
	run := s.get(http.StatusOK, "/runs/one")
	for target, want := range map[string][2]string{"x": {"1", "1"}, "y": {"0", ""}} {
		rate := ""
		for _, figure := range run.All("data-figure=pass_rate_reviewed", "data-target="+target) {
			rate = figure.Attr["data-value"]
		}
		if got := run.One("data-figure=reviewed", "data-target="+target).Attr["data-value"]; got != want[0] ||
			rate != want[1] {
			t.Errorf("%s: %s reviewed, pass rate %q, want %v", target, got, rate, want)
		}
	}
	if len(run.All("data-figure=pass_rate_reviewed")) != 1 {
		t.Error("a rate over both targets")
	}
}

// Criteria and names of several lines are found again, though browsers send their ends in another way.
func TestFormsOfSeveralLines(t *testing.T) {
	s, _ := withStore(t)
	x := test("two\nlines", "a", "x\ny", "hello", "hello there")
	x.Scores[0].Assertions = []result.Assertion{{Text: "Greets\nin two lines\n", Passed: true, Grader: "rubrics"}}
	s.put(result.Run{ID: "one", Suites: []string{"s.yaml"}, Targets: []string{"x\ny"}}, x)
	b := s.browser()
	if status, _ := b.send("/judge?run=one", "label", map[string]string{
		"label": "pass", "author": "Ada", "comment": "one\ntwo",
	}); status != http.StatusSeeOther {
		t.Errorf("label: %d", status)
	}
	if n := len(s.get(http.StatusOK, "/judge?run=one&labelled=yes").All("data-row=judgement")); n != 1 {
		t.Errorf("%d labelled", n)
	}
	page := "/runs/one/tests/a"
	for form, fields := range map[string]map[string]string{
		"override": {"verdict": "fail", "comment": "one\ntwo", "author": "Ada", "item": "turn-1"},
		"dataset":  {"dataset": "d", "author": "Ada"},
		"quarantine": {
			"owner": "Ada", "until": now.AddDate(0, 0, 2).Format("2006-01-02"), "reason": "flaky", "author": "Ada",
		},
	} {
		if status, _ := b.send(page, form, fields); status != http.StatusSeeOther {
			t.Errorf("%s: %d", form, status)
		}
	}
	said, _, err := annotation.Read(filepath.Join(s.root, "one"))
	for _, a := range said {
		if a.Suite != x.Suite || a.Target != x.Target || a.Comment != "" && a.Comment != "one\ntwo" {
			t.Errorf("%+v", a)
		}
	}
	if err != nil || len(said) != 4 {
		t.Errorf("%d, %v", len(said), err)
	}
}
