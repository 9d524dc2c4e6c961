// Package graphtest holds what every checkpointer has to fulfil.
package graphtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// Sizer is a checkpointer that can tell how many bytes of state it holds of a thread. With it, growth is checked too.
type Sizer interface {
	Size(ctx context.Context, thread string) (int64, error)
}

// RunCheckpointer checks an implementation; open returns an empty one and closes it through t.Cleanup.
func RunCheckpointer(t *testing.T, open func(t *testing.T) graph.Checkpointer) {
	for name, check := range map[string]func(*testing.T, graph.Checkpointer){
		"chain":       checkChain,
		"fork":        checkFork,
		"conflict":    checkConflict,
		"race":        checkRace,
		"unknown":     checkUnknown,
		"large":       checkLarge,
		"bytes":       checkBytes,
		"names":       checkNames,
		"list":        checkList,
		"delete":      checkDelete,
		"growth":      checkGrowth,
		"cancelled":   checkCancelled,
		"100 threads": checkThreads,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
	RunCompactor(t, open)
	RunStepSaver(t, func(t *testing.T) Saver {
		s, ok := open(t).(Saver)
		if !ok {
			t.Skip("this checkpointer keeps no steps")
		}
		return s
	})
}

// begin is a moment with microseconds, which every implementation keeps.
var begin = time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)

// record returns the nth record of a straight chain.
func record(n int) graph.Record {
	r := graph.Record{
		ID: id(n), Turn: n, Source: graph.SourceTurn, At: begin.Add(time.Duration(n) * time.Second),
		Values:   json.RawMessage(fmt.Sprintf(`{"turn":%3d}`, n)),
		Appended: json.RawMessage(fmt.Sprintf(`{"messages":[{"id":"%03d:u"},{"id":"%03d:a"}]}`, n, n)),
	}
	if n > 1 {
		r.Parent = id(n - 1)
	}
	return r
}

func id(n int) string { return fmt.Sprintf("%016x", n) }

// checkChain saves turn after turn; each time the newest and each older one can be read.
func checkChain(t *testing.T, c graph.Checkpointer) {
	for n := 1; n <= 5; n++ {
		save(t, c, "thread", record(n))
		wantChain(t, c, "thread", "", upTo(n)...)
	}
	for n := 1; n <= 5; n++ {
		wantChain(t, c, "thread", id(n), upTo(n)...)
	}
}

// checkFork goes on from the middle, then from nothing; what the fork left behind stays readable.
func checkFork(t *testing.T, c graph.Checkpointer) {
	for _, r := range upTo(4) {
		save(t, c, "thread", r)
	}
	fork := record(5)
	fork.Parent, fork.Source, fork.Appended = id(2), graph.SourceFork, nil
	save(t, c, "thread", fork)
	next := record(6)
	save(t, c, "thread", next)
	wantChain(t, c, "thread", "", record(1), record(2), fork, next)
	wantChain(t, c, "thread", id(4), upTo(4)...)

	anew := record(7)
	anew.Parent, anew.Source = "", graph.SourceFork
	save(t, c, "thread", anew)
	wantChain(t, c, "thread", "", anew)
	wantChain(t, c, "thread", id(6), record(1), record(2), fork, next)
}

// checkConflict refuses what does not go on from the newest, and keeps nothing of it.
func checkConflict(t *testing.T, c graph.Checkpointer) {
	ctx := t.Context()
	orphan := record(2)
	if err := c.Save(ctx, "thread", orphan); !errors.Is(err, graph.ErrConflict) {
		t.Errorf("saving with an unknown parent: %v, want ErrConflict", err)
	}
	if got, err := c.Load(ctx, "thread", ""); err != nil || len(got) != 0 {
		t.Fatalf("after a conflict the new thread has %d records, %v", len(got), err)
	}
	save(t, c, "thread", record(1))
	save(t, c, "thread", record(2))
	for _, parent := range []string{"", id(1), "nobody"} {
		late := record(3)
		late.Parent, late.Source = parent, graph.SourceUpdate
		if err := c.Save(ctx, "thread", late); !errors.Is(err, graph.ErrConflict) {
			t.Errorf("saving with parent %q: %v, want ErrConflict", parent, err)
		}
	}
	wantChain(t, c, "thread", "", upTo(2)...)
}

