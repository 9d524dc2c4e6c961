package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// scripted is an agent that goes from state to state by what it is told. It greets in "hello" and has ended in "bye".
type scripted struct {
	// moves are "state/message" → state; what is not there stays.
	moves map[string]string
	// asks are what states ask for, where it is not the state itself.
	asks map[string]string
	// fail is the message at which it breaks down, hang that at which it never answers, quits the state in which it
	// takes no further message.
	fail, hang, quits string

	name  string
	mu    *sync.Mutex
	calls *[]string
}

func (a *scripted) Open(_ context.Context, at replay.Moment) (replay.Conversation, error) {
	state := "hello"
	if at.Resumed {
		if state = at.State; state == "nowhere" {
			return nil, &replay.NotThereError{State: state, Why: "it does not exist"}
		}
	}
	return &scriptedTalk{a, state}, nil
}

func (a *scripted) RequestedField(state string) string { return a.asks[state] }

type scriptedTalk struct {
	agent *scripted
	state string
}

func (c *scriptedTalk) State() string { return c.state }

func (c *scriptedTalk) Close() error { return nil }

func (c *scriptedTalk) Send(ctx context.Context, text string) (replay.Answer, error) {
	if c.agent.calls != nil {
		c.agent.mu.Lock()
		*c.agent.calls = append(*c.agent.calls, c.agent.name+" "+text)
		c.agent.mu.Unlock()
	}
	switch {
	case text == "":
	case text == c.agent.fail:
		return replay.Answer{}, errors.New("it broke down")
	case text == c.agent.hang:
		<-ctx.Done()
		return replay.Answer{}, ctx.Err()
	}
	if next, ok := c.agent.moves[c.state+"/"+text]; ok {
		c.state = next
	}
	return replay.Answer{
		Reply: chat.Reply{Text: "in " + c.state, Usage: chat.Usage{InputTokens: 3}},
		State: c.state, Completed: c.state == "bye",
		Ended: c.state == "bye" || c.state == c.agent.quits,
		Data:  map[string]any{"said": text},
	}, nil
}

// talked makes a completed session of "state message → state" lines.
func talked(id string, lines ...string) *replay.Session {
	s := &replay.Session{ID: id, FlowID: "f", Completed: true}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, line := range lines {
		w := strings.Fields(line)
		s.Messages = append(s.Messages,
			replay.LoggedMessage{User: true, Text: w[1], Before: w[0], After: w[3], At: at},
			replay.LoggedMessage{Text: "in " + w[3], Before: w[3], After: w[3], At: at.Add(time.Second)})
		at = at.Add(10 * time.Second)
	}
	return s
}

// way shows a lane: each turn as "state message → state", with ! where it is not supported and ~ where the user is
// simulated.
func way(l *replay.Variation) []string {
	var turns []string
	for _, t := range l.Turns {
		mark := ""
		if !t.Supported {
			mark += "!"
		}
		if t.Invented {
			mark += "~"
		}
		turns = append(turns, mark+t.Before+" "+t.User+" → "+t.State)
	}
	return turns
}

var booking = map[string]string{"hello/book": "where", "where/Rome": "when", "when/May": "bye"}

