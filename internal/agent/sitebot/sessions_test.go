package sitebot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// openRegistered opens a bot whose sessions have a register.
func openRegistered(t *testing.T, changes ...func(*sitebot.Config)) *theater {
	t.Helper()
	kept := sessionindex.NewMemory(graph.MemoryLimits{})
	return openTheater(t, shop, append([]func(*sitebot.Config){func(c *sitebot.Config) { c.Checkpoints = kept }},
		changes...)...)
}

func sessionOf(t *testing.T, th *theater, id string) *sitebot.Session {
	t.Helper()
	s, err := th.Session(t.Context(), "shop.example", id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func faultOf(err error) sitebot.Fault {
	if fault, ok := errors.AsType[*sitebot.Error](err); ok {
		return fault.Fault
	}
	return ""
}

func TestSession(t *testing.T) {
	th := openRegistered(t)
	th.intent(sitebot.Learn)
	th.say(t, "a", "what do you sell?")
	th.say(t, "a", "and at what price?")
	s := sessionOf(t, th, "a")
	if s.Row.Turns != 2 || s.Row.Outcome != sessionindex.Open || s.Row.Language != "en" || s.Row.Route != "ANSWER" ||
		s.Row.Started.After(s.Row.Last) || len(s.Turns) != 2 {
		t.Fatalf("%+v", s)
	}
	if one := s.Turns[1]; one.Number != 2 || one.Input != "and at what price?" ||
		one.Response != replies["answer_writer"] || one.Route != "ANSWER" || one.Action != "EDUCATE" ||
		one.Intent != "LEARN" || one.At.IsZero() || one.Note.Before != "ANSWER" {
		t.Errorf("%+v, %+v", one, one.Note)
	}
	for _, missing := range []error{
		func() error { _, err := th.Session(t.Context(), "shop.example", "none"); return err }(),
		th.Rate(t.Context(), "shop.example", "none", sessionindex.Feedback{Turn: 1, Rating: sessionindex.Up}),
		func() error { _, err := th.History(t.Context(), "shop.example", "none"); return err }(),
	} {
		if faultOf(missing) != sitebot.UnknownSession {
			t.Errorf("%v", missing)
		}
	}
}

// TestOutcomes holds what becomes of a session by what its last message got (2.19), and that failures leave no text.
func TestOutcomes(t *testing.T) {
	th := openRegistered(t)
	outcome := func(id string, wanted sessionindex.Outcome, failed int) {
		t.Helper()
		if r := sessionOf(t, th, id).Row; r.Outcome != wanted || r.Failed != failed {
			t.Errorf("%s: %s with %d failures, want %s with %d", id, r.Outcome, r.Failed, wanted, failed)
		}
	}
	fail := func(ctx context.Context, id, input string) error {
		_, err := th.Turn(ctx, sitebot.Request{Site: "shop.example", Session: id, Input: input}, nil)
		return err
	}
	th.intent(sitebot.Learn)
	th.say(t, "a", "hello")
	th.says("answer_writer", " ")
	if err := fail(t.Context(), "a", "secret words"); faultOf(err) != sitebot.Failed {
		t.Fatal(err)
	}
	outcome("a", sessionindex.Failed, 1)
	if err := fail(t.Context(), "new", "secret words"); faultOf(err) != sitebot.Failed {
		t.Fatal(err)
	}
	outcome("new", sessionindex.Failed, 1)
	if s := sessionOf(t, th, "new"); len(s.Turns) != 0 || len(s.Failures) != 1 || s.Failures[0].Code != "turn_failed" ||
		strings.Contains(fmt.Sprintf("%+v", s), "secret") {
		t.Errorf("%+v", s)
	}
	// Time that is over is a failure, a visitor who goes away is none.
	th.does("answer_writer", func(ctx context.Context, _ llm.Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	short, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	if err := fail(short, "a", "slow"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	done()
	outcome("a", sessionindex.Failed, 2)
	gone, leave := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, leave)
	if err := fail(gone, "a", "bye"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	outcome("a", sessionindex.Failed, 2)
	th.says("answer_writer", "Fine.")
	th.say(t, "a", "again")
	outcome("a", sessionindex.Open, 2)
	long := strings.Repeat("x", 15001)
	th.say(t, "a", long)
	outcome("a", sessionindex.Blocked, 2)
	th.say(t, "other", long)
	if _, err := th.Session(t.Context(), "shop.example", "other"); faultOf(err) != sitebot.UnknownSession {
		t.Errorf("a refused message has made a session: %v", err)
	}
}

func TestSessionsSearch(t *testing.T) {
	th := openRegistered(t)
	th.intent(sitebot.Learn)
	for i := range 5 {
		th.say(t, fmt.Sprint("s", i), fmt.Sprintf("do you have ÉCLAIRS or %d?", i))
	}
	th.say(t, "other", "no cakes")
	q := sitebot.Query{Text: "éclairs"}
	var found []string
	for q.Limit = 2; ; {
		list, err := th.Sessions(t.Context(), "shop.example", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Sessions {
			found = append(found, r.Session)
		}
		if list.Next == nil {
			break
		}
		if q.After, err = sessionindex.ParseCursor(*list.Next); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(found, " "); got != "s4 s3 s2 s1 s0" {
		t.Errorf("found %q", got)
	}
	if _, err := th.Sessions(t.Context(), "nowhere.example", q); faultOf(err) != sitebot.UnknownSite {
		t.Error(err)
	}
	// Of a session on Redis, the database has a mark in place of the state.
	if err := th.Checkpoints.(sessionindex.Index).SaveTurn(t.Context(), sitebot.Thread("shop.example", "elsewhere"),
		graph.Record{ID: "1", Source: graph.SourceFork, Values: []byte(`"on Redis"`)}, nil,
		sessionindex.Entry{Site: "shop.example", Session: "elsewhere", At: time.Now(), Turns: 1}); err != nil {
		t.Fatal(err)
	}
	q.After, q.Limit = sessionindex.Cursor{}, 10
	list, err := th.Sessions(t.Context(), "shop.example", q)
	if err != nil || len(list.Sessions) != 5 || list.Unreadable != 1 {
		t.Errorf("with a session elsewhere: %+v, %v", list, err)
	}
	if _, err := th.Session(t.Context(), "shop.example", "elsewhere"); err == nil ||
		!strings.Contains(err.Error(), "--redis") {
		t.Errorf("error %v", err)
	}
}

func TestRate(t *testing.T) {
	var rated []string
	th := openRegistered(t, func(c *sitebot.Config) {
		c.Rated = func(_, session, traceID string, f sessionindex.Feedback) {
			rated = append(rated, session+" "+f.Rating)
		}
	})
	th.intent(sitebot.Learn)
	th.say(t, "a", "one")
	rate := func(f sessionindex.Feedback) error { return th.Rate(t.Context(), "shop.example", "a", f) }
	for want, f := range map[sitebot.Fault]sessionindex.Feedback{
		sitebot.UnknownTurn: {Turn: 2, Rating: sessionindex.Up}, sitebot.InvalidRequest: {Turn: 1, Rating: "meh"},
	} {
		if err := rate(f); faultOf(err) != want {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if err := rate(sessionindex.Feedback{
		Turn: 1, Rating: sessionindex.Up, Comment: strings.Repeat("é", 2001),
	}); faultOf(err) != sitebot.InvalidRequest {
		t.Error(err)
	}
	if err := errors.Join(rate(sessionindex.Feedback{Turn: 1, Rating: sessionindex.Up}),
		rate(sessionindex.Feedback{Turn: 1, Rating: sessionindex.Down, Comment: "no"})); err != nil {
		t.Fatal(err)
	}
	s := sessionOf(t, th, "a")
	if len(s.Feedback) != 1 || s.Feedback[0].Comment != "no" || s.Row.Feedback != (sessionindex.Thumbs{Down: 1}) {
		t.Errorf("%+v", s)
	}
	if len(rated) != 0 { // no tracer: no trace has the turn
		t.Errorf("rated %v", rated)
	}
	if err := th.Erase(t.Context(), "shop.example", "a"); err != nil {
		t.Fatal(err)
	}
	if err := rate(sessionindex.Feedback{Turn: 1, Rating: sessionindex.Up}); faultOf(err) != sitebot.UnknownSession {
		t.Error(err)
	}
}
