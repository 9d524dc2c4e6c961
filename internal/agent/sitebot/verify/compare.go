package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// Difference is a field in which the rebuilt state is not the natural one.
type Difference struct {
	Field   string `json:"field"`
	Natural any    `json:"natural"`
	Rebuilt any    `json:"rebuilt"`
}

// state is a published state, as far as it can be rebuilt.
type state struct {
	Messages   []sitebot.RebuiltMessage `json:"messages"`
	TurnNumber int                      `json:"turn_number"`
	Dialog     struct {
		Email       *bool `json:"email_asked_last_turn"`
		Demo        *bool `json:"demo_was_proposed_last_turn"`
		RequestTurn *int  `json:"content_gating_ask_turn"`
	} `json:"dialog_supervision_state"`
	Profiling struct {
		Collected      map[string]string `json:"collected_values"`
		LastExtraction int               `json:"last_extraction_turn"`
	} `json:"profiling_state"`
}

func isSet(flag *bool) bool { return flag != nil && *flag }

// pending reports whether the last answer asked a question. An older turn number says the same as none.
func (s *state) pending() bool { return s.Profiling.LastExtraction == s.TurnNumber }

// askTurn returns when an address was asked for, if that was in the last turn. Before that, the history does not tell.
func (s *state) askTurn() int {
	if !isSet(s.Dialog.Email) || s.Dialog.RequestTurn == nil {
		return 0
	}
	return *s.Dialog.RequestTurn
}

// compare returns the rebuilt fields in which two published states differ.
func compare(natural, rebuilt json.RawMessage) ([]Difference, error) {
	var n, r state
	if err := json.Unmarshal(natural, &n); err != nil {
		return nil, fmt.Errorf("read the natural state: %w", err)
	}
	if err := json.Unmarshal(rebuilt, &r); err != nil {
		return nil, fmt.Errorf("read the rebuilt state: %w", err)
	}
	found := []Difference{}
	check := func(field string, natural, rebuilt any, same bool) {
		if !same {
			found = append(found, Difference{field, natural, rebuilt})
		}
	}
	check("messages", n.Messages, r.Messages, slices.Equal(n.Messages, r.Messages))
	check("turn_number", n.TurnNumber, r.TurnNumber, n.TurnNumber == r.TurnNumber)
	check("dialog_supervision_state.email_asked_last_turn", isSet(n.Dialog.Email), isSet(r.Dialog.Email),
		isSet(n.Dialog.Email) == isSet(r.Dialog.Email))
	check("dialog_supervision_state.demo_was_proposed_last_turn", isSet(n.Dialog.Demo), isSet(r.Dialog.Demo),
		isSet(n.Dialog.Demo) == isSet(r.Dialog.Demo))
	check("dialog_supervision_state.content_gating_ask_turn", n.askTurn(), r.askTurn(), n.askTurn() == r.askTurn())
	check("profiling_state.last_extraction_turn", n.Profiling.LastExtraction, r.Profiling.LastExtraction,
		n.pending() == r.pending())
	ids := maps.Clone(n.Profiling.Collected)
	if ids == nil {
		ids = map[string]string{}
	}
	maps.Copy(ids, r.Profiling.Collected)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		a, b := n.Profiling.Collected[id], r.Profiling.Collected[id]
		check("profiling_state.collected_values."+id, a, b, a == b)
	}
	return found, nil
}

// untold are parts of a state that no history tells, with the value that means that nothing was there.
var untold = map[string]string{
	"booking_state.active": "false", "booking_state.converted": "false", "form_collection_state.collected": "{}",
	"dialog_supervision_state.captured_email": "null", "dialog_supervision_state.demo_declined": "false",
	"interest_signals_state.cumulative": "0", "visitor_profile": "{}",
}

// lost returns what the natural state has and no history tells (reconstruction.md, known limits).
func lost(natural json.RawMessage) ([]string, error) {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(untold)) {
		value, err := part(natural, path)
		if err != nil {
			return nil, fmt.Errorf("read %s of the natural state: %w", path, err)
		}
		if value != untold[path] {
			found = append(found, path)
		}
	}
	return found, nil
}

// part returns the JSON of a part of a state.
func part(of json.RawMessage, path string) (string, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(of, &parts); err != nil {
		return "", err
	}
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return string(parts[name]), nil
	}
	return part(parts[name], rest)
}