func TestModes(t *testing.T) {
	logged := []string{"hello book → where", "where Rome → when", "when May → bye"}
	otherOrder := map[string]string{"hello/book": "when", "when/May": "where", "where/Rome": "bye"}
	for _, tc := range []struct {
		name      string
		mode      replay.Mode
		moves     map[string]string
		asks      map[string]string
		logged    []string
		want      []string
		completed bool
		coverage  float64
		diverges  *int
	}{
		{"recorded, the same way", replay.Recorded, booking, nil, logged, logged, true, 1, nil},
		{
			"recorded, ends early: what is left is not said", replay.Recorded,
			map[string]string{"hello/book": "bye"},
			nil, logged,
			[]string{"hello book → bye"},
			true, 1. / 3, new(1),
		},
		{
			"recorded, asks something else: the rest says nothing, also where the states meet again", replay.Recorded,
			map[string]string{"hello/book": "when", "when/Rome": "when", "when/May": "bye"},
			nil, logged,
			[]string{"hello book → when", "!when Rome → when", "!when May → bye"},
			true, 1. / 3, new(1),
		},
		{
			"recorded, another name for the same question", replay.Recorded,
			map[string]string{"hello/book": "city", "city/Rome": "when", "when/May": "bye"},
			map[string]string{"city": "field place", "where": "field place"},
			logged,
			[]string{"hello book → city", "city Rome → when", "when May → bye"},
			true, 1, new(1),
		},
		{
			"recorded, the log runs out", replay.Recorded,
			map[string]string{"hello/book": "where"},
			nil, logged,
			[]string{"hello book → where", "where Rome → where", "!where May → where"},
			false, 2. / 3, new(2),
		},
		{
			"forced, every turn is on the true path", replay.Forced,
			map[string]string{"hello/book": "when", "where/Rome": "when", "when/May": "bye"},
			nil, logged,
			[]string{"hello book → when", "where Rome → when", "when May → bye"},
			true, 1, new(1),
		},
		{
			"forced, a state that the agent has not", replay.Forced, booking, nil,
			[]string{"hello book → where", "nowhere x → when", "when May → bye"},
			[]string{"hello book → where", "!nowhere x → ", "when May → bye"},
			true, 2. / 3, new(2),
		},
		{
			"forced, the log goes on after the agent's end", replay.Forced,
			map[string]string{"hello/book": "bye"},
			nil, logged,
			[]string{"hello book → bye", "where Rome → where", "when May → when"},
			false, 1, new(1),
		},
		{
			"simulated, says what was said when the same was asked", replay.Simulated, otherOrder, nil, logged,
			[]string{"hello book → when", "!~when May → where", "!~where Rome → bye"},
			true, 1. / 3, new(1),
		},
		{
			"simulated, hangs up when there is nothing more to say", replay.Simulated,
			map[string]string{"hello/book": "elsewhere"},
			nil, logged,
			[]string{"hello book → elsewhere", "!~elsewhere Rome → elsewhere", "!~elsewhere May → elsewhere"},
			false, 1. / 3, new(1),
		},
		{
			"one turn", replay.Recorded,
			map[string]string{"hello/book": "bye"},
			nil,
			[]string{"hello book → bye"},
			[]string{"hello book → bye"},
			true, 1, nil,
		},
		{"nothing was said", replay.Recorded, booking, nil, nil, nil, false, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := talked("s", tc.logged...)
			r := &replay.Replayer{
				Candidate: &scripted{moves: tc.moves, asks: tc.asks}, Mode: tc.mode, User: replay.Recalled{},
			}
			pair, err := r.Replay(t.Context(), s)
			if err != nil || pair.Dropped != "" {
				t.Fatal(err, pair.Dropped)
			}
			replay.Measure(s, pair, replay.Measuring{})
			lane := pair.Variation(replay.Candidate)
			if diff := cmp.Diff(tc.want, way(lane)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if lane.Completed != tc.completed {
				t.Errorf("completed: %v", lane.Completed)
			}
			if diff := cmp.Diff(tc.diverges, lane.Metrics.FirstDivergence); diff != "" {
				t.Errorf("first divergence (-want +got)\n%s", diff)
			}
			if got := lane.Metrics.SupportCoverage; got == nil && len(tc.logged) > 0 ||
				got != nil && *got != tc.coverage {
				t.Errorf("coverage: %v, want %v", got, tc.coverage)
			}
		})
	}
}

// TestForcedStates proves that in forced mode a state counts at its own turn only.
func TestForcedStates(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	// each state comes one turn late
	late := map[string]string{"hello/book": "x", "where/Rome": "where", "when/May": "when"}
	pair, err := (&replay.Replayer{Candidate: &scripted{moves: late}, Mode: replay.Forced}).Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	replay.Measure(s, pair, replay.Measuring{})
	if m := pair.Variation(replay.Candidate).Metrics; m.Sequence.Levenshtein == 0 || *m.StateProgression != 0 {
		t.Errorf("by edit distance %v, by turn %v", m.Sequence.Levenshtein, *m.StateProgression)
	}
}

