package conversation

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// conversationOf returns the conversation of a test of one turn in a run of some suites or datasets.
func conversationOf(t *testing.T, command string, names ...string) *Recorded {
	t.Helper()
	record := &result.Test{Suite: "s", TestID: "a", Turns: []result.Turn{{Input: chat.Content{Text: "Hello"}}}}
	records := func(yield func(*result.Test, error) bool) { yield(record, nil) }
	c, err := OfTest(&result.Run{Command: []string{command}, Suites: names}, "folder", records, Selection{Test: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExpected looks up what was expected in what was run, and says what cannot be read any more.
func TestExpected(t *testing.T) {
	gone := errors.New("gone")
	from := Origin{
		Suites: func(file string) ([]*suite.Suite, error) {
			if file == "gone" {
				return nil, gone
			}
			test := &suite.Test{ID: "a", Turns: []suite.Turn{{Expected: "Greets."}}}
			return []*suite.Suite{suite.Of("other", file, nil), suite.Of("s", file, []*suite.Test{test})}, nil
		},
		Records: func(name string) ([]dataset.Record, error) {
			if name == "gone" {
				return nil, gone
			}
			return []dataset.Record{{ID: "b"}, {ID: "a", Expected: dataset.Response("Says hello.")}}, nil
		},
	}
	for _, c := range []struct {
		command    string
		names      []string
		want       string
		wantUnread []string
	}{
		{"run", []string{"gone", "s.yaml"}, `{"response":"Greets."}`, []string{"gone"}},
		{"e2e", []string{"items.jsonl"}, `{"response":"Says hello."}`, nil},
		{"e2e", []string{"gone"}, "", []string{"gone"}},
	} {
		got, unread := conversationOf(t, c.command, c.names...).Expected(1, from)
		if d := cmp.Diff(c.want, string(got)) + cmp.Diff(c.wantUnread, unread); d != "" {
			t.Errorf("%s %v: %s", c.command, c.names, d)
		}
	}
	if got, unread := (&Recorded{}).Expected(1, from); got != nil || unread != nil {
		t.Errorf("a session expects %s, %v", got, unread)
	}
}

// TestTurn takes the turn that was asked for, or the one that tells most.
func TestTurn(t *testing.T) {
	c := conversationOf(t, "run")
	if turn, err := c.Turn(0); turn != 1 || err != nil {
		t.Errorf("turn %d, %v", turn, err)
	}
	_, beyond := c.Turn(2)
	_, none := (&Recorded{kind: "session", name: "s"}).Turn(0)
	for want, err := range map[string]error{
		"--turn 2: the test a has 1 turn":                                             beyond,
		"the session s has no turn to make an item of: nothing was said to the agent": none,
	} {
		if err == nil || err.Error() != want || !source.IsInvalid(err) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	one, err := c.Item(1)
	again, _ := c.Item(1)
	if err != nil || one.ID != again.ID || !slices.Equal(one.Input, []byte(`{"query":"Hello"}`)) {
		t.Errorf("%+v, then %+v, %v", one, again, err)
	}
}
