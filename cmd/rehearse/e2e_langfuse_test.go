package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// remoteItems is a Langfuse with the example's items in a dataset.
func remoteItems(t *testing.T) *program {
	t.Helper()
	records, err := dataset.LoadRecords(filepath.Join("..", "..", "examples", "e2e", "items.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s := langfusetest.New(t)
	s.AddDataset("acme v1")
	for _, r := range records {
		s.AddItem("acme v1", r.ID, r.Input, r.Expected, r.Metadata)
	}
	return &program{server: s, variables: map[string]string{}}
}

// The items of a dataset in Langfuse are evaluated, and the evaluation is logged there as a run with a trace and scores
// of each.
func TestE2ELogs(t *testing.T) {
	p := remoteItems(t)
	judge := "scripted:" + filepath.Join("..", "..", "examples", "e2e", "judge.yaml")
	args := onSites(t, "e2e", "acme v1", "--judge", judge, "--out", t.TempDir(), "--format", "none", "--local-prompt")
	code, stdout, stderr := p.run(t, args...)
	if code != result.ExitPassed || !strings.Contains(stdout, "good answers  6 of 6") ||
		!strings.Contains(stderr, "of the dataset acme v1") {
		t.Fatalf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	var logged []string
	for _, i := range p.server.RunItems() {
		logged = append(logged, i.ItemID)
	}
	slices.Sort(logged)
	want := []string{
		"a-booking-under-way", "answers-the-open-question", "gives-an-address", "price", "prix", "says-yes-to-a-demo",
	}
	if d := cmp.Diff(want, logged); d != "" {
		t.Errorf("items of the run (-want +got):\n%s", d)
	}
	scores := map[string]int{}
	for _, s := range p.server.Scores() {
		scores[fmt.Sprint(s["name"])]++
	}
	if d := cmp.Diff(map[string]int{
		"accuracy": 1, "passed": 1, "correct": 6, "correctness": 7, "completeness": 7, "flow": 7, "format": 7,
	}, scores); d != "" {
		t.Errorf("scores (-want +got):\n%s", d)
	}
	for _, s := range p.server.Spans() {
		var input struct{ Query string }
		if text, _ := s.Attributes["langfuse.observation.input"].(string); json.Unmarshal([]byte(text),
			&input) != nil || input.Query == "" {
			t.Errorf("a trace has the input %q", text)
		}
	}

	// With --trace no nothing is logged; neither are items of a file.
	before := len(p.posts())
	for _, args := range [][]string{
		append(args, "--trace", "no"), onSites(t, "e2e", filepath.Join("..", "..", "examples", "e2e", "items.jsonl"),
			"--judge", judge, "--out", t.TempDir(), "--format", "none", "--local-prompt"),
	} {
		if code, _, stderr := p.run(t, args...); code != result.ExitPassed || strings.Contains(stderr, "logged") ||
			len(p.posts()) != before {
			t.Errorf("%v: exit code %d, %d kinds of requests instead of %d, stderr\n%s", args, code, len(p.posts()),
				before, stderr)
		}
	}
}
