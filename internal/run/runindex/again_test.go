package runindex_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// edit changes the log in dir where it stands, and gives it another time.
func edit(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, runlog.LogFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o644); err != nil { // the same file, not another of its name
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
}

// A log that somebody has changed where it stands is read anew, whether it is as large as before or larger: what has
// become a failure is one.
func TestChangedInPlace(t *testing.T) {
	fails := []byte(`"verdict":"fail"`)
	more := func(data []byte) []byte {
		last := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1:]
		return append(slices.Clip(data), bytes.Replace(last, []byte(`"test_id":"z"`), []byte(`"test_id":"new"`), 1)...)
	}
	for _, tc := range []struct {
		name, want string
		change     func([]byte) []byte
	}{
		{"the first record", "a=fail m=pass x=skip z=pass", func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"verdict":"pass"`), fails, 1)
		}},
		{"one in the middle", "a=pass m=fail x=skip z=pass", func(data []byte) []byte {
			return bytes.Replace(data,
				[]byte(`"test_id":"m","target":"t","score":1,"graded_score":null,"verdict":"pass"`),
				[]byte(`"test_id":"m","target":"t","score":1,"graded_score":null,"verdict":"fail"`), 1)
		}},
		{"the last one, and one more", "a=pass m=pass x=skip z=fail new=fail", func(data []byte) []byte {
			at := bytes.LastIndex(data, []byte(`"verdict":"pass"`))
			return more(append(append(data[:at:at], fails...), data[at+len(fails):]...))
		}},
		{"the first one, and one more", "a=fail m=pass x=skip z=pass new=pass", func(data []byte) []byte {
			return more(bytes.Replace(data, []byte(`"verdict":"pass"`), fails, 1))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
			long := record("a", result.Pass, 1)
			long.Turns[0].Output = strings.Repeat("word ", 20_000) // so that the middle is at no edge of what was read
			last := record("z", result.Pass, 1)
			last.Metadata = map[string]any{"long": long.Turns[0].Output}
			middle := record("m", result.Pass, 1)
			appendTo(t, dir, long, middle, record("x", result.Skip, 0), last, record("z", result.Pass, 1))
			a := runindex.New(nil)
			a.Add(dir)
			if got := said(indexOf(t, only(t, a))); got != "a=pass m=pass x=skip z=pass" {
				t.Fatal(got)
			}
			edit(t, dir, tc.change)
			index := indexOf(t, only(t, a))
			if got := said(index); got != tc.want || index.Unreadable != 0 {
				t.Errorf("%s, want %s; %d unreadable", got, tc.want, index.Unreadable)
			}
			if index.Run.Totals.Failed != strings.Count(tc.want, "=fail") {
				t.Errorf("%+v", index.Run.Totals)
			}
		})
	}
}

// Of a run whose log is gone nothing is shown as if it were there.
func TestLogGone(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{
		ID: "r", ExitReason: result.ReasonPassed, ExitCode: new(0), Targets: []string{"t"},
		Totals: result.Totals{Tests: 1, Passed: 1},
	})
	appendTo(t, dir, record("a", result.Pass, 1))
	a := runindex.New(nil)
	a.Add(dir)
	if index := indexOf(t, only(t, a)); said(index) != "a=pass" || index.Missing != 0 {
		t.Fatal(said(index), index.Missing)
	}
	if err := os.Remove(filepath.Join(dir, runlog.LogFile)); err != nil {
		t.Fatal(err)
	}
	if index := indexOf(t, only(t, a)); said(index) != "" || index.Missing != 1 {
		t.Errorf("%q, %d missing", said(index), index.Missing)
	}
	appendTo(t, dir, record("b", result.Fail, 0))
	if index := indexOf(t, only(t, a)); said(index) != "b=fail" {
		t.Errorf("%q", said(index))
	}
}

func telling(id, text string) *result.Test {
	x := record(id, result.Fail, 0)
	x.Turns[1].Output = text
	return x
}

func matching(t *testing.T, run *runindex.Found, q string) (found []string) {
	t.Helper()
	tests, err := run.Matching(t.Context(), indexOf(t, run), q)
	if err != nil {
		t.Fatal(err)
	}
	for test := range tests {
		found = append(found, test.ID)
	}
	return found
}

// Words are found as soon as their record is in the index, also while a log grows and several ask at once.
func TestWordsOfWhatGrows(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
	a := runindex.New(nil)
	a.Add(dir)
	run := only(t, a)
	if got := matching(t, run, "words"); len(got) != 0 {
		t.Errorf("%v: words of a run without a log", got)
	}
	for n := range 8 {
		var some []*result.Test
		for i := range 100 {
			some = append(some, telling(string(rune('a'+n))+string(rune('A'+i%26))+string(rune('A'+i/26)),
				"Common wörds"))
		}
		some = append(some, telling("special"+string(rune('a'+n)), "Unique"+string(rune('a'+n))))
		appendTo(t, dir, some...)
		var asking sync.WaitGroup
		for range 4 {
			asking.Go(func() {
				if got := matching(t, run, "words"); len(got) != 100*(n+1) {
					t.Errorf("%d tests with words, want %d", len(got), 100*(n+1))
				}
				if got := matching(t, run, "unique"+string(rune('a'+n))); len(got) != 1 ||
					got[0] != "special"+string(rune('a'+n)) {
					t.Errorf("%v", got)
				}
			})
		}
		asking.Wait()
	}
	appendTo(t, dir, telling("speciala", "Other"))
	if got := matching(t, run, "uniquea"); len(got) != 0 {
		t.Errorf("%v: words of a record that another has replaced", got)
	}
}

// Nobody is told that words stand nowhere because their log was written anew before they were read.
func TestWordsOfALogWrittenAnew(t *testing.T) {
	for name, anew := range map[string]func(t *testing.T, dir string){
		"another file": func(t *testing.T, dir string) {
			if err := runlog.Compact(dir, func(k result.Key) bool { return k.TestID == "gone" }); err != nil {
				t.Fatal(err)
			}
		},
		"the same file, shorter": func(t *testing.T, dir string) {
			edit(t, dir, func(data []byte) []byte { return data[bytes.IndexByte(data, '\n')+1:] })
		},
		"the same file, with other records": func(t *testing.T, dir string) {
			edit(t, dir, func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"test_id":"gone"`), []byte(`"test_id":"othr"`), 1)
			})
		},
		"no file": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, runlog.LogFile)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
			appendTo(t, dir, telling("gone", "Unique"), telling("stays", "Unique"))
			a := runindex.New(nil)
			a.Add(dir)
			run := only(t, a)
			index := indexOf(t, run)
			anew(t, dir)
			if found, err := run.Matching(t.Context(), index, "unique"); err == nil {
				t.Errorf("%v", found)
			}
			_, err := os.Stat(filepath.Join(dir, runlog.LogFile))
			if got := matching(t, run, "unique"); err == nil && !slices.Contains(got, "stays") ||
				slices.Contains(got, "gone") {
				t.Errorf("%v", got)
			}
		})
	}
}

