package graphtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// Saver is a checkpointer that keeps steps.
type Saver interface {
	graph.Checkpointer
	graph.StepSaver
}

// RunStepSaver checks what an implementation does with the steps of unfinished turns; open returns an empty one and
// closes it through t.Cleanup. RunCheckpointer does so, too, with a checkpointer that keeps steps.
func RunStepSaver(t *testing.T, open func(t *testing.T) Saver) {
	for name, check := range map[string]func(*testing.T, Saver){
		"steps in order":         checkStepsInOrder,
		"steps of a new thread":  checkStepsOfANewThread,
		"steps end with a turn":  checkStepsEnd,
		"steps of other threads": checkStepsOfOthers,
		"steps are bytes":        checkStepBytes,
		"steps at once":          checkStepsAtOnce,
		"steps, cancelled":       checkStepsCancelled,
		"claims":                 checkClaims,
		"claims at once":         checkClaimsAtOnce,
		"claims run out":         checkClaimsRunOut,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// RunCompactor checks that the records of a thread can be replaced by one.
func RunCompactor(t *testing.T, open func(t *testing.T) graph.Checkpointer) {
	t.Run("compact", func(t *testing.T) { checkCompact(t, open(t)) })
}

// step returns the nth step of a turn.
func step(turn, n int) graph.Step {
	return graph.Step{
		Turn: turn, Node: fmt.Sprintf("node %d/é", n), Item: n, At: begin.Add(time.Duration(n) * time.Second),
		Writes: json.RawMessage(fmt.Sprintf(`{ "n":%d,"s":"\u0000👉"}`, n)),
	}
}

func checkStepsInOrder(t *testing.T, s Saver) {
	save(t, s, "thread", record(1))
	var want []graph.Step
	for _, n := range []int{3, 1, 2, 1} {
		saveStep(t, s, "thread", step(2, n))
		want = append(want, step(2, n))
		wantSteps(t, s, "thread", want...)
	}
	wantChain(t, s, "thread", "", record(1))
	for range 2 {
		if err := s.DropSteps(t.Context(), "thread"); err != nil {
			t.Fatal(err)
		}
		wantSteps(t, s, "thread")
	}
	wantChain(t, s, "thread", "", record(1))
}

// checkStepsOfANewThread keeps steps of a thread that has no record, which reads as an unknown one.
func checkStepsOfANewThread(t *testing.T, s Saver) {
	ctx := t.Context()
	wantSteps(t, s, "thread")
	if err := s.DropSteps(ctx, "thread"); err != nil {
		t.Errorf("dropping the steps of an unknown thread: %v", err)
	}
	saveStep(t, s, "thread", step(1, 1))
	wantChain(t, s, "thread", "")
	if listed, err := s.List(ctx, "thread"); len(listed) != 0 || err != nil {
		t.Errorf("%d records are listed, %v", len(listed), err)
	}
	if _, err := s.Load(ctx, "thread", id(1)); !errors.Is(err, graph.ErrNoCheckpoint) {
		t.Errorf("an id of a thread without records: %v, want ErrNoCheckpoint", err)
	}
	wantSteps(t, s, "thread", step(1, 1))
	save(t, s, "thread", record(1))
	wantSteps(t, s, "thread")
	wantChain(t, s, "thread", "", record(1))
}

// checkStepsEnd drops steps with the record of their turn, and neither with one of an earlier turn nor with one that is
// refused.
func checkStepsEnd(t *testing.T, s Saver) {
	save(t, s, "thread", record(1))
	saveStep(t, s, "thread", step(2, 1))
	kept := record(2)
	kept.Turn = 1
	save(t, s, "thread", kept)
	wantSteps(t, s, "thread", step(2, 1))
	late := record(3)
	late.Parent = id(1)
	if err := s.Save(t.Context(), "thread", late); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("saving after an old record: %v, want ErrConflict", err)
	}
	wantSteps(t, s, "thread", step(2, 1))
	turn := record(3)
	turn.Turn = 2
	save(t, s, "thread", turn)
	wantSteps(t, s, "thread")

	saveStep(t, s, "thread", step(3, 1))
	if err := s.Delete(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	wantSteps(t, s, "thread")
}

func checkStepsOfOthers(t *testing.T, s Saver) {
	names := []string{"a", "A", "a:b", "a*", "%", "a\x00b", "日本語", strings.Repeat("n", 1000)}
	for i, name := range names {
		saveStep(t, s, name, step(1, i))
	}
	for i, name := range names {
		wantSteps(t, s, name, step(1, i))
	}
	if err := s.DropSteps(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	save(t, s, "A", record(1))
	for i, name := range names[2:] {
		wantSteps(t, s, name, step(1, i+2))
	}
}

// checkStepBytes wants large writes back, and awkward ones.
func checkStepBytes(t *testing.T, s Saver) {
	for i, writes := range []string{`{"b":1,"a":1.0}`, `{}`, `{"text":"` + strings.Repeat("€ ", 1<<20) + `"}`} {
		one := step(1, i)
		one.Writes = json.RawMessage(writes)
		thread := fmt.Sprint("thread ", i)
		saveStep(t, s, thread, one)
		wantSteps(t, s, thread, one)
	}
}

// checkStepsAtOnce loses none of the steps that nodes save side by side.
func checkStepsAtOnce(t *testing.T, s Saver) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := s.SaveStep(t.Context(), "thread", step(1, i)); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
	}
	all.Wait()
	steps, err := s.Steps(t.Context(), "thread")
	seen := map[int]bool{}
	for _, one := range steps {
		seen[one.Item] = true
	}
	if err != nil || len(steps) != 20 || len(seen) != 20 {
		t.Errorf("%d steps, %d of them different, %v; want 20", len(steps), len(seen), err)
	}
}

func checkStepsCancelled(t *testing.T, s Saver) {
	saveStep(t, s, "thread", step(1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, steps := s.Steps(ctx, "thread")
	for call, err := range map[string]error{
		"Steps": steps, "SaveStep": s.SaveStep(ctx, "thread", step(1, 2)), "DropSteps": s.DropSteps(ctx, "thread"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", call, err)
		}
	}
	wantSteps(t, s, "thread", step(1, 1))
}

// checkCompact replaces all records by one, keeps steps and other threads, and refuses what is not the newest.
func checkCompact(t *testing.T, c graph.Checkpointer) {
	compactor, ok := c.(graph.Compactor)
	if !ok {
		t.Skip("this checkpointer cannot be compacted")
	}
	for _, r := range upTo(4) {
		save(t, c, "thread", r)
		save(t, c, "other", r)
	}
	steps, _ := c.(graph.StepSaver)
	if steps != nil {
		saveStep(t, steps, "thread", step(5, 1))
	}
	only := record(4)
	only.Parent = ""
	only.Appended = json.RawMessage(`{"messages":["all"]}`)
	for thread, r := range map[string]graph.Record{"thread": record(3), "nobody": only} {
		if err := compactor.Compact(t.Context(), thread, r); !errors.Is(err, graph.ErrConflict) {
			t.Errorf("compacting %q to %s: %v, want ErrConflict", thread, r.ID, err)
		}
	}
	wantChain(t, c, "thread", "", upTo(4)...)
	for range 2 {
		if err := compactor.Compact(t.Context(), "thread", only); err != nil {
			t.Fatal(err)
		}
		wantChain(t, c, "thread", "", only)
		wantChain(t, c, "thread", id(4), only)
	}
	if listed, err := c.List(t.Context(), "thread"); len(listed) != 1 || err != nil {
		t.Errorf("%d records are listed, %v; want 1", len(listed), err)
	}
	for n := 1; n <= 3; n++ {
		if _, err := c.Load(t.Context(), "thread", id(n)); !errors.Is(err, graph.ErrNoCheckpoint) {
			t.Errorf("record %d can still be loaded: %v", n, err)
		}
	}
	if steps != nil {
		wantSteps(t, steps, "thread", step(5, 1))
	}
	save(t, c, "thread", record(5))
	wantChain(t, c, "thread", "", only, record(5))
	wantChain(t, c, "other", "", upTo(4)...)
}

func saveStep(t *testing.T, c graph.StepSaver, thread string, s graph.Step) {
	t.Helper()
	if err := c.SaveStep(t.Context(), thread, s); err != nil {
		t.Fatalf("saving a step of %q: %v", thread, err)
	}
}

func wantSteps(t *testing.T, c graph.StepSaver, thread string, want ...graph.Step) {
	t.Helper()
	got, err := c.Steps(t.Context(), thread)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q has %d steps, %v; want %d", thread, len(got), err, len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Turn != w.Turn || g.Node != w.Node || g.Item != w.Item || !g.At.Equal(w.At) ||
			!bytes.Equal(g.Writes, w.Writes) {
			t.Errorf("step %d of %q is %d %q %d %v %.100s\nwant %d %q %d %v %.100s",
				i, thread, g.Turn, g.Node, g.Item, g.At, g.Writes, w.Turn, w.Node, w.Item, w.At, w.Writes)
		}
	}
}

// checkClaims lets one claimant in at a time, the same as often as it likes, and each thread has a claim of its own.
func checkClaims(t *testing.T, s Saver) {
	ctx := t.Context()
	save(t, s, "thread", record(1))
	for _, thread := range []string{"thread", "new", "a:b", "a\x00b", "日本語"} {
		for range 2 {
			wantClaim(t, s, thread, "one", "")
		}
		for range 2 {
			wantClaim(t, s, thread, "two", "one")
		}
		if err := s.ReleaseTurn(ctx, thread, "two"); err != nil {
			t.Errorf("releasing what another one has: %v", err)
		}
		wantClaim(t, s, thread, "two", "one")
	}
	if err := s.ReleaseTurn(ctx, "thread", "one"); err != nil {
		t.Fatal(err)
	}
	wantClaim(t, s, "new", "two", "one")
	wantClaim(t, s, "thread", "two", "")
	wantClaim(t, s, "thread", "one", "two")
	wantChain(t, s, "thread", "", record(1))
	wantChain(t, s, "new", "")
	wantSteps(t, s, "new")
	if err := s.ReleaseTurn(ctx, "unclaimed", "one"); err != nil {
		t.Errorf("releasing what was not claimed: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.ClaimTurn(cancelled, "late", "one", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("claiming when cancelled: %v", err)
	}
	if err := s.ReleaseTurn(cancelled, "thread", "two"); !errors.Is(err, context.Canceled) {
		t.Errorf("releasing when cancelled: %v", err)
	}
	wantClaim(t, s, "thread", "one", "two")
}

// checkClaimsAtOnce lets one of many in.
func checkClaimsAtOnce(t *testing.T, s Saver) {
	var all sync.WaitGroup
	var claimed, busy atomic.Int32
	for i := range 20 {
		all.Go(func() {
			switch other, err := s.ClaimTurn(t.Context(), "thread", fmt.Sprint(i), time.Minute); {
			case err == nil:
				claimed.Add(1)
			case errors.Is(err, graph.ErrBusy) && other != "" && other != fmt.Sprint(i):
				busy.Add(1)
			default:
				t.Errorf("claimant %d: %q has it, %v", i, other, err)
			}
		})
	}
	all.Wait()
	if claimed.Load() != 1 || busy.Load() != 19 {
		t.Errorf("%d have claimed the thread, %d were refused", claimed.Load(), busy.Load())
	}
}

// checkClaimsRunOut lets another one in when the time is over, and not before the end of a time that was made longer.
func checkClaimsRunOut(t *testing.T, s Saver) {
	claim := func(thread, by string, lasts time.Duration) error {
		_, err := s.ClaimTurn(t.Context(), thread, by, lasts)
		return err
	}
	for _, lasts := range []time.Duration{time.Millisecond, time.Minute} {
		if err := claim("longer", "one", lasts); err != nil {
			t.Fatal(err)
		}
	}
	if err := claim("thread", "one", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; {
		err := claim("thread", "two", time.Minute)
		if err == nil {
			break
		}
		if !errors.Is(err, graph.ErrBusy) || time.Now().After(end) {
			t.Fatalf("claiming when the time is over: %v", err)
		}
	}
	wantClaim(t, s, "thread", "one", "two")
	wantClaim(t, s, "longer", "two", "one")
}

// wantClaim claims a thread for a minute, and wants another claimant to have it; "" means that there is none.
func wantClaim(t *testing.T, s Saver, thread, by, want string) {
	t.Helper()
	other, err := s.ClaimTurn(t.Context(), thread, by, time.Minute)
	if other != want || errors.Is(err, graph.ErrBusy) != (want != "") || err != nil && want == "" {
		t.Fatalf("%q claims %q: %q has it, %v; want %q", by, thread, other, err, want)
	}
}
