package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// told is a target that answers with replies in their order, and keeps how it was opened.
type told struct {
	replies []chat.Reply
	opened  []runner.Opening
	closed  int
}

func (t *told) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	t.opened = append(t.opened, o)
	return &toldSession{t, t.replies}, nil
}

type toldSession struct {
	target *told
	left   []chat.Reply
}

func (s *toldSession) Send(context.Context, chat.Content) (chat.Reply, error) {
	if len(s.left) == 0 {
		return chat.Reply{}, errors.New("it has nothing more to say")
	}
	r := s.left[0]
	s.left = s.left[1:]
	return r, nil
}

func (s *toldSession) Close() error {
	s.target.closed++
	return nil
}

// judged is a judge that says whether the reply holds a word. It keeps what it was asked.
type judged struct{ asked []grader.Question }

func (j *judged) Decide(_ context.Context, q grader.Question) (grader.Verdict, error) {
	j.asked = append(j.asked, q)
	switch q.Output {
	case "silence":
		return grader.Verdict{}, nil
	case "fault":
		return grader.Verdict{}, errors.New("the judge is gone")
	}
	return grader.Verdict{Checks: map[string]grader.RubricCheck{q.Rubrics[0].ID: {
		Satisfied: strings.Contains(q.Output, "booked"),
	}}}, nil
}

func reply(text, node, state string, ended bool) chat.Reply {
	return chat.Reply{Text: text, Node: node, State: json.RawMessage(state), Ended: ended}
}

