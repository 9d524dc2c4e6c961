package replay_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestSupportWithoutStates holds which logged messages fit an agent that tells no state: the first one, and those
// before which it has asked what the log's bot had asked.
func TestSupportWithoutStates(t *testing.T) {
	said := func(texts ...string) *replay.Session {
		s := &replay.Session{ID: "s", Completed: true}
		for i, text := range texts {
			s.Messages = append(s.Messages, replay.LoggedMessage{User: i%2 == 0, Text: text})
		}
		return s
	}
	for name, tc := range map[string]struct {
		logged, replies []string
		want            []bool
	}{
		"the same words, in other case and space": {
			[]string{"a", "Where to?", "b"},
			[]string{"where  TO?", "x"},
			[]bool{true, true},
		},
		"other words": {[]string{"a", "Where to?", "b"}, []string{"When?", "x"}, []bool{true, false}},
		"the same marker": {
			[]string{"a", "👉 Where to?", "b"},
			[]string{"Nice! 👉 Which city?", "x"},
			[]bool{true, true},
		},
		"another marker": {
			[]string{"a", "👉 Where to?", "b"},
			[]string{"💌 Your address?", "x"},
			[]bool{true, false},
		},
		"one marker more": {
			[]string{"a", "👉 Where to?", "b"},
			[]string{"👉 Where to? 💌", "x"},
			[]bool{true, false},
		},
		"silence fits no silence": {[]string{"a", "", "b"}, []string{"", "x"}, []bool{true, false}},
		"all after it is astray": {
			[]string{"a", "Where?", "b", "When?", "c"},
			[]string{"Pardon?", "When?", "x"},
			[]bool{true, false, false},
		},
		"no state is not the same": {[]string{"a", "One", "b"}, []string{"Two", "x"}, []bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			to := &told{}
			for _, text := range tc.replies {
				to.replies = append(to.replies, chat.Reply{Text: text})
			}
			r := &replay.Replayer{Candidate: &replay.TargetAgent{Target: to}, Mode: replay.Recorded}
			pair, err := r.Replay(t.Context(), said(tc.logged...))
			if err != nil || pair.Dropped != "" {
				t.Fatal(err, pair.Dropped)
			}
			var got []bool
			for _, turn := range pair.Variation(replay.Candidate).Turns {
				got = append(got, turn.Supported)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// elsewhere is an agent that begins in a state of its own.
type elsewhere struct{ *scripted }

func (a elsewhere) Open(_ context.Context, _ replay.Moment) (replay.Conversation, error) {
	return &scriptedTalk{a.scripted, "elsewhere"}, nil
}

// TestFirstMessageOfAnAgentWithStates holds that the first message does not fit an agent that stands somewhere else.
func TestFirstMessageOfAnAgentWithStates(t *testing.T) {
	r := &replay.Replayer{Candidate: elsewhere{&scripted{}}, Mode: replay.Recorded}
	pair, err := r.Replay(t.Context(), talked("s", "hello book → where"))
	if err != nil || pair.Variation(replay.Candidate).Turns[0].Supported {
		t.Errorf("%+v, %v", pair.Variation(replay.Candidate), err)
	}
}

// TestFirstMessageOfALogWithoutStates holds that it fits an agent that tells states, too: a log of chats alone is no
// reason to judge nothing.
func TestFirstMessageOfALogWithoutStates(t *testing.T) {
	s := &replay.Session{ID: "s", Messages: []replay.LoggedMessage{
		{User: true, Text: "book"},
		{Text: "in where"},
		{User: true, Text: "Rome"},
		{Text: "Done."},
	}}
	r := &replay.Replayer{Candidate: &scripted{moves: booking}, Mode: replay.Recorded}
	pair, err := r.Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if turns := pair.Variation(replay.Candidate).Turns; len(turns) != 2 || !turns[0].Supported || !turns[1].Supported {
		t.Errorf("%+v", turns)
	}
}
