package talk_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/grader"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
	"rehearse/internal/talk"
)

// agent answers what it is told to.
type agent struct {
	answer func(ctx context.Context, message string) (chat.Reply, error)
	closed atomic.Int64
	opened []runner.Opening
}

func (a *agent) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	a.opened = append(a.opened, o)
	return a, nil
}

func (a *agent) Send(ctx context.Context, c chat.Content) (chat.Reply, error) {
	return a.answer(ctx, c.Text)
}

func (a *agent) Close() error { a.closed.Add(1); return nil }

func echo(_ context.Context, message string) (chat.Reply, error) {
	switch message {
	case "fail":
		return chat.Reply{}, errors.New("the agent is ill")
	case "panic":
		panic("inside")
	}
	return chat.Reply{Text: "you said " + message, Ended: message == "bye"}, nil
}

func begin(t *testing.T, d *talk.Desk, o talk.Opening) *talk.Held {
	t.Helper()
	h, err := d.Begin(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A message that is not answered leaves the talk as it was; so does a target that panics.
func TestHeldFaults(t *testing.T) {
	d := talk.NewDesk(nil)
	a := &agent{answer: echo}
	h := begin(t, d, talk.Opening{Target: a, Name: "a"})
	for _, message := range []string{"one", "fail"} {
		if err := h.Say(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	if v := h.View(); len(v.Turns) != 1 || v.Unsaid != "fail" || !strings.Contains(v.Fault, "ill") {
		t.Errorf("%+v", v)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_ = h.Say(t.Context(), "panic")
	}()
	if v := h.View(); len(v.Turns) != 1 || v.Unsaid != "panic" || v.Busy {
		t.Errorf("after a panic: %+v", v)
	}
	if err := h.Say(t.Context(), "bye"); err != nil {
		t.Fatal(err)
	}
	if v := h.View(); len(v.Turns) != 2 || v.Fault != "" || !v.Over {
		t.Errorf("after the end: %+v", v)
	}
	if err := h.Say(t.Context(), "more"); err == nil {
		t.Error("a talk goes on that the agent has ended")
	}
	if err := d.Close(); err != nil || a.closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, a.closed.Load())
	}
	if err := h.Say(t.Context(), "more"); err == nil {
		t.Error("a talk goes on whose desk is closed")
	}
}

// A talk ends when nothing was said in it for half an hour, but not while its agent answers; a talk that is ended meanwhile is closed once.
func TestHeldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := talk.NewDesk(nil)
		slow := &agent{answer: func(ctx context.Context, message string) (chat.Reply, error) {
			select {
			case <-time.After(4 * time.Minute):
				return chat.Reply{Text: message}, nil
			case <-ctx.Done():
				return chat.Reply{}, ctx.Err()
			}
		}}
		h := begin(t, d, talk.Opening{Target: slow, Name: "slow"})
		time.Sleep(28 * time.Minute)
		said := make(chan error)
		go func() { said <- h.Say(t.Context(), "one") }()
		time.Sleep(3 * time.Minute)
		if err := h.Say(t.Context(), "two"); !errors.Is(err, talk.ErrBusy) {
			t.Errorf("a second message: %v", err)
		}
		if err := <-said; err != nil || d.Find(h.ID) == nil {
			t.Fatalf("%v; found %v", err, d.Find(h.ID))
		}
		time.Sleep(31 * time.Minute)
		if d.Find(h.ID) != nil || slow.closed.Load() != 1 {
			t.Errorf("an idle talk is held, closed %d times", slow.closed.Load())
		}

		h = begin(t, d, talk.Opening{Target: slow, Name: "slow"})
		go func() { said <- h.Say(t.Context(), "one") }()
		time.Sleep(time.Minute)
		d.End(h)
		if slow.closed.Load() != 1 {
			t.Error("a session was closed while it answered")
		}
		if <-said; slow.closed.Load() != 2 {
			t.Errorf("closed %d times", slow.closed.Load())
		}

		// An agent that never answers is given up.
		h = begin(t, d, talk.Opening{Target: &agent{answer: func(ctx context.Context, _ string) (chat.Reply, error) { <-ctx.Done(); return chat.Reply{}, ctx.Err() }}})
		if err := h.Say(t.Context(), "one"); err != nil || h.View().Fault == "" {
			t.Errorf("%v %+v", err, h.View())
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Talks are bounded in number, messages in length and number, and what is kept in bytes.
func TestDeskBounds(t *testing.T) {
	d := talk.NewDesk(nil)
	defer d.Close()
	large := strings.Repeat("x", 3<<20)
	h := begin(t, d, talk.Opening{Target: &agent{answer: func(context.Context, string) (chat.Reply, error) { return chat.Reply{Text: large}, nil }}})
	if err := h.Say(t.Context(), strings.Repeat("x", talk.MaxMessage+1)); err == nil {
		t.Error("a message that is too long is said")
	}
	said := 0
	for ; said < 10 && h.Say(t.Context(), "more") == nil; said++ {
	}
	if said != 3 {
		t.Errorf("%d replies of 3 MB were kept", said)
	}
	h = begin(t, d, talk.Opening{Target: &agent{answer: func(context.Context, string) (chat.Reply, error) { return chat.Reply{}, nil }}})
	said = 0
	for ; said < 1000 && h.Say(t.Context(), "m") == nil; said++ {
	}
	if said != 200 {
		t.Errorf("%d messages in one talk", said)
	}
	closed, held := 0, 2
	for ; held < 1000; held++ {
		if _, err := d.Begin(talk.Opening{Target: &agent{answer: echo}, Close: func() error { closed++; return nil }}); err != nil {
			break
		}
	}
	if held != 50 || closed != 1 {
		t.Errorf("%d talks at once; %d closed", held, closed)
	}
}

// A talk that goes on from a recorded one is graded as the turns that follow there, on the reply that was given.
func TestHeldGrades(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/suite.yaml"
	writeFile(t, file, `name: s
tests:
  - id: a
    mode: conversation
    turns:
      - {input: never, assertions: [{type: contains, value: never}]}
      - {input: two, assertions: [{type: contains, value: "said two"}]}
`)
	s, err := suite.Load(file, suite.Options{Kinds: grader.New(grader.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	var test *suite.Test
	for x := range s.Tests() {
		test = x
	}
	d := talk.NewDesk(nil)
	defer d.Close()
	a := &agent{answer: echo}
	earlier := []chat.Message{chat.Say(chat.User, "one"), chat.Say(chat.Assistant, "first")}
	start := suite.Start{Node: "n", Memory: json.RawMessage(`{"turn_index":1}`)}
	h := begin(t, d, talk.Opening{Target: a, Name: "a", Beginning: talk.Beginning{Earlier: earlier, Start: start}, Expected: talk.Expected{Test: test, Grading: grader.New(grader.Config{}), Offset: 1}})
	for _, message := range []string{"two", "three"} {
		if err := h.Say(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	v := h.View()
	if len(v.Scores) != 1 || v.Scores[0].Name != "turn-1" || v.Scores[0].Verdict != result.Pass {
		t.Errorf("%+v %s", v.Scores, v.Fault)
	}
	if o := a.opened[0].Test; len(o.Input) != 2 || o.Start.Node != "n" {
		t.Errorf("opened with %+v", o)
	}
	record := h.Record(v)
	if len(record.Output) != 6 || len(record.Turns) != 2 || record.Turns[1].Index != 2 {
		t.Errorf("%+v", record)
	}
	written, err := talk.Written("s", []talk.Said{{ID: "x", Beginning: h.Beginning, Turns: v.Turns}}, talk.Saving{})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(written))
	if s, err = suite.Load(file, suite.Options{}); err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	for x := range s.Tests() {
		if len(x.Input) != 2 || x.Start.Node != "n" || len(x.Start.Memory) == 0 {
			t.Errorf("%+v", x)
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
