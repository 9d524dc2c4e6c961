package importer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// walk is a conversation: the state before it, and the state after each turn.
type walk struct {
	id      string
	states  []string
	answers []int // of the bot in each turn
	dropped bool
}

func (w *walk) path() []string { return w.states[1:] }

// walks are random conversations, in some of which a turn leaves the state as it is.
func walks(random *rand.Rand) []walk {
	all := make([]walk, 1+random.IntN(5))
	for i := range all {
		w := walk{id: fmt.Sprintf("s%02d", i), states: []string{"q0"}, dropped: random.IntN(3) == 0}
		for range 1 + random.IntN(6) {
			w.states = append(w.states, fmt.Sprintf("q%d", random.IntN(5)))
			w.answers = append(w.answers, 1+random.IntN(2))
		}
		all[i] = w
	}
	return all
}

// row is a message of a turn as a log writes it; empty states are not written.
type row struct{ current, next string }

// ways are ways to write the states of the same turn: that of the user's row, and that of each answer.
var ways = map[string]struct {
	user, bot func(before, after string) row
	final     bool // whether the last row names the final state
}{
	"next_state of the user's rows": {
		func(before, after string) row { return row{before, changed(before, after)} },
		func(_, after string) row { return row{current: after} }, false,
	},
	"next_state of the bot's rows": {
		func(before, _ string) row { return row{current: before} },
		func(before, after string) row { return row{before, changed(before, after)} }, false,
	},
	"next_state of the user's rows, and nothing else": {
		func(before, after string) row { return row{before, after} },
		func(string, string) row { return row{} }, false,
	},
	"current_state before and after": {
		func(before, _ string) row { return row{current: before} },
		func(_, after string) row { return row{current: after} }, false,
	},
	"current_state of the bot's rows": {
		func(string, string) row { return row{} },
		func(_, after string) row { return row{current: after} }, false,
	},
	"current_state of the user's rows": {
		func(before, _ string) row { return row{current: before} },
		func(string, string) row { return row{} }, true,
	},
}

func changed(before, after string) string {
	if before == after {
		return ""
	}
	return after
}

// events writes conversations as events.
func events(all []walk, way string) string {
	of := ways[way]
	var lines strings.Builder
	at := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	add := func(w *walk, kind string, r row, payload map[string]any) {
		at = at.Add(time.Second)
		context := map[string]any{"session_id": w.id, "flow_id": "f"}
		if r.current != "" {
			context["current_state"] = r.current
		}
		if r.next != "" {
			payload["state_transition"], payload["next_state"] = true, r.next
		}
		line, _ := json.Marshal(map[string]any{
			"event_id": at.Format(time.RFC3339), "event_type": kind, "context": context, "payload": payload,
			"timestamp": at.Format(time.RFC3339),
		})
		lines.WriteString(string(line) + "\n")
	}
	for i := range all {
		w := &all[i]
		for turn, after := range w.path() {
			before := w.states[turn]
			add(w, replay.Message, of.user(before, after), map[string]any{"sender": "user", "message_text": "u"})
			for range w.answers[turn] {
				add(w, replay.Message, of.bot(before, after), map[string]any{"sender": "bot", "message_text": "b"})
			}
		}
		kind, key := replay.Completed, "final_state"
		if w.dropped {
			kind, key = replay.DroppedOff, "last_active_state"
		}
		payload := map[string]any{}
		if of.final {
			payload[key] = w.states[len(w.states)-1]
		}
		add(w, kind, row{}, payload)
	}
	return lines.String()
}

// chats writes conversations one a line.
func chats(all []walk, way string) string {
	of := ways[way]
	var lines strings.Builder
	for i := range all {
		w := &all[i]
		var messages []map[string]any
		add := func(role string, r row) {
			m := map[string]any{"role": role, "content": "x"}
			for key, state := range map[string]string{"state": r.current, "next_state": r.next} {
				if state != "" {
					m[key] = state
				}
			}
			messages = append(messages, m)
		}
		for turn, after := range w.path() {
			add("user", of.user(w.states[turn], after))
			for range w.answers[turn] {
				add("assistant", of.bot(w.states[turn], after))
			}
		}
		outcome := "completed"
		if w.dropped {
			outcome = "dropped_off"
		}
		line, _ := json.Marshal(map[string]any{
			"session_id": w.id, "flow_id": "f", "timestamp": "2026-01-01T09:00:00Z", "messages": messages,
			"outcome": outcome,
		})
		lines.WriteString(string(line) + "\n")
	}
	return lines.String()
}

// TestStatesWhereverTheyAre writes random conversations in every way in which logs have their states: each gives the
// same states, and a replay of them the same figure.
func TestStatesWhereverTheyAre(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		all := walks(random)
		for way, of := range ways {
			logs := map[string]string{"events": events(all, way)}
			if !of.final { // the format chat has no place for a final state
				logs["chat"] = chats(all, way)
			}
			for format, text := range logs {
				store := &memory{}
				if _, err := importer.Import(t.Context(), inputs(text), store,
					importer.Options{From: format}); err != nil {
					t.Fatal(err)
				}
				slices.SortStableFunc(store.events, func(a, b replay.Event) int {
					if a.SessionID != b.SessionID {
						return strings.Compare(a.SessionID, b.SessionID)
					}
					return a.Time.Compare(b.Time)
				})
				i := 0
				for s, err := range replay.Sessions(each(store.events), 0, &replay.Faults{}) {
					if err != nil {
						t.Fatal(err)
					}
					w := &all[i]
					if d := gocmp.Diff(w.path(), s.States(replay.After)); d != "" {
						t.Fatalf("seed %d, %s as %s, session %s (-want +got):\n%s", seed, way, format, s.ID, d)
					}
					p := &replay.Played{SessionID: s.ID, Completed: !w.dropped}
					for _, state := range w.path() {
						p.Turns = append(p.Turns, replay.PlayedTurn{State: state})
					}
					if m := replay.Score(s, p, replay.Measuring{}); *m.StateProgression != 1 ||
						*m.CompletionMatch != 1 {
						t.Fatalf("seed %d, %s as %s, session %s: %v", seed, way, format, s.ID, *m.StateProgression)
					}
					i++
				}
				if i != len(all) {
					t.Fatalf("%s as %s: %d of %d sessions", way, format, i, len(all))
				}
			}
		}
	}
}
