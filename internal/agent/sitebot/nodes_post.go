package sitebot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// watch is the dialog_state_extractor: it reads the markers of the answer and the address that the visitor gave.
func (b *Bot) watch(_ context.Context, s State) (update, error) {
	return update{dialogColumn.Set(observe(&s, s.Response)), observedColumn.Set(true)}, nil
}

// fillForm is the form_field_extractor: what the visitor has said of the call to action's form, and what they have
// corrected of the qualification. A model is asked for what rules do not know. It may not fill in what the visitor was
// asked for, but it may say that they have taken an answer back.
func (b *Bot) fillForm(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	known := knownValues(&s)
	lacks := slices.ContainsFunc(t.CTA.FormFields, func(f site.FormField) bool { return known[f.Field] == "" })
	if !lacks && !t.collected(&s) {
		return t.formUpdate(&s, known), nil
	}
	var reply struct {
		Fields      map[string]looseText `json:"fields"`
		Corrections map[string]looseText `json:"corrections"`
	}
	vars := prompt.Vars{Collected: s.Profiling.Collected}
	if err := b.ask(ctx, t.models.Default, "form_field_extractor", vars, conversation(&s, all), &reply); err != nil {
		b.Log.WarnContext(ctx, "form fields", "error", err)
		return append(t.formUpdate(&s, known), warningsColumn.Add("form_field_extractor failed")), nil
	}
	u := t.corrected(&s, reply.Corrections)
	said := map[string]string{}
	for name, value := range reply.Fields {
		said[name] = string(value)
	}
	return append(u, t.formUpdate(&s, overlay(said, knownValues(&s)))...), nil
}

// collected reports whether a field of the qualification is known.
func (r *rules) collected(s *State) bool {
	return slices.ContainsFunc(r.fields, func(f site.Field) bool {
		return strings.TrimSpace(s.Profiling.Collected[f.ID]) != ""
	})
}

// correctionIgnored is the warning about a correction of what was not collected.
const correctionIgnored = "correction_ignored"

// corrected puts corrections of the qualification into the state, and returns what they write. What was not collected
// cannot be corrected.
func (t *turn) corrected(s *State, said map[string]looseText) (u update) {
	next := Profiling{Collected: map[string]string{}}
	ignored := false
	for _, id := range slices.Sorted(maps.Keys(said)) {
		before, after := strings.TrimSpace(s.Profiling.Collected[id]), strings.TrimSpace(string(said[id]))
		_, isField := t.Field(id)
		switch {
		case after == "" || after == before:
		case before == "" || !isField:
			ignored = true
		default:
			next.Collected[id] = after
			next.Corrections = append(next.Corrections, Correction{
				Turn: s.SkillTurn(), Field: id, From: before, To: after, Words: strings.TrimSpace(s.Input),
			})
		}
	}
	if ignored {
		u = append(u, warningsColumn.Add(correctionIgnored))
	}
	if len(next.Corrections) > 0 {
		s.Profiling.Collected = overlay(s.Profiling.Collected, next.Collected)
		u = append(u, profilingColumn.Set(next))
	}
	return u
}

// formUpdate writes the values of the form, and the parameters that they give the call to action's address.
func (t *turn) formUpdate(s *State, found map[string]string) update {
	if len(t.CTA.FormFields) == 0 {
		return nil
	}
	values := overlay(s.Form.Collected, found)
	collected, parameters := map[string]string{}, map[string]string{}
	for _, f := range t.CTA.FormFields {
		if value := values[f.Field]; value != "" && value != site.Declined {
			collected[f.Field], parameters[f.Parameter] = value, value
		}
	}
	return update{formColumn.Set(Form{Collected: collected, LastTurn: s.SkillTurn()}), ctaColumn.Set(parameters)}
}

// knownValues are the values that the conversation has brought up already, by field.
func knownValues(s *State) map[string]string {
	values := overlay(s.Profiling.Collected, s.Booking.Values)
	if s.Dialog.CapturedEmail != nil {
		values = overlay(values, map[string]string{"email": *s.Dialog.CapturedEmail})
	}
	return values
}

// finish is finalize: the turn becomes part of the conversation.
func (b *Bot) finish(ctx context.Context, s State) (update, error) {
	u := update{
		messagesColumn.Add(
			Message{ID: freeID(s.Messages, fmt.Sprintf("%d:u", s.TurnNumber)), Role: chat.User, Content: s.Input},
			Message{
				ID: freeID(s.Messages, fmt.Sprintf("%d:a", s.TurnNumber)), Role: chat.Assistant, Content: s.Response,
			},
		),
		turnColumn.Set(s.TurnNumber + 1),
		lastInputColumn.Set(fingerprint(s.Input)),
	}
	if marker.Of(s.Response).Questions > 0 {
		turn := s.TurnNumber + 1
		u = append(u, profilingColumn.Set(Profiling{LastExtractionTurn: &turn}))
	}
	if !s.Observed { // a path that has no extractor of its own: or last turn's marks would stay
		s.Dialog = observe(&s, s.Response)
		u = append(u, dialogColumn.Set(s.Dialog))
	}
	s.TurnNumber++
	turnOf(ctx).after = &s
	return u, nil
}
