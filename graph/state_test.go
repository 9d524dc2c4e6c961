package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
)

// single is a graph of one node.
func single(t testing.TB, c graph.Config, work func(ctx context.Context, s plain) (update, error)) *graph.Graph[plain] {
	t.Helper()
	b := plainGraph()
	b.Node("a", work)
	edges(b, "START a", "a END")
	return compiled(t, b, c)
}

func run(t testing.TB, g *graph.Graph[plain], thread string, u update) plain {
	t.Helper()
	s, err := g.Run(t.Context(), thread, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A turn begins with the state of the last one, and saves one checkpoint (1.4: LangGraph writes one for each
// superstep).
func TestTurns(t *testing.T) {
	g := single(t, graph.Config{}, func(_ context.Context, s plain) (update, error) {
		return update{logged.Add(fmt.Sprint("turn ", s.Count)), count.Set(s.Count + 1), sum.Set(10)}, nil
	})
	for range 3 {
		run(t, g, "thread", update{sum.Set(1)})
	}
	run(t, g, "other", nil)
	at, err := g.State(t.Context(), "thread")
	if err != nil {
		t.Fatal(err)
	}
	want := plain{Log: []string{"turn 0", "turn 1", "turn 2"}, Count: 3, Sum: 33}
	if diff := cmp.Diff(want, at.State); diff != "" || at.Turn != 3 || at.Source != graph.SourceTurn {
		t.Errorf("turn %d, source %s, state (-want +got)\n%s", at.Turn, at.Source, diff)
	}
	history, err := g.History(t.Context(), "thread")
	if err != nil || len(history) != 3 || history[2].ID != at.ID || history[1].ID != at.Parent ||
		history[0].Parent != "" {
		t.Errorf("history %+v, %v", history, err)
	}
	second, err := g.At(t.Context(), "thread", history[1].ID)
	if err != nil || len(second.State.Log) != 2 || second.Turn != 2 {
		t.Errorf("the second checkpoint is %+v, %v", second, err)
	}
	if _, err := g.At(t.Context(), "thread", "nothing"); !errors.Is(err, graph.ErrNoCheckpoint) {
		t.Errorf("an unknown checkpoint: %v", err)
	}
	if at, err := g.State(t.Context(), "nobody"); err != nil || at.ID != "" {
		t.Errorf("an unknown thread: %+v, %v", at, err)
	}
	if _, err := g.Run(t.Context(), "", nil, nil); err == nil {
		t.Error("a thread without a name was accepted")
	}
}

// A field of the turn begins empty (1.1: a key that is not in the input keeps last turn's value), and can be read after
// its turn.
func TestPerTurn(t *testing.T) {
	g := single(t, graph.Config{}, func(_ context.Context, s plain) (update, error) {
		return update{seen.Add(fmt.Sprint(len(s.Seen)))}, nil
	})
	for range 2 {
		if s := run(t, g, "thread", nil); fmt.Sprint(s.Seen) != "[0]" {
			t.Errorf("seen %q, want only this turn's", s.Seen)
		}
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || fmt.Sprint(at.State.Seen) != "[0]" {
		t.Errorf("after the turn: %q, %v", at.State.Seen, err)
	}
}

// A field tagged `json:"-"` is for the turn and in no checkpoint.
func TestHiddenField(t *testing.T) {
	store := graph.NewMemory(graph.MemoryLimits{})
	g := bot(t, graph.Config{Checkpoints: store})
	s, err := g.Run(t.Context(), "thread", botUpdate{input.Set("redirect"), reveal.Set("secret")}, nil)
	if err != nil || s.Reveal != "secret" {
		t.Fatalf("%q, %v", s.Reveal, err)
	}
	chain, err := store.Load(t.Context(), "thread", "")
	if err != nil || strings.Contains(string(chain[0].Values), "secret") {
		t.Errorf("the checkpoint holds %s, %v", chain[0].Values, err)
	}
	if s, err = g.Run(t.Context(), "thread", botUpdate{input.Set("redirect")}, nil); err != nil || s.Reveal != "" {
		t.Errorf("the next turn has %q, %v", s.Reveal, err)
	}
}

// A failed or cancelled turn leaves the thread as it was, except for kept fields (2.12: last_input and spam_count).
func TestKeptOnFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := false
		b := plainGraph()
		b.Node("a", func(_ context.Context, s plain) (update, error) {
			return update{logged.Add("a"), count.Set(s.Count + 1), kept.Set(s.Retained + 1)}, nil
		})
		b.Node("b", func(ctx context.Context, _ plain) (update, error) {
			if fail {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, nil
		})
		edges(b, "START a", "a b", "b END")
		g := compiled(t, b, graph.Config{})
		run(t, g, "thread", nil)
		fail = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Run(ctx, "thread", update{logged.Add("input")}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		at, err := g.State(t.Context(), "thread")
		if diff := cmp.Diff(plain{Log: []string{"a"}, Count: 1, Retained: 2}, at.State); err != nil || diff != "" ||
			at.Turn != 1 {
			t.Errorf("turn %d, %v, state (-want +got)\n%s", at.Turn, err, diff)
		}
		fail = false
		if s := run(t, g, "thread", nil); s.Retained != 3 || s.Count != 2 {
			t.Errorf("the next turn ends with %+v", s)
		}
	})
}

// Of two turns of one thread at once, one is saved and the other says so (1.4: the last writer wins).
func TestConcurrentTurns(t *testing.T) {
	b := plainGraph()
	meet := make(chan struct{})
	b.Node("a", func(context.Context, plain) (update, error) {
		select {
		case meet <- struct{}{}:
		case <-meet:
		}
		return update{logged.Add("x")}, nil
	})
	edges(b, "START a", "a END")
	g := compiled(t, b, graph.Config{})
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { _, errs[i] = g.Run(t.Context(), "thread", nil, nil) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), graph.ErrConflict) {
		t.Errorf("%v and %v, want one ErrConflict", errs[0], errs[1])
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || len(at.State.Log) != 1 {
		t.Errorf("%+v, %v", at.State, err)
	}
}

func TestFork(t *testing.T) {
	g := single(t, graph.Config{}, func(_ context.Context, s plain) (update, error) {
		return update{logged.Add(fmt.Sprint(len(s.Log))), count.Set(s.Count + 1)}, nil
	})
	for range 3 {
		run(t, g, "thread", nil)
	}
	history, err := g.History(t.Context(), "thread")
	if err != nil {
		t.Fatal(err)
	}
	into, err := g.Fork(t.Context(), "thread", history[1].ID, "copy")
	if err != nil || into.Turn != 2 || into.Source != graph.SourceFork || len(into.State.Log) != 2 ||
		into.Parent != "" {
		t.Errorf("%+v, %v", into, err)
	}
	if s := run(t, g, "copy", nil); fmt.Sprint(s.Log, s.Count) != "[0 1 2] 3" {
		t.Errorf("the copy goes on with %+v", s)
	}
	if _, err := g.Fork(t.Context(), "thread", "", "copy"); !errors.Is(err, graph.ErrHasState) {
		t.Errorf("forking into a thread that has state: %v", err)
	}
	if at, err := g.Fork(t.Context(), "thread", history[0].ID, ""); err != nil || at.Parent != history[0].ID {
		t.Errorf("%+v, %v", at, err)
	}
	if s := run(t, g, "thread", nil); fmt.Sprint(s.Log, s.Count) != "[0 1] 2" {
		t.Errorf("the fork goes on with %+v", s)
	}
	if at, err := g.At(t.Context(), "thread", history[2].ID); err != nil || len(at.State.Log) != 3 {
		t.Errorf("what the fork left behind is %+v, %v", at.State, err)
	}
	if _, err := g.Fork(t.Context(), "nobody", "", "else"); !errors.Is(err, graph.ErrNoCheckpoint) {
		t.Errorf("forking an unknown thread: %v", err)
	}
	if err := g.Delete(t.Context(), "copy"); err != nil {
		t.Error(err)
	}
	if at, err := g.State(t.Context(), "copy"); err != nil || at.ID != "" {
		t.Errorf("a deleted thread: %+v, %v", at, err)
	}
}

const history44 = `{"messages":[
	{"id":"0:u","role":"user","content":"I want to apply"},{"id":"0:a","role":"assistant","content":"👉 What stage is your company at?"},
	{"id":"1:u","role":"user","content":"I'm exploring an idea"},{"id":"1:a","role":"assistant","content":"👉 Business or technical profile?"}],
	"turn_number":2,"profiling_state":{"company_stage":"I'm exploring an idea"}}`

// One write through the reducers, nothing scheduled, and the next turn runs from START as if the
// conversation had been held.
func TestUpdateState(t *testing.T) {
	w := &watch{}
	g := bot(t, graph.Config{Observer: w})
	u, err := g.ParseUpdate([]byte(history44))
	if err != nil {
		t.Fatal(err)
	}
	at, err := g.UpdateState(t.Context(), "thread", u, graph.UpdateOptions{})
	if err != nil || at.Source != graph.SourceUpdate || at.Turn != 0 || at.State.Turn != 2 ||
		len(at.State.Messages) != 4 {
		t.Errorf("%+v, %v", at, err)
	}
	if len(w.nodes) > 0 {
		t.Errorf("the update ran %v", w.nodes)
	}
	if _, err := g.UpdateState(t.Context(), "thread", u, graph.UpdateOptions{}); !errors.Is(err, graph.ErrHasState) {
		t.Errorf("a second update: %v, want ErrHasState", err)
	}
	s, err := g.Run(t.Context(), "thread", botUpdate{input.Set("Technical")}, nil)
	if err != nil || len(s.Messages) != 6 || s.Turn != 3 || s.Messages[4].ID != "2:u" {
		t.Errorf("the turn after it: %+v, %v", s, err)
	}
	at, err = g.UpdateState(t.Context(), "thread", u, graph.UpdateOptions{Merge: true})
	if err != nil || len(at.State.Messages) != 6 || at.Turn != 1 || at.Source != graph.SourceUpdate ||
		at.State.LastInput != "Technical" {
		t.Errorf("merging the same messages again: %+v, %v", at, err)
	}
	for range 2 {
		at, err = g.UpdateState(t.Context(), "thread", u, graph.UpdateOptions{Replace: true})
		if err != nil || len(at.State.Messages) != 4 || at.Turn != 0 || at.Parent != "" || at.State.LastInput != "" {
			t.Errorf("replacing: %+v, %v", at, err)
		}
	}
	if s, err = g.Run(t.Context(), "thread", botUpdate{input.Set("Technical")}, nil); err != nil ||
		len(s.Messages) != 6 {
		t.Errorf("the turn after replacing: %+v, %v", s, err)
	}
	records, err := g.History(t.Context(), "thread")
	if err != nil || len(records) != 6 {
		t.Errorf("%d records, %v; want all six", len(records), err)
	}
}

// Unknown keys are errors (1.5: LangGraph drops them in silence).
func TestParseUpdateErrors(t *testing.T) {
	g := bot(t, graph.Config{})
	for patch, want := range map[string]string{
		`{"mesages":[]}`:                       `unknown field "mesages" (known: booking_state, `,
		`{"Messages":[]}`:                      `unknown field "Messages" (known: booking_state, `,
		`{"Reveal":"x"}`:                       `unknown field "Reveal"`,
		`{"turn_number":1,"turn_number":2}`:    `field "turn_number" is given twice`,
		`{"turn_number":"one"}`:                `field "turn_number": cannot store a JSON string in a int`,
		`{"messages":[{"id":"1","text":"x"}]}`: `field "messages": json: unknown field "text"`,
		`{"booking_state":{"actve":true}}`:     `field "booking_state": json: unknown field "actve"`,
		`[]`:                                   "an update is a JSON object of fields",
		``:                                     "an update is a JSON object of fields",
		`{"input":"x"} {}`:                     "something follows the update",
		`{"input":"x"`:                         "the update does not end",
		`{"input":}`:                           `field "input": `,
		`{"messages":` + strings.Repeat("[", 20_000) + `}`: `field "messages": `,
	} {
		if u, err := g.ParseUpdate([]byte(patch)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, %v\nwant %s", patch, u, err, want)
		}
	}
}

// The checkpoint of turn 50 adds what that of turn 2 adds, and no message is stored twice (1.8: O(n²) checkpoints).
func TestCheckpointsGrowLinearly(t *testing.T) {
	store := graph.NewMemory(graph.MemoryLimits{})
	g := bot(t, graph.Config{Checkpoints: store})
	var sizes [51]int64
	for turn := 1; turn <= 50; turn++ {
		if _, err := g.Run(t.Context(), "thread", botUpdate{input.Set("What is it?")}, nil); err != nil {
			t.Fatal(err)
		}
		size, err := store.Size(t.Context(), "thread")
		if err != nil {
			t.Fatal(err)
		}
		sizes[turn] = size
	}
	early, late := sizes[2]-sizes[1], sizes[50]-sizes[49]
	if late*100 > early*115 { // the classifier keeps its last 20 intents
		t.Errorf("turn 2 adds %d bytes, turn 50 adds %d", early, late)
	}
	chain, err := store.Load(t.Context(), "thread", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range chain {
		if n := strings.Count(string(r.Appended), `"role"`); n != 2 || strings.Contains(string(r.Values), `"role"`) {
			t.Errorf("checkpoint %d stores %d messages, want its own two", i, n)
		}
	}
}

// A new program goes on with old conversations: what it no longer knows is passed over, what is new is empty. Broken
// records are errors.
func TestOldAndBrokenRecords(t *testing.T) {
	for name, test := range map[string]struct{ values, appended, want string }{
		"old":             {`{"name":"x","gone":1}`, `{"log":["a"],"gone":[1]}`, ""},
		"no list":         {`{"name":"x"}`, ``, ""},
		"broken values":   {`{"name":`, ``, "its values"},
		"broken appended": {`{}`, `{"log":"a"}`, "what it appends"},
	} {
		store := graph.NewMemory(graph.MemoryLimits{})
		err := store.Save(t.Context(), "thread", graph.Record{
			ID: "1", Values: []byte(test.values), Appended: []byte(test.appended),
		})
		if err != nil {
			t.Fatal(err)
		}
		g := single(t, graph.Config{Checkpoints: store}, note("b"))
		s, err := g.Run(t.Context(), "thread", nil, nil)
		if test.want == "" && (err != nil || s.Name != "x") ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// Another process may have gone on with a thread, or begun it anew: what is recalled of it counts only where the chain
// agrees.
func TestTwoProcesses(t *testing.T) {
	store := graph.NewMemory(graph.MemoryLimits{})
	work := func(_ context.Context, s plain) (update, error) {
		return update{logged.Add(fmt.Sprint(len(s.Log)))}, nil
	}
	one, two := single(t, graph.Config{Checkpoints: store}, work), single(t, graph.Config{Checkpoints: store}, work)
	for i := range 10 {
		g := one
		if i%3 == 0 {
			g = two
		}
		if s := run(t, g, "thread", nil); len(s.Log) != i+1 || s.Log[i] != fmt.Sprint(i) {
			t.Fatalf("turn %d: %v", i, s.Log)
		}
	}
	if err := two.Delete(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	run(t, two, "thread", nil)
	if s := run(t, one, "thread", nil); fmt.Sprint(s.Log) != "[0 1]" {
		t.Errorf("after the thread was deleted elsewhere: %v", s.Log)
	}
}

// A store that fails ends the turn, and what it says is in the error.
func TestStoreErrors(t *testing.T) {
	b := broken{graph.NewMemory(graph.MemoryLimits{})}
	g := single(t, graph.Config{Checkpoints: b}, note("a"))
	_, err := g.Run(t.Context(), "thread", nil, nil)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `saving thread "thread"`) {
		t.Error(err)
	}
}

type broken struct{ graph.Checkpointer }

func (broken) Save(context.Context, string, graph.Record) error { return errors.ErrUnsupported }

// A client that goes at the last moment does not lose the turn.
func TestSavedAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := single(t, graph.Config{Checkpoints: late{graph.NewMemory(graph.MemoryLimits{}), cancel}}, note("a"))
	if _, err := g.Run(ctx, "thread", nil, nil); err != nil {
		t.Error(err)
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || len(at.State.Log) != 1 {
		t.Errorf("%+v, %v", at, err)
	}
}

// late cancels the caller's context when the turn is being saved.
type late struct {
	graph.Checkpointer
	cancel func()
}

func (l late) Save(ctx context.Context, thread string, r graph.Record) error {
	l.cancel()
	return l.Checkpointer.Save(ctx, thread, r)
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
