package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// built appends records to a log that a Builder watches and returns its report.
func built(t testing.TB, dir string, run result.Run, tests ...*result.Test) *report.Report {
	t.Helper()
	log := openLog(t, dir)
	log.Redact = func(line []byte) []byte { return bytes.ReplaceAll(line, []byte("Amara"), []byte("[redacted NAME]")) }
	b := report.Watch(log, report.Formats())
	for _, x := range tests {
		if err := log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Report(run)
}

// TestBuilderIsTheLog compares reports that were built while the run was held with those from its log, byte for byte.
func TestBuilderIsTheLog(t *testing.T) {
	run, tests := sample()
	repeated := *tests[1]
	repeated.Verdict = result.Fail
	var large, many []*result.Test
	long := strings.Repeat("long ", 64<<10)
	for i := range 13 {
		large = append(large, test("s", fmt.Sprint(i), "hi", long))
	}
	for i := range 510 {
		many = append(many, conversationNo(i))
	}
	for name, tests := range map[string][]*result.Test{
		"sample": tests, "nothing": nil, "a record that is replaced": append(tests, &repeated), "more than is kept": large, "more than is shown": many,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			made := built(t, dir, run, tests...)
			want := report.New(run, runlog.Read(dir))
			for i, r := range []*report.Report{made, want} {
				out := filepath.Join(dir, fmt.Sprint(i))
				if err := os.Mkdir(out, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := r.Write(out, report.Formats()); err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if err := r.Text(&b, report.TextOptions{Verbose: true}); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(out, "text.txt"), b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range append(report.Formats().Files(), "text.txt") {
				a, errA := os.ReadFile(filepath.Join(dir, "0", file))
				b, errB := os.ReadFile(filepath.Join(dir, "1", file))
				if errA != nil || errB != nil || !bytes.Equal(a, b) {
					t.Errorf("%s differs: %v, %v\n%.2000s", file, errA, errB, cmp.Diff(string(b), string(a)))
				}
				if bytes.Contains(a, []byte("Amara")) {
					t.Errorf("%s holds what was redacted", file)
				}
			}
		})
	}
}

// TestBuilderOfAResumedRun has records that the Builder has never seen.
func TestBuilderOfAResumedRun(t *testing.T) {
	dir := t.TempDir()
	built(t, dir, result.Run{}, test("s", "before"))
	r := built(t, dir, result.Run{}, test("s", "after"))
	n := 0
	for _, err := range r.Tests() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("the report has %d tests, want 2", n)
	}
}

// TestBuilderReadsNothing renders side by side what a Builder has kept, without a log to fall back on.
func TestBuilderReadsNothing(t *testing.T) {
	dir := t.TempDir()
	run, tests := sample()
	r := built(t, dir, run, tests...)
	if err := os.Remove(filepath.Join(dir, runlog.LogFile)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir, report.Formats()); err != nil {
		t.Fatal(err)
	}
}
