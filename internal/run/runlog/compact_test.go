package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestCompact(t *testing.T) {
	dir := t.TempDir()
	write := func(tests ...*result.Test) {
		t.Helper()
		log, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tests {
			if err := log.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	row := func(id string, v result.Verdict) *result.Test {
		return &result.Test{Schema: 1, RunID: "r", Suite: "s", TestID: id, Target: "t", Verdict: v}
	}
	rows := func() (out []string) {
		data, err := os.ReadFile(filepath.Join(dir, LogFile))
		if err != nil {
			t.Fatal(err)
		}
		for range strings.Lines(string(data)) {
			out = append(out, "")
		}
		i := 0
		for r, err := range Read(dir) {
			if err != nil {
				t.Fatal(err)
			}
			out[i] = r.TestID + " " + string(r.Verdict)
			i++
		}
		return out
	}
	write(row("a", result.Pass), row("b", result.Fail))
	if err := Compact(dir, func(key result.Key) bool { return key.TestID == "gone" }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "results.before-1.jsonl")); err == nil {
		t.Error("a log without repeats was compacted")
	}
	write(row("b", result.Pass), row("gone", result.Pass))
	if err := Compact(dir, func(key result.Key) bool { return key.TestID == "gone" }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a pass", "b pass"}, rows()); diff != "" {
		t.Errorf("rows mismatch (-want +got):\n%s", diff)
	}
	before, err := os.ReadFile(filepath.Join(dir, "results.before-1.jsonl"))
	if err != nil || strings.Count(string(before), "\n") != 4 {
		t.Errorf("the log as it was is not kept: %v, %s", err, before)
	}
}

// TestKeepWithoutLinks stands for file systems that have no hard links.
func TestKeepWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	log, name := filepath.Join(dir, LogFile), filepath.Join(dir, "results.before-1.jsonl")
	if err := os.WriteFile(log, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(from, to string) error {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
	}
	if err := linkBackup(log, name, none); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "{}\n" {
		t.Errorf("kept %q, %v", got, err)
	}
}