// TestForcedMissAtTheEnd proves that a lane which cannot take its last turn has not completed, whatever came before.
func TestForcedMissAtTheEnd(t *testing.T) {
	s := talked("s", "hello book → bye", "nowhere May → bye")
	r := &replay.Replayer{Candidate: &scripted{moves: map[string]string{"hello/book": "bye"}}, Mode: replay.Forced}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if lane := pair.Variation(replay.Candidate); lane.Completed || len(lane.Turns) != 2 ||
		lane.Turns[0].Bot != "in bye" || lane.Turns[1].Bot != "" {
		t.Errorf("%+v", lane)
	}
}

// TestForcedEarlyEnd proves that a lane which completes before the log's end has not ended as the log did, though it
// completes there, too.
func TestForcedEarlyEnd(t *testing.T) {
	s := talked("s", "hello book → where", "where May → bye")
	r := &replay.Replayer{
		Candidate: &scripted{moves: map[string]string{"hello/book": "bye", "where/May": "bye"}}, Mode: replay.Forced,
	}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if lane := pair.Variation(replay.Candidate); lane.Completed || len(lane.Turns) != 2 {
		t.Errorf("%+v", lane)
	}
}

// TestInTurns proves that lanes take turns, and that the seed says which goes first, which is not always the same.
func TestInTurns(t *testing.T) {
	orders := map[string]int{}
	for i := range 200 {
		var calls []string
		mu := &sync.Mutex{}
		s := talked(fmt.Sprint("s", i), "hello book → where", "where Rome → when", "when May → bye")
		r := &replay.Replayer{
			Baseline:  &scripted{moves: booking, name: "A", mu: mu, calls: &calls},
			Candidate: &scripted{moves: booking, name: "B", mu: mu, calls: &calls}, Mode: replay.Recorded,
			Seed: replay.Seed,
		}
		pair, err := r.Replay(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if want := "AB"[stats.Rank(replay.Seed, "lanes/"+s.ID)>>63]; calls[0][0] != want {
			t.Errorf("session %s begins with %s, and the seed says %c", s.ID, calls[0], want)
		}
		if want := map[byte]string{
			'A': replay.Baseline, 'B': replay.Candidate,
		}[calls[0][0]]; pair.FirstVariant != want {
			t.Errorf("session %s begins with %s, and the pair says %s", s.ID, want, pair.FirstVariant)
		}
		orders[strings.Join(calls, ", ")]++
	}
	first, second := orders["A book, B book, B Rome, A Rome, A May, B May"],
		orders["B book, A book, A Rome, B Rome, B May, A May"]
	if first+second != 200 || first < 60 || second < 60 {
		t.Errorf("orders: %v", orders)
	}
}

// TestDropped proves that a lane that fails drops the pair and says where, and that nothing is made of an interrupted
// one.
func TestDropped(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when")
	r := &replay.Replayer{
		Baseline: &scripted{moves: booking}, Candidate: &scripted{moves: booking, fail: "Rome"}, Mode: replay.Recorded,
	}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := "candidate, turn 2: it broke down"; pair.Dropped != want {
		t.Errorf("got %q, want %q", pair.Dropped, want)
	}
	replay.Measure(s, pair, replay.Measuring{})
	if pair.Variation(replay.Baseline).Metrics != nil {
		t.Error("a dropped pair is measured")
	}
	if failed, other := pair.Variation(replay.Candidate),
		pair.Variation(replay.Baseline); failed.Error != "it broke down" || len(failed.Turns) != 1 ||
		other.Error != "" || len(other.Turns) != 2 {
		t.Errorf("the lane that fails ends there and the other goes on: %+v, %+v", failed, other)
	}
	r.Baseline = &scripted{moves: booking, fail: "book"}
	if pair, err = r.Replay(t.Context(), s); err != nil ||
		pair.Dropped != "baseline, turn 1: it broke down; candidate, turn 2: it broke down" {
		t.Errorf("got %q, %v", pair.Dropped, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Replay(ended, s); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestAgentThatHangs checks that an agent which never answers costs its session, and not the run.
func TestAgentThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &replay.Replayer{
			TurnTimeout: time.Minute, Mode: replay.Recorded, Candidate: &scripted{moves: booking, hang: "Rome"},
		}
		began := time.Now()
		pair, err := r.Replay(t.Context(), talked("s", "hello book → where", "where Rome → when"))
		if err != nil || !strings.Contains(pair.Dropped, "candidate, turn 2: context deadline exceeded") {
			t.Errorf("got %v, %v", pair, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// TestOnSupport proves that figures on support look at the turns that both lanes have in common, and at whole sessions
// only where all turns are.
func TestOnSupport(t *testing.T) {
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	r := &replay.Replayer{
		Baseline:  &scripted{moves: booking},
		Candidate: &scripted{moves: map[string]string{"hello/book": "where", "where/Rome": "elsewhere"}},
		Mode:      replay.Recorded,
	}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	replay.Measure(s, pair, replay.Measuring{})
	baseline, candidate := pair.Variation(replay.Baseline).Metrics, pair.Variation(replay.Candidate).Metrics
	if got := []any{
		baseline.OnSupport.Turns, *baseline.OnSupport.StateProgression, *candidate.OnSupport.StateProgression,
	}; !cmp.Equal(got, []any{2, 1.0, 0.5}) {
		t.Errorf("got %v", got)
	}
	if candidate.OnSupport.CompletionMatch != nil || *candidate.CompletionMatch != 0 || *baseline.CompletionMatch != 1 {
		t.Errorf("completion: %v, %v, %v", candidate.OnSupport.CompletionMatch, *candidate.CompletionMatch,
			*baseline.CompletionMatch)
	}
}

// TestSameAgentTwice is the law behind --aa: an agent without chance scores the same in both lanes, whatever was said.
func TestSameAgentTwice(t *testing.T) {
	states := []string{"hello", "where", "when", "bye", "nowhere"}
	words := []string{"book", "Rome", "May", ""}
	rapid.Check(t, func(t *rapid.T) {
		moves := rapid.MapOf(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(states).Draw(t, "from") + "/" + rapid.SampledFrom(words).Draw(t, "word")
		}), rapid.SampledFrom(states)).Draw(t, "moves")
		s := &replay.Session{ID: rapid.String().Draw(t, "id"), Completed: rapid.Bool().Draw(t, "completed")}
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			s.Messages = append(s.Messages, replay.LoggedMessage{
				User: rapid.Bool().Draw(t, "user"), Text: rapid.SampledFrom(words).Draw(t, "text"),
				Before: rapid.SampledFrom(states).Draw(t, "before"), After: rapid.SampledFrom(states).Draw(t, "after"),
			})
		}
		agent := &scripted{moves: moves}
		now := time.Unix(0, 0)
		r := &replay.Replayer{
			Baseline: agent, Candidate: agent, Mode: rapid.SampledFrom(replay.Modes).Draw(t, "mode"),
			User: replay.Recalled{}, Now: func() time.Time { return now },
		}
		pair, err := r.Replay(context.Background(), s)
		if err != nil || pair.Dropped != "" {
			t.Fatal(err, pair.Dropped)
		}
		replay.Measure(s, pair, replay.Measuring{})
		a, b := *pair.Variation(replay.Baseline), *pair.Variation(replay.Candidate)
		a.Name, a.Metrics.Variant = b.Name, b.Metrics.Variant
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("(-baseline +candidate)\n%s", diff)
		}
		if c := b.Metrics.SupportCoverage; c != nil && (*c < 0 || *c > 1) {
			t.Fatalf("coverage %v", *c)
		}
	})
}
