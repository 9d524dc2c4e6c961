package runindex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// clock is a time that a test moves on.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC)} }

func writeRun(t testing.TB, dir string, run result.Run) {
	t.Helper()
	run.Schema = result.Schema
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := runlog.WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, dir string, tests ...*result.Test) {
	t.Helper()
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tests {
		if err := log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func record(id string, verdict result.Verdict, score float64) *result.Test {
	return &result.Test{
		Schema: result.Schema, RunID: "r", Suite: "s", TestID: id, Target: "t", Verdict: verdict, Score: score,
		Turns: make([]result.Turn, 2),
	}
}

func only(t testing.TB, a *runindex.Archive) *runindex.Found {
	t.Helper()
	runs, unreadable := a.Runs()
	if len(runs) != 1 || len(unreadable) > 0 {
		t.Fatalf("%d runs, unreadable %v", len(runs), unreadable)
	}
	return runs[0]
}

func indexOf(t testing.TB, run *runindex.Found) *runindex.Index {
	t.Helper()
	index, err := run.Index()
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// said lists the tests of an index as id=verdict.
func said(index *runindex.Index) string {
	var all []string
	for _, e := range index.Tests {
		all = append(all, fmt.Sprintf("%s=%s", e.TestID, e.Verdict))
	}
	return strings.Join(all, " ")
}

// A log is read as it grows: a later record replaces an earlier one, half a line is not there yet, and a line that is
// none is counted.
func TestGrows(t *testing.T) {
	dir, at := t.TempDir(), newClock()
	writeRun(t, dir, result.Run{
		ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}, Totals: result.Totals{Planned: 9},
	})
	a := runindex.New(at.now)
	a.Add(dir)
	if got := said(indexOf(t, only(t, a))); got != "" {
		t.Errorf("without a log: %q", got)
	}
	appendTo(t, dir, record("a", result.Fail, 0), record("b", result.Pass, 1))
	first := indexOf(t, only(t, a))
	if got := said(first); got != "a=fail b=pass" {
		t.Errorf("%q", got)
	}
	appendTo(t, dir, record("c", result.Error, 0), record("a", result.Pass, 0.9))
	log, err := os.OpenFile(filepath.Join(dir, runlog.LogFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString("no record\n\n{\"schema\":1,\"run_id\":\"r\",\"suite\":\"s\",\"test_"); err != nil {
		t.Fatal(err)
	}
	index := indexOf(t, only(t, a))
	if got := said(index); got != "a=pass b=pass c=error" || index.Unreadable != 1 {
		t.Errorf("%q, %d unreadable", got, index.Unreadable)
	}
	if said(first) != "a=fail b=pass" {
		t.Error("an index that was given out has changed")
	}
	if got := index.Run.Totals; got.Tests != 3 || got.Passed != 2 || got.Errors != 1 || got.Turns != 6 ||
		got.NotRun != 6 || index.Run.Rate != nil || *index.Run.Bounds != [2]float64{2. / 9, 1} {
		t.Errorf("%+v", got)
	}
	if _, err := log.WriteString("id\":\"d\",\"target\":\"t\",\"verdict\":\"skip\"}\n"); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	index = indexOf(t, only(t, a))
	if got := said(index); got != "a=pass b=pass c=error d=skip" || index.Unreadable != 1 {
		t.Errorf("%q, %d unreadable", got, index.Unreadable)
	}
	if indexOf(t, only(t, a)) != index {
		t.Error("an index is made anew though nothing has changed")
	}
	got, err := only(t, a).Read(index.Tests[0].Row)
	if err != nil || got.TestID != "a" || got.Score != 0.9 {
		t.Errorf("%+v %v", got, err)
	}
}

// A log that was written anew is read anew.
func TestWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
	appendTo(t, dir, record("a", result.Fail, 0), record("b", result.Pass, 1), record("a", result.Pass, 1))
	a := runindex.New(nil)
	a.Add(dir)
	old := indexOf(t, only(t, a))
	if err := runlog.Compact(dir, func(k result.Key) bool { return k.TestID == "b" }); err != nil {
		t.Fatal(err)
	}
	if got := said(indexOf(t, only(t, a))); got != "a=pass" {
		t.Errorf("%q", got)
	}
	if _, err := only(t, a).Read(old.Tests[1].Row); err == nil {
		t.Error("a row of the old log was read in the new one")
	}
}

// Trials stand under their test. A test with trials and no record of its own is not held yet, and one that the run
// names as not run is not either.
func TestTrials(t *testing.T) {
	dir := t.TempDir()
	trial := func(id string, n int, v result.Verdict) *result.Test {
		x := record(id, v, 0)
		x.Trial = n
		return x
	}
	sum := record("a", result.Pass, 0.5)
	sum.Trials = &result.Trials{Count: 2, Passed: 1, Class: "flaky"}
	writeRun(t, dir, result.Run{
		ID: "r", ExitReason: result.ReasonInterrupted, ExitCode: new(130), Targets: []string{"t"},
		Totals: result.Totals{Planned: 4, Completed: 1, Tests: 3, NotRun: 3}, NotRun: []result.Key{
			{Suite: "s", TestID: "b", Target: "t"},
			{Suite: "s", TestID: "old", Target: "t"},
			{Suite: "s", TestID: "z", Target: "t"},
		},
		LeftOut: []result.Key{{Suite: "s", TestID: "left", Target: "t"}},
	})
	appendTo(t, dir, trial("a", 2, result.Fail), trial("b", 1, result.Pass), trial("a", 1, result.Pass), sum,
		record("old", result.Pass, 1), record("left", result.Pass, 1))
	a := runindex.New(nil)
	a.Add(dir)
	index := indexOf(t, only(t, a))
	var pending []string
	for _, e := range index.Pending {
		pending = append(pending, fmt.Sprintf("%s %d", e.TestID, len(e.Of)))
	}
	if d := cmp.Diff([]string{"b 1", "old 0", "z 0"}, pending); d != "" || said(index) != "a=pass" ||
		len(index.Tests[0].Of) != 2 || index.Tests[0].Of[0].Trial != 1 {
		t.Errorf("%s: %s", said(index), d)
	}
	if index.Find(runindex.Test{Suite: "s", ID: "left", Target: "t"}) != nil {
		t.Error("a test that the run has left out is there")
	}
	if index.Missing != 1 { // a, old: the run counts a third
		t.Errorf("%d missing", index.Missing)
	}
}

// Tests come in the order of the run: suites as they began, targets as they were given.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{
		ID: "r", ExitReason: result.ReasonPassed, ExitCode: new(0), Targets: []string{"new", "old"},
	})
	var all []*result.Test
	for _, name := range []string{"one/a/old", "two/c/new", "one/b/new", "one/a/new", "two/c/old", "one/b/old"} {
		part := strings.Split(name, "/")
		x := record(part[1], result.Pass, 1)
		x.Suite, x.Target = part[0], part[2]
		all = append(all, x)
	}
	appendTo(t, dir, all...)
	a := runindex.New(nil)
	a.Add(dir)
	var got []string
	for _, e := range indexOf(t, only(t, a)).Tests {
		got = append(got, e.Suite+"/"+e.TestID+"/"+e.Target)
	}
	if d := cmp.Diff([]string{
		"one/a/new", "one/a/old", "one/b/new", "one/b/old", "two/c/new", "two/c/old",
	}, got); d != "" {
		t.Error(d)
	}
}