// TestTargetAgent holds what the answers of a target come to, by what it tells and by its rules.
func TestTargetAgent(t *testing.T) {
	ends := target.Traits{States: true, Ends: true}
	for name, tc := range map[string]struct {
		traits  target.Traits
		rules   config.Completion
		replies []chat.Reply
		want    []string // state, C completed, E ended
		data    map[string]any
		fails   string
	}{
		"it tells states and its end": {
			traits: ends, replies: []chat.Reply{reply("a", "one", "", false), reply("b", "two", "", true)},
			want: []string{"one", "two CE"},
		},
		"a state that is missing once is not the last one": {
			traits: ends, replies: []chat.Reply{reply("a", "one", "", false), reply("b", "", "", false)},
			want: []string{"one", ""},
		},
		"what it tells beside its traits is no state and no end": {
			replies: []chat.Reply{reply("a", "task", "", false), reply("b", "", "", true)}, want: []string{"", " E"},
		},
		"a rule goes before the agent's end": {
			traits: ends, rules: config.Completion{When: `reply == "b"`},
			replies: []chat.Reply{reply("a", "one", "", true)}, want: []string{"one E"},
		},
		"rules over state, data, calls and turn": {
			traits: ends,
			rules: config.Completion{
				StateOf: `data.step ?? state`, DataOf: `{"got": data.n, "state": state}`,
				When: `turn == 2 && state == "2" && data.got == 2 && tool_calls[0].name == "book" && tool_calls[0].args.id == 7`,
			},
			replies: []chat.Reply{
				{Node: "one", State: json.RawMessage(`{"n": 1}`)},
				{Node: "x", State: json.RawMessage(`{"n": 2, "step": 2}`), ToolCalls: []chat.ToolCall{{
					Name: "book", Args: json.RawMessage(`{"id": 7}`),
				}}},
			},
			want: []string{"one", "2 C"}, data: map[string]any{"got": 2.0, "state": "x"},
		},
		"where it tells no node, the state is what answer.state finds": {
			rules:   config.Completion{StateOf: `state.at`, When: `state == "end"`},
			replies: []chat.Reply{reply("", "", `{"at": "end"}`, false)}, want: []string{"end C"},
		},
		"no state is none": {
			rules: config.Completion{StateOf: `data?.step`}, replies: []chat.Reply{reply("a", "", "", false)},
			want: []string{""},
		},
		"true in words is not true": {
			rules: config.Completion{When: `reply`}, replies: []chat.Reply{reply("true", "", "", false)},
			fails: "complete_when",
		},
		"nothing is not false": {
			rules: config.Completion{When: `data`}, replies: []chat.Reply{reply("true", "", "", false)},
			fails: "gives null",
		},
		"a list is no state": {
			rules: config.Completion{StateOf: `data`}, replies: []chat.Reply{reply("a", "", `[1]`, false)},
			fails: "state_of",
		},
		"a text is no data": {
			rules: config.Completion{DataOf: `data`}, replies: []chat.Reply{reply("a", "", `"x"`, false)},
			fails: "data_of",
		},
		"what is missing fails": {
			rules: config.Completion{When: `data.step == "x"`}, replies: []chat.Reply{reply("a", "", "", false)},
			fails: "complete_when",
		},
		"a judge decides": {rules: config.Completion{Judge: "it is booked"}, replies: []chat.Reply{
			reply("where?", "", "", false), reply("booked", "", "", false),
		}, want: []string{"", " C"}},
		"a judge that says nothing": {
			rules: config.Completion{Judge: "it is booked"}, replies: []chat.Reply{reply("silence", "", "", false)},
			fails: "said nothing",
		},
		"a judge that cannot be asked": {
			rules: config.Completion{Judge: "it is booked"}, replies: []chat.Reply{reply("fault", "", "", false)},
			fails: "the judge is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := replay.NewCompletion(tc.rules, &judged{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := (&replay.TargetAgent{
				Target: &told{replies: tc.replies}, Traits: tc.traits, Completion: rules,
			}).Open(t.Context(), replay.Moment{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			var a replay.Answer
			for range tc.replies {
				if a, err = c.Send(t.Context(), "hi"); err == nil {
					a, err = c.(replay.Decider).Decide(t.Context(), a)
				}
				if err != nil {
					break
				}
				if a.State != c.State() {
					t.Errorf("the answer is in %q, the conversation in %q", a.State, c.State())
				}
				got = append(got, a.State+strings.TrimRight(map[bool]string{true: " "}[a.Completed || a.Ended]+
					map[bool]string{true: "C"}[a.Completed]+map[bool]string{true: "E"}[a.Ended], " "))
			}
			switch {
			case tc.fails != "":
				if err == nil || !strings.Contains(err.Error(), tc.fails) || a.Completed {
					t.Errorf("got %v, completed: %v", err, a.Completed)
				}
			case err != nil:
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); tc.fails == "" && d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.data, a.Data); tc.data != nil && d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTargetAgentResumes holds what a target is told when a conversation begins in its middle, and that the judge reads
// all of it.
func TestTargetAgentResumes(t *testing.T) {
	judge := &judged{}
	rules, err := replay.NewCompletion(config.Completion{Judge: "it is booked"}, judge)
	if err != nil {
		t.Fatal(err)
	}
	to := &told{replies: []chat.Reply{reply("booked", "", "", false)}}
	a := &replay.TargetAgent{Target: to, Traits: target.Traits{Resumes: true}, Completion: rules}
	at := replay.Moment{
		SessionID: "s", State: "x", Resumed: true,
		History: []replay.LoggedMessage{{User: true, Text: "a table"}, {Text: "where?"}},
		Known:   map[string]any{"city": "Rome"},
	}
	c, err := a.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Send(t.Context(), "Rome")
	if err == nil {
		answer, err = c.(replay.Decider).Decide(t.Context(), answer)
	}
	if err != nil || !answer.Completed {
		t.Fatal(answer, err)
	}
	history := []chat.Message{chat.NewMessage(chat.User, "a table"), chat.NewMessage(chat.Assistant, "where?")}
	if d := cmp.Diff(history, to.opened[0].Test.Input); d != "" {
		t.Error(d)
	}
	if start := to.opened[0].Test.Start; start.Node != "" || start.Memory != nil {
		t.Errorf("an agent without a flow is given a state: %+v", start)
	}
	if d := cmp.Diff(append(history, chat.NewMessage(chat.User, "Rome")), judge.asked[0].Input); d != "" {
		t.Error(d)
	}
	if _, err := a.Open(t.Context(), at); err != nil || to.opened[0].ConversationID == to.opened[1].ConversationID ||
		to.opened[0].ConversationID == "s" {
		t.Errorf("two conversations have the ids %q and %q, %v", to.opened[0].ConversationID,
			to.opened[1].ConversationID, err)
	}
}

// TestForcedClosesEach holds that every conversation that was begun is ended.
func TestForcedClosesEach(t *testing.T) {
	for mode, want := range map[replay.Mode]int{replay.Forced: 2, replay.Recorded: 1} {
		to := &told{replies: []chat.Reply{reply("a", "", "", false), reply("b", "", "", false)}}
		r := &replay.Replayer{
			Candidate: &replay.TargetAgent{Target: to, Traits: target.Traits{Resumes: true}}, Mode: mode,
		}
		pair, err := r.Replay(t.Context(), talked("s", "hello book → where", "where Rome → when"))
		if err != nil || pair.Dropped != "" {
			t.Fatal(err, pair.Dropped)
		}
		if len(to.opened) != want || to.closed != want {
			t.Errorf("%s: %d were opened and %d closed, want %d", mode, len(to.opened), to.closed, want)
		}
	}
}

// TestHangingUp holds that an agent that ends the conversation ends its lane, without completing it where its rule says
// otherwise, and that the messages which were left are no messages that ran out.
func TestHangingUp(t *testing.T) {
	rules, err := replay.NewCompletion(config.Completion{When: `reply == "booked"`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := &told{replies: []chat.Reply{reply("goodbye", "", "", true)}}
	s := talked("s", "hello book → where", "where Rome → when", "when May → bye")
	r := &replay.Replayer{
		Candidate: &replay.TargetAgent{Target: to, Traits: target.Traits{Ends: true}, Completion: rules},
		Mode:      replay.Recorded,
	}
	pair, err := r.Replay(t.Context(), s)
	if err != nil || pair.Dropped != "" {
		t.Fatal(err, pair.Dropped)
	}
	replay.Measure(s, pair, replay.Measuring{})
	lane := pair.Variation(replay.Candidate)
	if m := lane.Metrics; lane.Completed || len(lane.Turns) != 1 || *m.Completed != 0 || *m.CompletionMatch != 0 ||
		m.Exhausted || *m.NeverSent < 0.6 {
		t.Errorf("%+v, metrics %+v", lane, m)
	}
}

// TestUnknownNodes holds that an agent whose nodes only its server knows is put where the log says, and nowhere where
// the log does not say.
func TestUnknownNodes(t *testing.T) {
	to := &told{}
	a := &replay.TargetAgent{Target: to, Traits: target.Traits{Flow: true, States: true}, Start: "begin"}
	for _, at := range []replay.Moment{
		{},
		{State: "where"},
		{State: "where", Resumed: true, Known: map[string]any{"city": "Rome"}},
	} {
		if _, err := a.Open(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	var nodes []string
	for _, o := range to.opened {
		nodes = append(nodes, o.Test.Start.Node)
	}
	if d := cmp.Diff([]string{"begin", "begin", "where"}, nodes); d != "" {
		t.Error(d)
	}
	if memory := string(to.opened[2].Test.Start.Memory); !strings.Contains(memory, `"key":"city","value":"Rome"`) {
		t.Errorf("it begins with the memory %s", memory)
	}
	var notThere *replay.NotThereError
	if _, err := a.Open(t.Context(), replay.Moment{Resumed: true}); !errors.As(err, &notThere) {
		t.Errorf("put into no state: %v", err)
	}
}