// checkRace lets 20 save after the same record: one succeeds, the others learn of it.
func checkRace(t *testing.T, c graph.Checkpointer) {
	save(t, c, "thread", record(1))
	const writers = 20
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			r := record(2)
			r.ID = id(2 + i)
			errs[i] = c.Save(t.Context(), "thread", r)
		})
	}
	wg.Wait()
	saved := 0
	for i, err := range errs {
		switch {
		case err == nil:
			saved++
		case !errors.Is(err, graph.ErrConflict):
			t.Errorf("writer %d: %v, want ErrConflict", i, err)
		}
	}
	if saved != 1 {
		t.Errorf("%d of %d saved, want one", saved, writers)
	}
	if got, err := c.List(t.Context(), "thread"); err != nil || len(got) != 2 {
		t.Errorf("%d records, %v; want 2", len(got), err)
	}
}

func checkUnknown(t *testing.T, c graph.Checkpointer) {
	ctx := t.Context()
	if got, err := c.Load(ctx, "nobody", ""); err != nil || len(got) != 0 {
		t.Errorf("an unknown thread has %d records, %v; want none and no error", len(got), err)
	}
	if got, err := c.List(ctx, "nobody"); err != nil || len(got) != 0 {
		t.Errorf("an unknown thread lists %d records, %v; want none and no error", len(got), err)
	}
	if err := c.Delete(ctx, "nobody"); err != nil {
		t.Errorf("deleting an unknown thread: %v, want no error", err)
	}
	save(t, c, "thread", record(1))
	other := record(2)
	other.Parent = ""
	save(t, c, "other", other)
	for _, thread := range []string{"nobody", "thread"} {
		if _, err := c.Load(ctx, thread, id(2)); !errors.Is(err, graph.ErrNoCheckpoint) {
			t.Errorf("thread %q, id of another thread: %v, want ErrNoCheckpoint", thread, err)
		}
	}
}

// checkLarge keeps records of several megabytes.
func checkLarge(t *testing.T, c graph.Checkpointer) {
	r := record(1)
	r.Values = json.RawMessage(`{"retrieved_docs":"` + strings.Repeat("€ ", 1<<20) + `"}`)
	r.Appended = json.RawMessage(`{"messages":["` + strings.Repeat("x", 1<<20) + `"]}`)
	save(t, c, "thread", r)
	wantChain(t, c, "thread", "", r)
}

// checkBytes wants values back as they were, byte for byte: order of keys, numbers, escapes, spaces.
func checkBytes(t *testing.T, c graph.Checkpointer) {
	for i, values := range []string{
		`{"b":1,"a":2}`, `{ "a" : 1.0 }`, `{"n":12345678901234567890}`, `{"s":"\u0000\u003c\ud83d\ude00 👉🏽"}`,
		`{"a":null,"b":[],"c":{}}`, `{}`,
	} {
		r := record(1)
		r.Values = json.RawMessage(values)
		r.Appended = nil
		thread := fmt.Sprint("thread ", i)
		save(t, c, thread, r)
		wantChain(t, c, thread, "", r)
	}
}

// checkNames keeps apart threads whose names are almost the same, or mean something to a database.
func checkNames(t *testing.T, c graph.Checkpointer) {
	names := []string{
		"a", "A", "a ", " a", "a:b", "a::b", "a:b:", "*", "a*", "?", "[a]", "{a}", "%", "_", "a_b", "a%b", "../a",
		"a/b", `a\b`, "a\nb", "a\tb", "a\x00b", `'; DROP TABLE records; --`, `"`, "`", "$1", "é", "e\u0301", "日本語",
		"👉🏽", "\u202ea", "latest", "a:latest", strings.Repeat("n", 1000), strings.Repeat("n", 1001),
	}
	for i, name := range names {
		save(t, c, name, named(i))
	}
	for i, name := range names {
		wantChain(t, c, name, "", named(i))
	}
}

func named(i int) graph.Record {
	r := record(1)
	r.Values = json.RawMessage(fmt.Sprintf(`{"name":%d}`, i))
	return r
}

func checkList(t *testing.T, c graph.Checkpointer) {
	want := upTo(3)
	fork := record(4)
	fork.Parent, fork.Source = id(1), graph.SourceFork
	want = append(want, fork)
	for _, r := range want {
		save(t, c, "thread", r)
	}
	got, err := c.List(t.Context(), "thread")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if len(got[i].Values)+len(got[i].Appended) > 0 {
			t.Errorf("record %d is listed with its state", i)
		}
		want[i].Values, want[i].Appended = nil, nil
		same(t, got[i], want[i])
	}
}

