package sitebot

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// Spoken are the days that a visitor's message names in words, as a model has read them and rules have checked them.
type Spoken struct {
	// Days are by the field of the booking.
	Days map[string]SpokenDay
	// Refused is the reason why the message has no day that counts.
	Refused value.Refusal
}

// SpokenDay is a day in its normal form and the visitor's words for it; the words are empty if the model gave none.
type SpokenDay struct{ Value, Said string }

// readDays is the form_field_extractor before a booking step: it reads days in words where the step can use one. Days in
// figures are read by rule, and no model is called for them.
func (b *Bot) readDays(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	fields := t.openDays(&s)
	text, ok := t.daysInWords(s.Input)
	if len(fields) == 0 || !ok {
		return nil, nil
	}
	var reply struct {
		Fields map[string]looseText `json:"fields"`
		Said   map[string]looseText `json:"said"`
	}
	vars := prompt.Vars{Field: fields[0].ID, Today: t.calendar.Today, MonthFirst: t.calendar.MonthFirst}
	if err := b.ask(ctx, t.models.Default, prompt.FormFieldExtractor, vars, conversation(&s, 1), &reply); err != nil {
		return nil, err
	}
	spoken := Spoken{Days: map[string]SpokenDay{}}
	for _, f := range fields {
		answer, said := string(reply.Fields[f.ID]), string(reply.Said[f.ID])
		if answer == "" || reply.Said != nil && !supports(text, said) { // the message does not support the day
			continue
		}
		day, why := t.calendar.Normal(answer)
		if spoken.Refused == value.Accepted {
			spoken.Refused = why
		}
		if day != "" {
			spoken.Days[f.ID] = SpokenDay{day, said}
		}
	}
	return update{spokenColumn.Set(spoken)}, nil
}

// leaveUnread replaces an extractor that failed: the visitor is asked again, in a form that rules can read.
func leaveUnread(State, error) update {
	return update{spokenColumn.Set(Spoken{Refused: value.Unclear})}
}

// supports reports whether a message contains the words that a model quotes from it.
func supports(text *value.Text, said string) bool {
	_, _, ok := text.Find(said)
	return ok
}

// openDays returns the fields that a day in this message can fill or correct in a booking.
func (r *rules) openDays(s *State) []site.BookingField {
	b, fields := r.asked(s), r.Booking.Fields
	intent := s.Intents.believed()
	switch {
	case intent == Hack || intent == StopBooking:
		return nil
	case b.Active && redirected[intent] != "":
		return nil
	case b.Converted:
		fields = r.changeable(&b)
	case !b.Active && intent != Book:
		return nil
	}
	var days []site.BookingField
	for _, f := range fields {
		if f.Type == site.Date && (b.Values[f.ID] == "" || !asks(s.Input, 0)) { // a question corrects nothing
			days = append(days, f)
		}
	}
	return days
}

// daysInWords returns a message without the values that rules find in it, and whether it may name a day in words.
func (r *rules) daysInWords(message string) (*value.Text, bool) {
	text := value.In(message, site.Negates)
	text.Email()
	day, refused := text.Date(r.calendar)
	text.Phone(r.Region)
	return text, day.Value == "" && refused == value.Accepted && text.HasWords() && !site.Accepts(message) && !site.Declines(message)
}
