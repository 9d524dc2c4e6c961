package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// RunAnnotations runs every conformance test on a store without annotations.
func RunAnnotations(t *testing.T, a *store.Annotations) {
	said := func(run, kind, test string) annotation.Annotation {
		return annotation.Annotation{
			Kind: kind, RunID: run, Suite: "shop \x00 ü", TestID: test, Target: "x", Trial: 2, Item: "turn-1",
			Verdict: "pass", Comment: "because\n\x00 of 'quotes'", Author: "ada", At: noon,
		}
	}
	add := func(all ...annotation.Annotation) {
		t.Helper()
		for _, one := range all {
			if err := a.Add(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []annotation.Annotation{
		said("one", annotation.Override, "a"), said("one", annotation.Label, "b"),
		said("one", annotation.Override, "a"),
	}
	add(want...)
	add(said("two", annotation.Override, "a"))
	got, err := a.Of(t.Context(), "one")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("of a run: %v (-added +got):\n%s", err, diff)
	}
	if none, err := a.Of(t.Context(), "three"); err != nil || none != nil {
		t.Errorf("of another run: %v, %v", none, err)
	}
	// The terms that were set last hold, in whichever run.
	first, last := said("one", annotation.Quarantine, "a"), said("two", annotation.Quarantine, "a")
	first.Owner, first.Until, first.Reason = "ada", "2026-03-04", "x"
	last.Owner, last.Until, last.Reason = "bob", "2026-04-04", "y"
	add(first, last)
	terms, err := a.Quarantines(t.Context())
	if diff := cmp.Diff(map[result.Key]quarantine.Terms{
		{Suite: first.Suite, TestID: "a"}: last.Terms(),
	}, terms); diff != "" || err != nil {
		t.Errorf("quarantines: %v (-want +got):\n%s", err, diff)
	}
	// Many at once are all kept.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { add(said("many", annotation.Override, fmt.Sprint(i))) })
	}
	all.Wait()
	if got, err := a.Of(t.Context(), "many"); len(got) != 8 || err != nil {
		t.Errorf("%d of 8 at once, %v", len(got), err)
	}
}
