package runindex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// edited returns a run of three tests. edit replaces a text in its log, and appends the record of a test.
func edited(t *testing.T, padding int) (run *Run, edit func(name, from, to string)) {
	t.Helper()
	dir := t.TempDir()
	if err := runlog.WriteRun(dir, result.Run{
		Schema: result.Schema, ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"},
	}); err != nil {
		t.Fatal(err)
	}
	lock, err := runlog.AcquireLock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
	said := strings.Repeat("word ", padding/10)
	line := func(id string) []byte {
		line, err := json.Marshal(&result.Test{
			Schema: 1, Suite: "s", TestID: id, Target: "t", Verdict: result.Pass, Score: 1,
			Turns: []result.Turn{{Index: 1, Output: said}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	path := filepath.Join(dir, runlog.LogFile)
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(bytes.Join([][]byte{line("a"), line("m"), line("z"), nil}, []byte("\n")))
	return &Run{Dir: dir, now: time.Now}, func(name, from, to string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(data, []byte(from), []byte(to), 1)
		if bytes.Equal(changed, data) {
			t.Fatalf("%s is not in the log", from)
		}
		write(append(append(changed, line(name)...), '\n'))
	}
}

func verdicts(t *testing.T, run *Run) (said string, index *Index) {
	t.Helper()
	index, err := run.Index()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range index.Tests {
		said += fmt.Sprintf("%s=%s ", e.TestID, e.Verdict)
	}
	return said, index
}

const passedM, failedM = `"test_id":"m","target":"t","score":1,"graded_score":null,"verdict":"pass"`,
	`"test_id":"m","target":"t","score":0,"graded_score":null,"verdict":"fail"`

// A short log is held against its rows before it is told what it says.
func TestEditedInTheMiddleAndAppended(t *testing.T) {
	run, edit := edited(t, 200_000)
	if got, _ := verdicts(t, run); got != "a=pass m=pass z=pass " {
		t.Fatal(got)
	}
	edit("n", passedM, failedM)
	if got, index := verdicts(t, run); got != "a=pass m=fail z=pass n=pass " || index.Run.Totals.Failed != 1 {
		t.Errorf("%s, %d failed", got, index.Run.Totals.Failed)
	}
}

// Of a long log a record that is shown is held against its row at once, and all others in the background.
func TestLongLogEditedInTheMiddleAndAppended(t *testing.T) {
	want := "a=pass m=fail z=pass n=pass "
	for name, look := range map[string]func(run *Run, m *Row) error{
		"listed": func(run *Run, m *Row) error { return run.Check([]*Row{m}) },
		"shown":  func(run *Run, m *Row) error { _, err := run.Read(m); return err },
		"graded": func(run *Run, m *Row) error { return run.Grades([]*Row{m}, func(int, *result.Test) {}) },
		"found": func(run *Run, m *Row) error {
			hits := []Hit{{Row: m}}
			return run.Fill(t.Context(), hits)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run, edit := edited(t, 2*checkAtOnce)
			_, index := verdicts(t, run)
			m := index.Find(Test{"s", "m", "t"}).Row
			if err := look(run, m); err != nil {
				t.Fatal(err)
			}
			run.checkAgain = time.Now().Add(time.Hour) // as after a check that took very long
			edit("n", passedM, failedM)
			if got, _ := verdicts(t, run); got != "a=pass m=pass z=pass n=pass " {
				t.Fatalf("%s: the log is no long one", got)
			}
			if err := look(run, m); !errors.Is(err, ErrRewritten) {
				t.Errorf("a record that says something else: %v", err)
			}
			if got, _ := verdicts(t, run); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	run, edit := edited(t, 2*checkAtOnce)
	verdicts(t, run)
	edit("n", passedM, failedM)
	verdicts(t, run)
	run.mu.Lock()
	checking := run.checking
	run.mu.Unlock()
	if checking != nil {
		<-checking
	}
	if got, _ := verdicts(t, run); got != want {
		t.Errorf("in the background: %s, want %s", got, want)
	}
}
