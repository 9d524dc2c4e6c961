package runindex_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Grades are those of every row, whoever wrote its line and in whatever order of fields; of a log that was written anew
// there are none.
func TestGrades(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
	graded := func(id, said string) *result.Test {
		x := record(id, result.Fail, 0)
		x.Scores = []result.Score{{
			Name: "turn-1", Verdict: result.Fail, Assertions: []result.Assertion{{Text: said, Grader: "rubrics"}},
		}}
		return x
	}
	appendTo(t, dir, graded("a", "Is polite"), graded("b", "Is kind"))
	log, err := os.OpenFile(filepath.Join(dir, runlog.LogFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"scores":[{"assertions":[{"grader":"rubrics","text":"Sorted"}],"name":"turn-1"}],"suite":"s","target":"t","test_id":"c","verdict":"fail"}`,
		`{"schema":1,"run_id":"r","suite":"s","test_id":"d","scores":[{"name":"turn-1","assertions":[{"text":"Behind","grader":"rubrics"}]}],"output":[],"target":"t","verdict":"fail"}`,
		`{"schema":1,"run_id":"r","suite":"s","test_id":"e","target":"t","verdict":"fail","scores":[{"name":"turn-1","assertions":[{"text":"First","grader":"rubrics"}]}],"output":[],"scores":[{"name":"turn-1","assertions":[{"text":"Last","grader":"rubrics"}]}]}`,
	} {
		if _, err := log.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	_ = log.Close()
	a := runindex.New(nil)
	a.Add(dir)
	run := only(t, a)
	var rows []*runindex.Row
	for _, e := range indexOf(t, run).Tests {
		rows = append(rows, e.Row)
	}
	said := make([]string, len(rows))
	if err := run.Grades(rows, func(i int, x *result.Test) {
		said[i] = x.TestID + " " + x.Scores[0].Assertions[0].Text
	}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a Is polite", "b Is kind", "c Sorted", "d Behind", "e Last"} {
		if said[i] != want {
			t.Errorf("%q, want %q", said[i], want)
		}
	}
	edit(t, dir, func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"test_id":"b"`), []byte(`"test_id":"z"`), 1)
	})
	if err := run.Grades(rows, func(int, *result.Test) {}); err == nil {
		t.Error("the grades of a row are those of another record")
	}
}
