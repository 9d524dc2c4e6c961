package sitebot

import (
	"context"
	"slices"
	"strings"

	"rehearse/graph"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// book is the booking_handler: it takes down what the visitor gave, asks for what is next, and keeps the address.
func (b *Bot) book(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	var u update
	if value, ok := t.bookingValue(t.Booking.Fields, booking.Field, s.Input); ok && t.takes(&s) {
		booking.take(value, s.Input)
	}
	next, missing := site.Next(t.Booking.Fields, booking.Values)
	booking.Field, booking.AskedTurn = next.ID, s.SkillTurn()
	if !missing {
		booking.Active, booking.Converted, booking.Field = false, true, ""
	}
	if address := captured(t.rules, booking); address != "" {
		u = append(u, dialogColumn.Set(Dialog{CapturedEmail: &address}))
	}
	u = append(u, bookingColumn.Set(booking))
	return b.respondWith(ctx, u, "booking_handler", &s, prompt.Vars{Field: next.ID, Values: booking.Values}, out)
}

// takes reports whether the message may be taken as the value that the booking waits for. In the turn that begins a booking
// nothing was asked yet: then only an address, which is never anything else, counts.
func (t *turn) takes(s *State) bool {
	if s.Booking.AskedTurn > 0 {
		return true
	}
	i := slices.IndexFunc(t.Booking.Fields, func(f site.BookingField) bool { return f.ID == s.Booking.Field })
	return i >= 0 && t.Booking.Fields[i].Type == site.Email
}

// captured returns the e-mail address among the values of a booking.
func captured(r *rules, b Booking) string {
	for _, f := range r.Booking.Fields {
		if f.Type == site.Email && b.Values[f.ID] != "" {
			return b.Values[f.ID]
		}
	}
	return ""
}

// take keeps the value of the field that was asked for, and the words in which it was given.
func (b *Booking) take(value, words string) {
	b.Values[b.Field] = value
	b.Said[b.Field] = strings.TrimSpace(words)
}

// afterConversion is the post_conversion_handler: once a demo is booked, it asks the rest, one question a turn.
func (b *Bot) afterConversion(ctx context.Context, s State, out graph.TokenSink) (update, error) {
	t := turnOf(ctx)
	booking := s.Booking.clone()
	if value, ok := t.bookingValue(t.Booking.PostConversion, booking.Field, s.Input); ok {
		booking.take(value, s.Input)
	}
	next, _ := site.Next(t.Booking.PostConversion, booking.Values)
	booking.Field, booking.AskedTurn = next.ID, s.SkillTurn()
	u := update{bookingColumn.Set(booking)}
	return b.respondWith(ctx, u, "post_conversion_handler", &s, prompt.Vars{Field: next.ID, Values: booking.Values}, out)
}
