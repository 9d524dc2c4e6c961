package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rehearse/internal/archive"
	"rehearse/internal/runlog"
)

// A large run is compared with its neighbours of the same suites, once both were read, and with no other run.
func TestForesee(t *testing.T) {
	root := t.TempDir()
	put := func(id string, hour, tests int, suite string) {
		t.Helper()
		dir := filepath.Join(root, id)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		for i := range tests {
			fmt.Fprintf(&log, `{"schema":1,"run_id":%q,"suite":%q,"test_id":"t%d","target":"a","score":1,"verdict":"pass"}`+"\n", id, suite, i)
		}
		record := fmt.Sprintf(`{"schema":1,"run_id":%q,"suites":[%q],"targets":["a"],"started_at":"2026-07-14T%02d:00:00Z","exit_reason":"passed","exit_code":0}`, id, suite, hour)
		for name, content := range map[string]string{runlog.LogFile: log.String(), runlog.RunFile: record} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("one", 1, manyTests, "s")
	put("other", 2, manyTests, "elsewhere")
	put("two", 3, manyTests, "s")
	put("small", 4, 3, "s")
	p := &Pages{Config: Config{Runs: archive.New(nil)}}
	p.Runs.AddRoot(root)
	look := func(id string) *archive.Index {
		t.Helper()
		run := p.Runs.Find(id)
		index, err := run.Index()
		if err != nil {
			t.Fatal(err)
		}
		p.foresee(run, index)
		return index
	}
	look("small")
	look("other")
	two := look("two")
	if n := len(p.metrics.kept); n != 1 { // with the small one, which was read and comes after it
		t.Errorf("%d comparisons are made before the first run is read", n)
	}
	one := look("one")
	if made := p.metrics.kept[compared{a: one, b: two}]; made == nil || made.lists == nil || len(made.lists.Unchanged) != manyTests {
		t.Errorf("the comparison of both is not kept: %+v", made)
	}
	if n := len(p.metrics.kept); n != 2 {
		t.Errorf("%d comparisons are kept", n)
	}
}