// Records that are longer than what is read together are read like others, one by one.
func TestLongRecords(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
	long := strings.Repeat("more of the same ", 300_000)
	appendTo(t, dir, telling("a", long+"first"), telling("b", "short"), telling("c", long), telling("d", long+"last"))
	a := runindex.New(nil)
	a.Add(dir)
	run := only(t, a)
	if got := said(indexOf(t, run)); got != "a=fail b=fail c=fail d=fail" {
		t.Error(got)
	}
	for q, want := range map[string]string{"first": "a", "short": "b", "last same": "d"} {
		if got := matching(t, run, q); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", q, got, want)
		}
	}
}

// Of a log that is read in many pieces, by several at a time, every record has its own row and words, in the order of
// the log.
func TestManyPieces(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, result.Run{ID: "r", ExitReason: result.ReasonRunning, Targets: []string{"t"}})
	log, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	const records = 3_000
	name := func(n int) string { return fmt.Sprintf("test%05d", n) }
	for n := range records {
		x := telling(name(n), fmt.Sprintf("word%d and %s", n, strings.Repeat("pad ", n%50)))
		x.Failures = []result.Failure{{Code: result.AssistantContent, Message: "because of " + name(n)}}
		x.Tags, x.DurationMS = []string{"tag" + name(n)}, float64(n)
		if err := log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	a := runindex.New(nil)
	a.Add(dir)
	run := only(t, a)
	index := indexOf(t, run)
	if len(index.Tests) != records {
		t.Fatalf("%d tests", len(index.Tests))
	}
	for n, e := range index.Tests {
		if e.TestID != name(n) || e.Reason != "because of "+name(n) || e.Tags[0] != "tag"+name(n) ||
			e.DurationMS != float64(n) {
			t.Fatalf("test %d is %s of %v ms with the tags %v, as %q", n, e.TestID, e.DurationMS, e.Tags, e.Reason)
		}
	}
	for n := 0; n < records; n += 97 {
		if got := matching(t, run, fmt.Sprintf("word%d", n)); len(got) != 1 || got[0] != name(n) {
			t.Fatalf("word%d stands in %v", n, got)
		}
	}
}