// Runs that appear are found, a run that nobody holds has died within 15 seconds, and of several folders of a run the
// one counts that has ended.
func TestFinds(t *testing.T) {
	root, at := t.TempDir(), newClock()
	a := runindex.New(at.now)
	a.AddRoot(filepath.Join(root, "runs"))
	if runs, _ := a.Runs(); len(runs) != 0 || a.Find(runindex.Latest) != nil {
		t.Error("runs of a folder that is not there")
	}
	put := func(folder, id string, began int, code *int, reason string) {
		writeRun(t, filepath.Join(root, "runs", folder), result.Run{
			ID: id, StartedAt: at.at.Add(time.Duration(began) * time.Hour), ExitCode: code, ExitReason: reason,
		})
	}
	put("one", "first", 1, new(0), result.ReasonPassed)
	put("two", "second", 2, nil, result.ReasonRunning)
	put("copy", "first", 1, nil, result.ReasonRunning)
	if err := os.MkdirAll(filepath.Join(root, "runs", "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "runs", "broken", runlog.RunFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	at.pass(time.Second)
	runs, unreadable := a.Runs()
	if len(runs) != 2 || runs[0].Record.ID != "second" || runs[1].Record.ID != "first" ||
		runs[1].Record.ExitCode == nil || len(unreadable) != 1 {
		t.Fatalf("%d runs %v", len(runs), unreadable)
	}
	if got := runs[0].Record.ExitReason; got != result.ReasonDied {
		t.Errorf("a run that nobody holds: %s", got)
	}
	if a.Find(runindex.Latest) != runs[0] || a.Find("first") != runs[1] || a.Find("fir") != nil ||
		a.Find("../one") != nil {
		t.Error("runs are not found by their ids")
	}
	lock, err := runlog.AcquireLock(t.Context(), filepath.Join(root, "runs", "two"))
	if err != nil {
		t.Fatal(err)
	}
	at.pass(5 * time.Second)
	if got := a.Find("second").Record.ExitReason; got != result.ReasonRunning {
		t.Errorf("a run that is resumed: %s", got)
	}
	_ = lock.Release()
	at.pass(15 * time.Second)
	if got := a.Find("second").Record.ExitReason; got != result.ReasonDied {
		t.Errorf("15 seconds after its end: %s", got)
	}
}

func TestOpen(t *testing.T) {
	root := t.TempDir()
	runs := filepath.Join(root, ".rehearse", "runs")
	writeRun(t, filepath.Join(runs, "20260714-a1"), result.Run{ID: "20260714-a1", StartedAt: time.Unix(1, 0)})
	writeRun(t, filepath.Join(runs, "20260715-b2"), result.Run{ID: "20260715-b2", StartedAt: time.Unix(2, 0)})
	writeRun(t, filepath.Join(root, "elsewhere", "run"), result.Run{ID: "other", StartedAt: time.Unix(3, 0)})
	below := filepath.Join(root, "project", "below")
	for _, dir := range []string{below, filepath.Join(root, "empty")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, one, want, err string
		args                 []string
	}{
		{"nothing", "", "20260715-b2 20260714-a1", "", nil},
		{"latest", "20260715-b2", "20260715-b2", "", []string{"latest"}},
		{"an id", "20260714-a1", "20260714-a1", "", []string{"20260714-a1"}},
		{"the beginning of one", "20260714-a1", "20260714-a1", "", []string{"20260714"}},
		{
			"of several", "", "", `several runs begin with "2026": use latest, a folder, or 20260715-b2, 20260714-a1`,
			[]string{"2026"},
		},
		{"a folder", "other", "other", "", []string{filepath.Join(root, "elsewhere", "run")}},
		{"a folder of runs", "", "other", "", []string{filepath.Join(root, "elsewhere")}},
		{"several", "", "other 20260714-a1", "", []string{filepath.Join(root, "elsewhere"), "20260714-a1"}},
		{"none", "", "", `there is no run "nope": use latest, a folder, or 20260715-b2, 20260714-a1`, []string{"nope"}},
		{"an empty folder", "", "", "has no run in it", []string{filepath.Join(root, "empty")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, one, err := runindex.Open(tc.args, below, nil)
			if tc.err != "" {
				if err == nil || !source.IsInvalid(err) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || one != tc.one {
				t.Fatal(one, err)
			}
			var ids []string
			found, _ := a.Runs()
			for _, run := range found {
				ids = append(ids, run.Record.ID)
			}
			if got := strings.Join(ids, " "); got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestWords(t *testing.T) {
	text := "Ich möchte die RÜCKERSTATTUNG sofort; bitte zweimal."
	for q, want := range map[string]bool{
		"ruckerstattung": true, "Bitte mochte": true, "bitte nie": false, `"bitte zweimal"`: true,
		`"zweimal bitte"`: false, "rück*": true, "rück": false, `"die rückerstattung" ich`: true, "": true, "***": true,
		"sofort;": true, `"sofort`: true,
	} {
		if got := runindex.ParseWords(q).Fit(text); got != want {
			t.Errorf("%s: %t", q, got)
		}
	}
}

// Whatever a log holds, in whatever pieces it is read, the index has what runlog.Read yields, and its totals.
func TestAsReadWhole(t *testing.T) {
	root, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t", "u"}})
		a := runindex.New(nil)
		a.Add(dir)
		for range rapid.IntRange(1, 4).Draw(rt, "pieces") {
			var tests []*result.Test
			for range rapid.IntRange(0, 8).Draw(rt, "records") {
				x := record(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id"),
					rapid.SampledFrom([]result.Verdict{
						result.Pass, result.Fail, result.Error, result.Skip,
					}).Draw(rt, "verdict"), 0.5)
				x.Target = rapid.SampledFrom([]string{"t", "u"}).Draw(rt, "target")
				if x.Trial = rapid.IntRange(0, 2).Draw(rt, "trial"); x.Trial == 0 && rapid.Bool().Draw(rt, "trials") {
					x.Trials = &result.Trials{Count: 2}
				}
				x.Cost.Unknown = rapid.Bool().Draw(rt, "unpriced")
				x.Usage.InputTokens = rapid.IntRange(0, 9).Draw(rt, "tokens")
				x.Failures = make([]result.Failure, rapid.IntRange(0, 2).Draw(rt, "failures"))
				tests = append(tests, x)
			}
			appendTo(t, dir, tests...)
			index := indexOf(t, only(t, a))
			var whole result.Tallies
			held := 0
			for x, err := range runlog.Read(dir) {
				if err != nil {
					rt.Fatal(err)
				}
				whole.Add(x)
				if x.Trial == 0 {
					held++
				}
			}
			want := result.Run{Targets: []string{"t", "u"}}
			want.Count(&whole, want.Planned())
			got := result.Run{
				Totals: index.Run.Totals, ByTarget: index.Run.ByTarget, PassRate: index.Run.PassRate,
				Targets: index.Run.Targets, ByTag: index.Run.ByTag, Trials: index.Run.Trials,
			}
			if d := cmp.Diff(want, got); d != "" || len(index.Tests) != held {
				rt.Fatalf("%d tests, want %d:\n%s", len(index.Tests), held, d)
			}
		}
	})
}
