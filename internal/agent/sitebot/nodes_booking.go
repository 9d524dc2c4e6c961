package sitebot

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// book is the booking_handler: it takes down what the visitor gave, asks for what is next, and keeps the address. In
// the turn that begins a booking nothing was asked yet: then free text is no answer.
func (b *Bot) book(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	asked := ""
	if booking.RequestTurn > 0 {
		asked = booking.Field
	}
	found := t.find(&booking, t.Booking.Fields, asked, &s)
	booking.take(found.values, &s)
	next, missing := site.Next(t.Booking.Fields, booking.Values)
	vars := prompt.Vars{Field: next.ID, Values: booking.Values, Problem: t.problem(found.refused)}
	booking.Field, booking.RequestTurn = next.ID, s.SkillTurn()
	if !missing {
		more, _ := site.Next(t.Booking.PostConversion, booking.Values)
		booking.Active, booking.Converted, booking.Field, vars.More = false, true, more.ID, more.ID
	}
	return b.respondWith(ctx, t.booked(&s, booking), "booking_handler", &s, vars, out)
}

// afterConversion is the post_conversion_handler: once a demo is booked, it takes down the answer to what was asked,
// and corrections, and asks the rest, one question a turn.
func (b *Bot) afterConversion(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	vars := prompt.Vars{Action: string(s.Router.Action)}
	if s.Router.Action == HandlePost {
		found := t.findAfter(&booking, &s)
		booking.take(found.values, &s)
		vars.Problem = t.problem(found.refused)
		if booking.Field != "" {
			next, missing := site.Next(t.Booking.PostConversion, booking.Values)
			booking.Field, vars.Field = next.ID, next.ID
			if missing {
				booking.RequestTurn = s.SkillTurn()
			}
		}
	}
	vars.Values, vars.Docs = booking.Values, s.RetrievedDocs
	vars.Profile, vars.Collected = describeProfile(s.Visitor), s.Profiling.Collected
	return b.respondWith(ctx, t.booked(&s, booking), "post_conversion_handler", &s, vars, out)
}

// problems say in words why a day does not count.
var problems = map[value.Refusal]string{
	value.Past:    "the day that the visitor names has passed",
	value.Denied:  "the visitor says only which day does not suit",
	value.Several: "the visitor names different days, and one is needed",
	value.NoSuch:  "there is no such day in the calendar",
}

// problem says in words why the day in a message was not stored.
func (r *rules) problem(why value.Refusal) string {
	if why != value.Unclear {
		return problems[why]
	}
	day, order := r.calendar.Today.AddDate(0, 0, 7), "02/01/2006"
	if r.calendar.MonthFirst {
		order = "01/02/2006"
	}
	return "the day could not be read; it can be written as " + day.Format("2006-01-02") + " or " + day.Format(order)
}

// booked writes a booking with what follows from it: the visitor's address, and the call to action's form.
func (t *turn) booked(s *State, booking Booking) update {
	u := update{bookingColumn.Set(booking)}
	after := *s
	after.Booking = booking
	if address := captured(t.rules, booking); address != "" {
		after.Dialog.CapturedEmail = &address
		u = append(u, dialogColumn.Set(Dialog{CapturedEmail: &address}))
	}
	return append(u, t.formUpdate(&after, knownValues(&after))...)
}

// captured returns the e-mail address among the values of a booking.
func captured(r *rules, b Booking) string {
	for _, f := range slices.Concat(r.Booking.Fields, r.Booking.PostConversion) {
		if f.Type == site.Email && b.Values[f.ID] != "" {
			return b.Values[f.ID]
		}
	}
	return ""
}

// take keeps values and the words in which they were given, and notes which ones they replace.
func (b *Booking) take(values map[string]string, s *State) {
	said := strings.TrimSpace(s.Input)
	for _, id := range slices.Sorted(maps.Keys(values)) {
		if before := b.Values[id]; before != "" {
			b.Corrections = append(b.Corrections, Correction{
				Turn: s.SkillTurn(), Field: id, From: before, To: values[id], Words: said,
			})
		}
		b.Values[id], b.Words[id] = values[id], said
	}
}

// Spoken are the days that a visitor's message names in words, as a model has read them and rules have checked them.
type Spoken struct {
	// Days are by the field of the booking.
	Days map[string]SpokenDay
	// Refused is the reason why the message has no day that counts.
	Refused value.Refusal
}

// SpokenDay is a day in its normal form and the visitor's words for it.
type SpokenDay struct{ Value, Words string }

// readDays is the form_field_extractor before a booking step: it reads days in words where the step can use one. Days
// in figures are read by rule, and no model is called for them.
func (b *Bot) readDays(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	fields := t.openDays(&s)
	text, ok := t.daysInWords(s.Input)
	if len(fields) == 0 || !ok {
		return nil, nil
	}
	var reply struct {
		Fields map[string]looseText `json:"fields"`
		Quotes map[string]looseText `json:"quotes"`
	}
	vars := prompt.Vars{Field: fields[0].ID, Today: t.calendar.Today, MonthFirst: t.calendar.MonthFirst}
	if err := b.ask(ctx, t.models.Default, prompt.FormFieldExtractor, vars, conversation(&s, 1), &reply); err != nil {
		return nil, err
	}
	spoken := Spoken{Days: map[string]SpokenDay{}}
	for _, f := range fields {
		answer, words := string(reply.Fields[f.ID]), string(reply.Quotes[f.ID])
		if answer == "" || !supports(text, words) { // the message does not support the day
			continue
		}
		day, why := t.calendar.Normal(answer)
		if spoken.Refused == value.Accepted {
			spoken.Refused = why
		}
		if day != "" {
			spoken.Days[f.ID] = SpokenDay{day, words}
		}
	}
	return update{spokenColumn.Set(spoken)}, nil
}

// leaveUnread replaces an extractor that failed: the visitor is asked again, in a form that rules can read.
func leaveUnread(State, error) update {
	return update{spokenColumn.Set(Spoken{Refused: value.Unclear})}
}

// supports reports whether a message contains the words that a model quotes from it.
func supports(text *value.Text, words string) bool {
	_, _, ok := text.Find(words)
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
		if f.Type == site.Date && (b.Values[f.ID] == "" || !isQuestion(s.Input, 0)) { // a question corrects nothing
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
	return text, day.Value == "" && refused == value.Accepted && text.HasWords() && !site.Accepts(message) &&
		!site.Declines(message)
}
