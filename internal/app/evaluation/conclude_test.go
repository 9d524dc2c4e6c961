package evaluation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// breaking is a sink that does something when the last conversation has ended.
type breaking struct {
	heard
	end func()
}

func (b *breaking) End() { b.end() }

// conclude is run with a sink of its own; it returns the error of Conclude, too.
func conclude(t *testing.T, dir string, end func(), formats ...string) (*evaluation.Completed, error) {
	t.Helper()
	return concludeWarning(t, dir, end, func(string) {}, formats...)
}

func concludeWarning(t *testing.T, dir string, end func(), warn func(string),
	formats ...string) (*evaluation.Completed, error) {
	t.Helper()
	s, err := wire.Open(wire.Options{Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := evaluation.New(t.Context(), evaluation.Config{
		Setup: s, Out: filepath.Join(dir, "out"), Formats: formats, Sink: &breaking{end: end},
		Spec: runspec.Spec{Suites: []string{filepath.Join(dir, "suite.yaml")}, Limits: runspec.Limits{Workers: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	held, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Conclude(held)
	return held, err
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Error(err)
	}
}

// A report that cannot be written makes the run aborted, in the other reports too.
func TestReportThatCannotBeWritten(t *testing.T) {
	dir := folder(t)
	out := filepath.Join(dir, "out")
	held, err := conclude(t, dir, func() { mkdir(t, filepath.Join(out, "junit.xml")) }, "md", "junit")
	if err != nil || held.Run.Code() != result.ExitNotRun || held.Run.ExitReason != result.ReasonAborted {
		t.Errorf("exit code %d, %s: %v", held.Run.Code(), held.Run.ExitReason, err)
	}
	if kept, err := runlog.ReadRun(out); err != nil || kept.Code() != result.ExitNotRun || len(kept.Warnings) != 1 {
		t.Errorf("run.json: %+v, %v", kept, err)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.md"))
	if first, _, _ := strings.Cut(string(page), "\n"); err != nil ||
		!strings.Contains(first, "Stopped (aborted): 2 of 2 tests completed") {
		t.Errorf("report.md begins with %q, %v", first, err)
	}
}

// A run whose record cannot be written at last, when a report could not be written either, does not say there that it
// ended better.
func TestRunThatCannotSayHowItEnded(t *testing.T) {
	dir := folder(t)
	out, moved := filepath.Join(dir, "out"), filepath.Join(dir, "moved")
	held, err := concludeWarning(t, dir, func() { mkdir(t, filepath.Join(out, "junit.xml")) }, func(string) {
		// once it is told that a report is missing, the folder is not there any more
		if err := os.Rename(out, moved); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}, "md", "junit")
	if err == nil || held.Run.Code() != result.ExitNotRun {
		t.Errorf("exit code %d, error %v", held.Run.Code(), err)
	}
	kept, err := runlog.Inspect(moved)
	if err != nil || kept.Code() != result.ExitNotRun || kept.ExitReason != result.ReasonDied {
		t.Errorf("run.json: %s, code %v, %v", kept.ExitReason, kept.ExitCode, err)
	}
}

// A run that cannot begin to hold says so: it is aborted, with what it had already.
func TestRunThatCannotBegin(t *testing.T) {
	dir := folder(t)
	run(t, dir, func(*evaluation.Config) {})
	out := filepath.Join(dir, "out")
	mkdir(t, filepath.Join(out, "junit.xml"))
	s, err := wire.Open(wire.Options{Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := evaluation.New(t.Context(), evaluation.Config{
		Setup: s, Out: out, Formats: []string{"md"}, Resume: true, Rerun: "failed",
		Spec: runspec.Spec{Suites: []string{filepath.Join(dir, "suite.yaml")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "out of date") {
		t.Fatalf("error %v", err)
	}
	kept, err := runlog.Inspect(out)
	if err != nil || kept.ExitReason != result.ReasonAborted || kept.Code() != result.ExitNotRun ||
		!strings.Contains(kept.ExitMessage, "out of date") {
		t.Errorf("run.json: %s, code %d, %q, %v", kept.ExitReason, kept.Code(), kept.ExitMessage, err)
	}
	if n := kept.Totals; n.Planned != 2 || n.Completed != 1 || n.Passed != 1 || n.NotRun != 1 ||
		len(kept.NotRun) != 1 || kept.NotRun[0].TestID != "coffee" {
		t.Errorf("totals %+v, not run: %v", n, kept.NotRun)
	}
}

// A folder that another run has taken, because the lock was not seen, keeps the other run's results.
func TestFolderTakenByAnotherRun(t *testing.T) {
	dir := folder(t)
	out := filepath.Join(dir, "out")
	other := result.Run{Schema: result.Schema, ID: "another"}
	held, err := conclude(t, dir, func() {
		if err := runlog.WriteRun(out, other); err != nil {
			t.Error(err)
		}
	}, "md")
	if err == nil || !strings.Contains(err.Error(), "run another has taken the folder") ||
		held.Run.Code() != result.ExitNotRun {
		t.Errorf("exit code %d, error %v", held.Run.Code(), err)
	}
	if kept, err := runlog.ReadRun(out); err != nil || kept.ID != "another" {
		t.Errorf("run.json is of run %q, %v", kept.ID, err)
	}
	if _, err := os.Stat(filepath.Join(out, "report.md")); err == nil {
		t.Error("a report was written into the folder of another run")
	}
}
