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

// book is the booking_handler: it takes down what the visitor gave, asks for what is next, and keeps the address. In the turn that begins a booking
// nothing was asked yet: then free text is no answer.
func (b *Bot) book(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	asked := ""
	if booking.AskedTurn > 0 {
		asked = booking.Field
	}
	found := t.find(&booking, t.Booking.Fields, asked, &s)
	booking.take(found.values, &s)
	next, missing := site.Next(t.Booking.Fields, booking.Values)
	vars := prompt.Vars{Field: next.ID, Values: booking.Values, Problem: t.problem(found.refused)}
	booking.Field, booking.AskedTurn = next.ID, s.SkillTurn()
	if !missing {
		more, _ := site.Next(t.Booking.PostConversion, booking.Values)
		booking.Active, booking.Converted, booking.Field, vars.More = false, true, more.ID, more.ID
	}
	return b.respondWith(ctx, t.booked(&s, booking), "booking_handler", &s, vars, out)
}

// afterConversion is the post_conversion_handler: once a demo is booked, it takes down the answer to what was asked, and corrections, and asks the
// rest, one question a turn.
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
				booking.AskedTurn = s.SkillTurn()
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
			b.Corrections = append(b.Corrections, Correction{Turn: s.SkillTurn(), Field: id, From: before, To: values[id], Said: said})
		}
		b.Values[id], b.Said[id] = values[id], said
	}
}
