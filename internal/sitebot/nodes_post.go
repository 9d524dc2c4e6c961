package sitebot

import (
	"context"
	"fmt"
	"slices"

	"rehearse/internal/chat"
	"rehearse/internal/marker"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// watch is the dialog_state_extractor: it reads the markers of the answer and the address that the visitor gave.
func (b *Bot) watch(_ context.Context, s State) (update, error) {
	return update{dialogColumn.Set(observe(&s, s.Response)), observedColumn.Set(true)}, nil
}

// fillForm is the form_field_extractor: what the visitor has said of the call to action's form. A model is asked for what rules do not know;
// it may correct what it said earlier, but not what the visitor was asked for.
func (b *Bot) fillForm(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	if len(t.CTA.FormFields) == 0 {
		return nil, nil
	}
	known, said := knownValues(&s), map[string]string{}
	if slices.ContainsFunc(t.CTA.FormFields, func(f site.FormField) bool { return known[f.Field] == "" }) {
		var reply struct {
			Fields map[string]looseText `json:"fields"`
		}
		if err := b.ask(ctx, t.models.Default, "form_field_extractor", prompt.Vars{}, conversation(&s, all), &reply); err != nil {
			b.Log.WarnContext(ctx, "form fields", "error", err, "session", s.SessionID)
			return append(t.formUpdate(&s, known), warningsColumn.Add("form_field_extractor failed")), nil
		}
		for name, value := range reply.Fields {
			said[name] = string(value)
		}
	}
	return t.formUpdate(&s, overlay(said, known)), nil
}

// formUpdate writes the values of the form, and the parameters that they give the call to action's address.
func (t *turn) formUpdate(s *State, found map[string]string) update {
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
			Message{ID: freeID(s.Messages, fmt.Sprintf("%d:a", s.TurnNumber)), Role: chat.Assistant, Content: s.Response},
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
	turnOf(ctx).after = &s
	return u, nil
}
