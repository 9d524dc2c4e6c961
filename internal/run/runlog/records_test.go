package runlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Records are found by their keys, the last of each, as they were when the log was opened.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	again := test("s", "rich", "later", "ok")
	write(t, dir, append(sample(), again)...)
	records, err := runlog.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	}()
	write(t, dir, test("s", "new", "x", "y"), test("s", "rich", "latest", "ok"))
	if err := runlog.Compact(dir, func(result.Key) bool { return true }); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key := range records.Keys() {
		line, err := records.Line(key)
		if err != nil {
			t.Fatal(err)
		}
		found, err := runlog.Decode(line)
		if err != nil || found.Key() != key {
			t.Errorf("the line of %v has the record of %v, %v", key, found.Key(), err)
		}
		if len(found.Output) > 0 {
			got[key.TestID+strings.Repeat("#", key.Trial)] = found.Output[0].Content.Text
		} else {
			got[key.TestID] = ""
		}
	}
	if diff := cmp.Diff(map[string]string{
		"rich": "later", "hos\"tile\n": "\x1b[2J", "often#": "a", "often": "",
	}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if _, err := records.Line(result.Key{Suite: "s", TestID: "new"}); err == nil {
		t.Error("a record that was written later is found")
	}
}

// A log that has lost something is refused: nobody would miss it.
func TestRecordsRefuse(t *testing.T) {
	for name, lines := range map[string]string{
		"line 2: it is no record": "{}\njunk\n{}\n", "line 1: it is no record": "[1]\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, runlog.LogFile), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := runlog.OpenRecords(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %s", lines, err, name)
		}
	}
	if _, err := runlog.OpenRecords(t.TempDir()); err == nil {
		t.Error("a folder without a log is opened")
	}
}
