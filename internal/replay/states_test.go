package replay_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// turn writes the events of a turn. States are "current>next" of the user's row, and of the bot's.
func turn(i int, user, bot string) string {
	row := func(sender, states string, second int) string {
		current, next, _ := strings.Cut(states, ">")
		payload := `"sender":"` + sender + `","message_text":"x"`
		if next != "" {
			payload += `,"state_transition":true,"next_state":"` + next + `"`
		}
		return fmt.Sprintf(`{"event_id":"%d%s","event_type":"message_sent","context":{"session_id":"s","flow_id":"f","current_state":"%s"},`+
			`"payload":{%s},"timestamp":"2026-01-31T12:%02d:%02dZ"}`+"\n", i, sender, current, payload, i, second)
	}
	return row("user", user, 0) + row("bot", bot, 5)
}

// ending writes how a session ended, and in which state.
func ending(state string) string {
	return `{"event_id":"end","event_type":"flow_completed","context":{"session_id":"s"},"payload":{"final_state":"` +
		state + `"},"timestamp":"2026-01-31T13:00:00Z"}`
}

// TestLogAgainstItself tells a log that contradicts itself, or lacks states, from one that an agent can follow.
func TestLogAgainstItself(t *testing.T) {
	for name, tc := range map[string]struct {
		rows    string
		side    replay.Side
		sources string
		self    float64 // −1 is none
	}{
		"in order": {
			turn(1, "a>b", "b") + turn(2, "b>c", "c"), replay.After, "user_next_state", 1,
		},
		"by the states before": {
			turn(1, "a>b", "b") + turn(2, "b>c", "c"), replay.Before, "user_next_state", 0,
		},
		"bot rows with the state before": {
			turn(1, "a", "a") + turn(2, "b", "b"), replay.After, "bot_current_state", 0.5,
		},
		"another final state": {
			turn(1, "a>b", "b") + turn(2, "b>c", "c") + ending("d"), replay.After, "user_next_state", 0.5,
		},
		"without the final state": {
			turn(1, "a", "") + turn(2, "b", ""), replay.After, "next_user_current_state unknown", 0.5,
		},
		"with the final state": {
			turn(1, "a", "") + turn(2, "b", "") + ending("c"), replay.After, "final_state next_user_current_state", 1,
		},
		"a state that stays": {
			turn(1, "a>b", "") + turn(2, "b", ""), replay.After, "no_transition user_next_state", 1,
		},
		"without states": {turn(1, "", "") + turn(2, "", ""), replay.After, "unknown", -1},
	} {
		events := &memory{}
		if _, _, err := events.Put(t.Context(), replay.ReadJSONL(strings.NewReader(tc.rows), func(r replay.Reject) {
			t.Error(r)
		})); err != nil {
			t.Fatal(err)
		}
		played := []replay.Played{{
			SessionID: "s", Variant: replay.Baseline, FlowID: "f",
			Turns: []replay.PlayedTurn{{State: "b"}, {State: "c"}},
		}}
		scored, err := replay.ScoreAll(t.Context(), events, played, replay.ScoreOptions{
			Measuring: replay.Measuring{Side: tc.side}, Rules: replay.DefaultRules(),
		})
		if err != nil {
			t.Fatal(err)
		}
		of := &scored.Flows["f"].States
		var sources []string
		for _, source := range slices.Sorted(maps.Keys(of.Sources)) {
			sources = append(sources, string(source))
		}
		if got := strings.Join(sources, " "); got != tc.sources {
			t.Errorf("%s: sources %s, want %s", name, got, tc.sources)
		}
		if has := of.SelfMatch != nil; has != (tc.self >= 0) || has && *of.SelfMatch != tc.self {
			t.Errorf("%s: against itself %v, want %v", name, of.SelfMatch, tc.self)
		}
		if warned := of.Warning() != ""; warned != (tc.self >= 0 && tc.self < 1) ||
			warned != (len(scored.Notes()) > 0) {
			t.Errorf("%s: warning %q, notes %q", name, of.Warning(), scored.Notes())
		}
		if m := scored.Flows["f"].Variants[replay.Baseline][replay.StateProgression]; (m.Value == nil) !=
			(tc.self < 0) {
			t.Errorf("%s: state progression %v", name, m)
		}
	}
}
