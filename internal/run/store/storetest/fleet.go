package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Fleets are handles on one store for the runs of servers, of which there are none yet: the first handle, and what
// opens another one on the same data. They end with the test.
type Fleets struct {
	*store.Fleet
	Again func() *store.Fleet
}

// fleetTest is a conformance test.
type fleetTest struct {
	name string
	test func(*testing.T, Fleets)
}

// RunFleet runs every conformance test on the stores that open returns.
func RunFleet(t *testing.T, open func(t *testing.T) Fleets) {
	for _, group := range []struct {
		name  string
		tests []fleetTest
	}{
		{"runs", runTests},
		{"results", resultTests},
		{"events", eventTests},
		{"leases", leaseTests},
		{"deletion", deleteTests},
		{"the rest", otherTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tc := range group.tests {
				t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
			}
		})
	}
}

// submitted creates a run and returns it.
func submitted(t *testing.T, f Fleets, id string, change ...func(*store.NewRun)) store.Run {
	t.Helper()
	n := store.NewRun{
		Run: store.Run{
			ID: id, Schema: 1, Kind: "suite", Name: "nightly", Fingerprint: "f00d", Suites: []string{"shop"},
			Targets: []string{"agent"},
		},
		Spec: []byte(`{"schema": 1, "suites": ["shop.yaml"]}`),
	}
	for _, c := range change {
		c(&n)
	}
	run, created, err := f.CreateRun(t.Context(), n)
	if err != nil || !created || run.Status != store.RunQueued {
		t.Fatalf("CreateRun(%s): %+v, %t, %v", id, run, created, err)
	}
	return run
}

// moved changes the status of a run.
func moved(t *testing.T, f Fleets, id string, to store.RunStatus) {
	t.Helper()
	run, err := f.UpdateRun(t.Context(), id, store.Fence{}, func(r *store.Run) error {
		r.Status = to
		return nil
	})
	if err != nil || run.Status != to {
		t.Fatalf("%s to %s: %+v, %v", id, to, run, err)
	}
}

// begun creates a run that goes on.
func begun(t *testing.T, f Fleets, id string) {
	t.Helper()
	submitted(t, f, id)
	moved(t, f, id, store.RunRunning)
}

// tested is the result of a conversation.
func tested(id string, trial int, verdict result.Verdict) *result.Test {
	r := &result.Test{
		Schema: 1, RunID: "r", Suite: "shop", TestID: id, Trial: trial, Target: "agent", Verdict: verdict, Score: 0.5,
		DurationMS: 250,
		Output: []chat.Message{
			{Role: "user", Content: chat.Content{Text: "Where is my order " + id + "?"}},
			{Role: "assistant", Content: chat.Content{Text: "It has been sent."}},
		},
	}
	if verdict == result.Fail {
		r.Failures = []result.Failure{{Code: result.AssistantContent, Source: "structured", Message: "no"}}
	}
	return r
}

// putResults stores results and returns what became of them.
func putResults(t *testing.T, f Fleets, run string, tests ...*result.Test) []store.Stored {
	t.Helper()
	var results []store.NewResult
	for _, test := range tests {
		results = append(results, store.NewResult{Test: test, Worker: "w1"})
	}
	stored, err := f.PutResults(t.Context(), run, store.Fence{}, results)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// wantError wants an *store.Error that is a sentinel and says what to do.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	var e *store.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("error %v, want %v with a hint", err, want)
	}
}

// asJSON is a value as JSON, to be compared.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allRuns are the ids of the runs that a filter chooses, in pages of a size.
func allRuns(t *testing.T, f Fleets, filter store.RunFilter, limit int) (ids []string) {
	t.Helper()
	page := store.PageOf{Limit: limit}
	for {
		got, err := f.Runs(t.Context(), filter, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range got.Items {
			ids = append(ids, run.ID)
		}
		if got.Next == nil {
			return ids
		}
		if len(got.Items) != limit {
			t.Fatalf("a page of %d items and a cursor, want %d", len(got.Items), limit)
		}
		page.Cursor = *got.Next
	}
}

// allSeqs are the seqs of the results that a filter chooses, in pages of a size.
func allSeqs(t *testing.T, f Fleets, run string, filter store.ResultFilter, limit int) (seqs []int64) {
	t.Helper()
	page := store.PageOf{Limit: limit}
	for {
		got, err := f.Results(t.Context(), run, filter, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Items {
			seqs = append(seqs, r.Seq)
		}
		if got.Next == nil {
			return seqs
		}
		page.Cursor = *got.Next
	}
}

// cancelledContext is the context of a call that nobody waits for.
func cancelledContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

const never = time.Hour

func name(prefix string, n int) string { return fmt.Sprintf("%s%03d", prefix, n) }
