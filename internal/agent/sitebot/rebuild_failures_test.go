package sitebot_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// qualified answers both questions that the site requires, and asks about prices on the way.
const qualified = `[{"role":"user","content":"What is the price?"},{"role":"assistant","content":"👉 What stage is your company at?"},
	{"role":"user","content":"Seed"},{"role":"assistant","content":"👉 Business or technical?"},
	{"role":"user","content":"Technical, and we must start by May"},{"role":"assistant","content":"Good to know."}]`

// begin gives a session the state that a history leads to, or only its messages.
func (th *theater) begin(t *testing.T, session, history, query string, rebuilt bool) {
	t.Helper()
	h := sitebot.History{Query: query, FieldIDs: []string{"stage", "profile"}}
	if err := json.Unmarshal([]byte(history), &h.Rows); err != nil {
		t.Fatal(err)
	}
	r := sitebot.Rebuild(h)
	if !rebuilt {
		r.Dialog, r.Profiling = nil, nil
	}
	patch, err := r.Patch()
	if err != nil {
		t.Fatal(err)
	}
	th.inject(t, session, string(patch))
}

// reads makes the detector find the signals whose words stand in what it is shown.
func (th *theater) reads(words map[string]string) {
	th.does("interest_signals_detector", func(_ context.Context, r llm.Request) (string, error) {
		var found []string
		for _, signal := range []string{"pricing", "urgency"} {
			if slices.ContainsFunc(r.Messages[1:], func(m chat.Message) bool {
				return strings.Contains(m.Content.String(), words[signal])
			}) {
				found = append(found, signal)
			}
		}
		data, err := json.Marshal(map[string]any{"signals": found})
		return string(data), err
	})
}

// Three failures: what goes wrong when only messages are injected, and that it goes right with the rebuilt state.
func TestFailuresWithoutReconstruction(t *testing.T) {
	signals := map[string]string{"pricing": "price", "urgency": "by May"}
	t.Run("the call to action stays blocked although the qualification is complete", func(t *testing.T) {
		for rebuilt, action := range map[bool]sitebot.Action{false: sitebot.Qualify, true: sitebot.ProposeDemo} {
			th := openTheater(t, shop)
			th.reads(signals)
			th.begin(t, "s", qualified, "And what now?", rebuilt)
			if o := th.say(t, "s", "And what now?"); o.Metadata.Action != action {
				t.Errorf("rebuilt %v: %s, want %s", rebuilt, o.Metadata.Action, action)
			}
		}
	})
	t.Run("the interest cannot be found without the history", func(t *testing.T) {
		for history, score := range map[string]float64{`[]`: 0, qualified: 10} {
			th := openTheater(t, shop)
			th.reads(signals)
			th.begin(t, "s", history, "And what now?", true)
			th.say(t, "s", "And what now?")
			if got := th.state(t, "s")["interest_signals_state"].(map[string]any)["cumulative"]; got != score {
				t.Errorf("%.20s: interest %v, want %v", history, got, score)
			}
		}
	})
	t.Run("the content gate does not go on without its marker", func(t *testing.T) {
		const asked = `[{"role":"user","content":"Is there a checklist?"},{"role":"assistant","content":"💌 Shall I send it to you?"}]`
		for rebuilt, want := range map[bool]int{false: 0, true: 1} {
			th := openTheater(t, shop)
			th.begin(t, "s", asked, "ada@x.com", rebuilt)
			th.say(t, "s", "ada@x.com")
			if got := len(th.captured()); got != want {
				t.Errorf("rebuilt %v: %d addresses were captured, want %d", rebuilt, got, want)
			}
		}
	})
}