// checkDelete forgets one thread and no other; its name can be used again.
func checkDelete(t *testing.T, c graph.Checkpointer) {
	for _, thread := range []string{"thread", "thread:2"} {
		save(t, c, thread, record(1))
		save(t, c, thread, record(2))
	}
	if err := c.Delete(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	wantChain(t, c, "thread", "")
	if _, err := c.Load(t.Context(), "thread", id(2)); !errors.Is(err, graph.ErrNoCheckpoint) {
		t.Errorf("an id of a deleted thread: %v, want ErrNoCheckpoint", err)
	}
	wantChain(t, c, "thread:2", "", upTo(2)...)
	save(t, c, "thread", record(1))
	wantChain(t, c, "thread", "", record(1))
}

// checkGrowth wants turn 50 to add what turn 2 adds, within a tenth.
func checkGrowth(t *testing.T, c graph.Checkpointer) {
	sizer, ok := c.(Sizer)
	if !ok {
		t.Skip("this checkpointer does not tell its size")
	}
	var sizes [51]int64
	for n := 1; n <= 50; n++ {
		save(t, c, "thread", record(n))
		size, err := sizer.Size(t.Context(), "thread")
		if err != nil {
			t.Fatal(err)
		}
		sizes[n] = size
	}
	early, late := sizes[2]-sizes[1], sizes[50]-sizes[49]
	if early <= 0 || late*10 > early*11 {
		t.Errorf("turn 2 adds %d bytes, turn 50 adds %d", early, late)
	}
}

// checkCancelled wants calls of a cancelled context to fail and to save nothing.
func checkCancelled(t *testing.T, c graph.Checkpointer) {
	save(t, c, "thread", record(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, load := c.Load(ctx, "thread", "")
	_, list := c.List(ctx, "thread")
	for call, err := range map[string]error{
		"Load": load, "List": list, "Save": c.Save(ctx, "thread", record(2)), "Delete": c.Delete(ctx, "thread"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", call, err)
		}
	}
	wantChain(t, c, "thread", "", record(1))
}

// checkThreads lets 100 threads save and read at the same time.
func checkThreads(t *testing.T, c graph.Checkpointer) {
	var wg sync.WaitGroup
	for i := range 100 {
		thread := fmt.Sprintf("thread %d", i)
		wg.Go(func() {
			for n := 1; n <= 10; n++ {
				if err := c.Save(t.Context(), thread, record(n)); err != nil {
					t.Errorf("%s, turn %d: %v", thread, n, err)
					return
				}
				got, err := c.Load(t.Context(), thread, "")
				if err != nil || len(got) != n {
					t.Errorf("%s, turn %d: %d records, %v", thread, n, len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range 100 {
		wantChain(t, c, fmt.Sprintf("thread %d", i), "", upTo(10)...)
	}
}

func upTo(n int) []graph.Record {
	var records []graph.Record
	for i := 1; i <= n; i++ {
		records = append(records, record(i))
	}
	return records
}

func save(t *testing.T, c graph.Checkpointer, thread string, r graph.Record) {
	t.Helper()
	if err := c.Save(t.Context(), thread, r); err != nil {
		t.Fatalf("saving %s in %q: %v", r.ID, thread, err)
	}
}

// wantChain compares what leads to an id; the state only of the last, as the others may come without.
func wantChain(t *testing.T, c graph.Checkpointer, thread, id string, want ...graph.Record) {
	t.Helper()
	got, err := c.Load(t.Context(), thread, id)
	if err != nil {
		t.Fatalf("loading %q of %q: %v", id, thread, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%q of %q has %d records, want %d", id, thread, len(got), len(want))
	}
	for i, r := range want {
		loaded := got[i]
		if i < len(want)-1 {
			loaded.Values, r.Values = nil, nil
		}
		same(t, loaded, r)
	}
	if p, ok := c.(graph.Peeker); ok && id == "" {
		wantNewest(t, p, thread, want)
	}
}

func wantNewest(t *testing.T, p graph.Peeker, thread string, chain []graph.Record) {
	t.Helper()
	want := ""
	if n := len(chain); n > 0 {
		want = chain[n-1].ID
	}
	if id, err := p.Newest(t.Context(), thread); err != nil || id != want {
		t.Errorf("the newest record of %q is %q, %v; want %q", thread, id, err, want)
	}
}

func same(t *testing.T, got, want graph.Record) {
	t.Helper()
	if got.ID != want.ID || got.Parent != want.Parent || got.Turn != want.Turn || got.Source != want.Source ||
		!got.At.Equal(want.At) {
		t.Errorf("record %q after %q, turn %d, %s, %v\nwant   %q after %q, turn %d, %s, %v",
			got.ID, got.Parent, got.Turn, got.Source, got.At, want.ID, want.Parent, want.Turn, want.Source, want.At)
	}
	if !bytes.Equal(got.Values, want.Values) {
		t.Errorf("record %q has the values %.200s\nwant %.200s", got.ID, got.Values, want.Values)
	}
	if !bytes.Equal(got.Appended, want.Appended) {
		t.Errorf("record %q appends %.200s\nwant %.200s", got.ID, got.Appended, want.Appended)
	}
}
