package mine_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/mine"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// session writes a session down as "state: message > next state", one message of the user's a line; "bot: message" is
// the bot's. "completed" and "dropped" end it.
func session(number int, lines ...string) *replay.Session {
	start := time.Date(2026, 1, 31, 12, number, 0, 0, time.UTC)
	s := &replay.Session{ID: fmt.Sprint(number), FlowID: "f", Started: start, Ended: start}
	for i, line := range lines {
		state, said, _ := strings.Cut(line, ": ")
		text, next, moved := strings.Cut(said, " > ")
		m := replay.LoggedMessage{
			User: state != "bot", Text: text, Before: state, After: state,
			At: start.Add(time.Duration(i) * time.Second),
		}
		switch {
		case line == "completed":
			s.Completed = true
			continue
		case line == "dropped":
			s.Dropped = true
			continue
		case moved:
			m.After = next
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func all(sessions ...*replay.Session) iter.Seq2[*replay.Session, error] {
	return func(yield func(*replay.Session, error) bool) {
		for _, s := range sessions {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// failing is a test, also one of random logs.
type failing interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// written writes a flow and loads it again: it has to be valid, without a warning.
func written(t failing, f *mine.Flow) (text string, loaded *flow.Flow) {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, "rehearse flow mine"); err != nil {
		t.Fatal(err)
	}
	flows, err := flow.Load("mined.yaml", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if len(flows[0].Warnings) > 0 {
		t.Fatalf("%v\n%s", flows[0].Warnings, b.String())
	}
	return b.String(), flows[0]
}

// outline tells a flow in short: each node with the options that leave it.
func outline(f *mine.Flow) []string {
	lines := []string{fmt.Sprintf("%s > %s", f.Start, strings.Join(f.First, " "))}
	for _, n := range f.Nodes {
		line := fmt.Sprintf("%s %d", n.ID, n.Count)
		if n.Stop {
			line += " stop"
		}
		for _, o := range n.Options {
			line += fmt.Sprintf(" | %s %d %q > %s", o.ID, o.Count, o.Examples, o.Next)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestLearn(t *testing.T) {
	tests := map[string]struct {
		options  mine.Options
		sessions []*replay.Session
		want     []string
		left     mine.Left
	}{
		"successors become options, the most frequent first": {
			sessions: []*replay.Session{
				session(1, "hello: tea > tea", "tea: thanks > bye", "completed"),
				session(2, "hello: tea please > tea", "tea: thanks > bye", "completed"),
				session(3, "hello: coffee > coffee", "coffee: bye > bye", "completed"),
			},
			want: []string{
				"start > hello", `hello 3 | tea 2 ["tea" "tea please"] > tea | coffee 1 ["coffee"] > coffee`,
				`tea 2 | bye 2 ["thanks"] > bye`, `coffee 1 | bye 1 ["bye"] > bye`, "bye 3 stop",
			},
		},
		"what is rare is left out, and counted": {
			options: mine.Options{MinCount: 2},
			sessions: []*replay.Session{
				session(1, "hello: tea > tea", "tea: thanks > bye", "completed"),
				session(2, "hello: tea > tea", "tea: thanks > bye", "completed"),
				session(3, "hello: coffee > coffee", "coffee: bye > bye", "completed"),
			},
			want: []string{
				"start > hello", `hello 3 | tea 2 ["tea"] > tea`, `tea 2 | bye 2 ["thanks"] > bye`, "bye 3 stop",
			},
			left: mine.Left{States: 1, Transitions: 2, Moves: 2},
		},
		"a state keeps its most frequent way out, however rare": {
			options: mine.Options{MinCount: 2},
			sessions: []*replay.Session{
				session(1, "hello: tea > tea", "tea: thanks > bye", "completed"),
				session(2, "hello: tea > tea", "dropped"),
				session(3, "hello: leave > bye", "completed"),
				session(4, "hello: go > bye", "completed"),
			},
			want: []string{
				"start > hello", `hello 4 | bye 2 ["leave" "go"] > bye | tea 2 ["tea"] > tea`, "bye 3 stop",
				`tea 2 | bye 1 ["thanks"] > bye`,
			},
		},
		"a text belongs to the option on which it was said most, or to none": {
			sessions: []*replay.Session{
				session(1, "a: Yes! > b", "b: x > c", "completed"),
				session(2, "a: yes > b", "b: x > c", "completed"),
				session(3, "a: yes > c", "completed"),
				session(4, "a: hm", "a: hm", "a: hm > c", "completed"),
			},
			want: []string{"start > a", `a 4 | b 2 ["Yes!"] > b | c 2 [] > c`, `b 2 | c 2 ["x"] > c`, "c 4 stop"},
		},
		"so many examples, by frequency and then by time": {
			options: mine.Options{Examples: 2},
			sessions: []*replay.Session{
				session(3, "a: first, but told later > b", "completed"),
				session(1, "a: second > b", "completed"),
				session(2, "a: third > b", "completed"),
				session(4, "a: often > b", "completed"),
				session(5, "a: OFTEN > b", "completed"),
			},
			want: []string{"start > a", `a 5 | b 5 ["often" "second"] > b`, "b 5 stop"},
		},
		"an end is added where there is none, at the node where most sessions ended": {
			sessions: []*replay.Session{
				session(1, "a: go > b", "b: back > a", "a: go > b", "b: so what", "dropped"),
				session(2, "a: go > b", "b: well"),
			},
			want: []string{"start > a", `a 3 | b 3 ["go"] > b`, `b 3 | a 1 ["back"] > a | end 2 ["so what" "well"] > `},
		},
		"what follows an end is counted, and states of such names step aside": {
			sessions: []*replay.Session{
				session(1, "start: go > end", "end: one more thing > start", "start: stop > end", "end: thanks",
					"completed"),
				session(2, "start: go > end", "completed"),
			},
			want: []string{"start_2 > start", `start 3 | end 3 ["go" "stop"] > end`, "end 3 stop"},
			left: mine.Left{AfterEnd: 2},
		},
		"where sessions begin there is no stop": {
			sessions: []*replay.Session{
				session(1, "a: hm", "completed"), session(2, "a: hm", "completed"), session(3, "a: x > b"),
			},
			want: []string{"start > a", `a 3 | b 1 ["x"] > b | end 2 ["hm"] > `, `b 1 | end 1 [] > `},
		},
		"names of states become ids, which stay apart": {
			sessions: []*replay.Session{
				session(1, "Ask Name: x > ask_name", "ask_name: x > ask-name", "ask-name: x > Ende gut!", "completed"),
				session(2, "Ask Name: x > ???"),
			},
			want: []string{
				"start > ask_name_2", `ask_name_2 2 | state 1 ["x"] > state | ask_name 1 [] > ask_name`,
				`state 1 | end 1 [] > `, `ask_name 1 | ask_name_3 1 ["x"] > ask_name_3`,
				`ask_name_3 1 | ende_gut 1 ["x"] > ende_gut`, "ende_gut 1 stop",
			},
		},
		"sessions that are too short, messages without a state, states that change by themselves": {
			options: mine.Options{MinTurns: 2},
			sessions: []*replay.Session{
				session(1, "a: x > b", "completed"), session(2),
				session(3, ": x > b", "a: x > b", "c: x > b", "completed"),
			},
			want: []string{"start > a", `a 1 | b 1 ["x"] > b`, "b 2 stop"},
			left: mine.Left{Short: 2, Stateless: 1, Jumps: 1, States: 1, Transitions: 1, Moves: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.options.ID = "f"
			f, err := mine.Learn(all(test.sessions...), test.options)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, outline(f)); d != "" {
				t.Errorf("flow (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.left, f.Left); d != "" {
				t.Errorf("left (-want +got):\n%s", d)
			}
			written(t, f)
		})
	}
}

// A prompt is what the bot said most on entering a state, else most there; a state without a word is called by its
// name.
func TestPrompts(t *testing.T) {
	f, err := mine.Learn(all(
		session(1, "bot: Hello?", "hello: x > tea", "bot: Tea for you.", "tea: y", "bot: again", "tea: y", "bot: again",
			"tea: z > no_word", "completed"),
		session(2, "hello: hm", "bot: Hello!", "hello: x > tea", "bot: Here is tea.", "tea: z > no_word", "completed"),
		session(3, "hello: hm", "bot: hello", "hello: x > tea", "bot: here is tea"),
	), mine.Options{ID: "f"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range f.Nodes {
		got[n.ID] = n.Prompt
	}
	if d := cmp.Diff(map[string]string{"hello": "Hello!", "tea": "Here is tea.", "no_word": "No word"}, got); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
}

func TestNothingToLearn(t *testing.T) {
	broken := errors.New("the disk is gone")
	tests := map[string]struct {
		sessions iter.Seq2[*replay.Session, error]
		options  mine.Options
		want     string
	}{
		"no session": {all(), mine.Options{}, "there is no session"},
		"short sessions": {
			all(session(1), session(2, "bot: hello")), mine.Options{}, "too few messages of the user's in 2 sessions",
		},
		"no transition": {
			all(session(1, "a: x"), session(2, "a: y")), mine.Options{},
			"in 2 sessions no message leads from one state to another",
		},
		"no states": {all(session(1, ": x"), session(2, ": y")), mine.Options{}, "in 2 sessions no message leads"},
		"all rare": {
			all(session(1, "a: x > b")), mine.Options{MinCount: 3},
			"the most frequent transition has 1 message, and 3 are asked for",
		},
		"a broken store": {
			func(yield func(*replay.Session, error) bool) { yield(nil, broken) }, mine.Options{}, "the disk is gone",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := mine.Learn(test.sessions, test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if _, nothing := errors.AsType[*mine.NothingError](err); nothing == errors.Is(err, broken) {
				t.Errorf("%v: nothing to learn %v", err, nothing)
			}
		})
	}
}

// However many different texts there are, only so many are kept, each cut to a size.
func TestBounds(t *testing.T) {
	sessions := []*replay.Session{
		session(0, "a: "+strings.Repeat("ü", 1_000)+" > b", "bot: "+strings.Repeat("ü", 5_000), "completed"),
	}
	for i := range 2_500 {
		sessions = append(sessions, session(i+1, fmt.Sprintf("a: message %d > b", i), "completed"))
	}
	f, err := mine.Learn(all(sessions...), mine.Options{ID: "f"})
	if err != nil {
		t.Fatal(err)
	}
	examples := f.Nodes[0].Options[0].Examples
	if len(examples) != 2_000 || f.Left.Texts != 501 || len(examples[0]) > 500 || len(f.Nodes[1].Prompt) > 2_000 ||
		f.Nodes[0].Options[0].Count != 2_501 {
		t.Errorf("%d examples, %d left, the first of %d bytes, a prompt of %d", len(examples), f.Left.Texts,
			len(examples[0]), len(f.Nodes[1].Prompt))
	}
	if !strings.HasSuffix(examples[0], "ü…") {
		t.Errorf("the cut example ends in %q", examples[0][len(examples[0])-6:])
	}
	written(t, f)
}

// The file as it is written, with texts that look like something else in YAML.
func TestWrite(t *testing.T) {
	f, err := mine.Learn(all(
		session(1, "null: yes > 12:now", "bot: - a\n- b: {c} # d", "12:now: &x *y !z > true",
			"bot: <b>\"Bye\" & \\ thanks</b>", "completed"),
		session(2, "null: \x00\u202e\xff no > Größe", "bot: 👩‍🍳", "Größe: ~ > true", "completed"),
	), mine.Options{ID: "1e3"})
	if err != nil {
		t.Fatal(err)
	}
	text, loaded := written(t, f)
	golden.Compare(t, "odd.yaml", text)
	same(t, f, loaded)
}

// same compares a flow with what was loaded from its file.
func same(t failing, f *mine.Flow, loaded *flow.Flow) {
	t.Helper()
	if loaded.ID != f.ID || len(loaded.Nodes) != len(f.Nodes)+1 {
		t.Fatalf("loaded %s with %d nodes, want %s with %d", loaded.ID, len(loaded.Nodes), f.ID, len(f.Nodes)+1)
	}
	for _, n := range f.Nodes {
		got, ok := loaded.Node(n.ID)
		if !ok || got.Prompt != n.Prompt || got.Ends() != n.Stop || len(got.Options) != len(n.Options) {
			t.Fatalf("node %q: %+v, want %+v", n.ID, got, n)
		}
		for i, o := range n.Options {
			l := got.Options[i]
			if l.ID != o.ID || l.Label != o.Label || l.Target() != o.Next ||
				!cmp.Equal(append([]string{}, l.Examples...), append([]string{}, o.Examples...)) {
				t.Fatalf("node %q: option %+v, want %+v", n.ID, l, o)
			}
		}
	}
}
