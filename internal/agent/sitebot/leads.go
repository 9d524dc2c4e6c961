package sitebot

import (
	"context"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// saver saves what a turn has found out, and its entry in the register, together with its checkpoint: either all are
// kept or none.
type saver struct {
	graph.Checkpointer
	bot *Bot
}

// steppingSaver is a saver of a store that keeps the steps of turns as well.
type steppingSaver struct {
	saver
	graph.StepSaver
}

// saver returns the store of sessions as the graph uses it.
func (b *Bot) saver() graph.Checkpointer {
	s := saver{b.Checkpoints, b}
	if steps, ok := b.Checkpoints.(graph.StepSaver); ok {
		return steppingSaver{s, steps}
	}
	return s
}

// Newest implements graph.Peeker.
func (s saver) Newest(ctx context.Context, thread string) (string, error) {
	if peeker, ok := s.Checkpointer.(graph.Peeker); ok {
		return peeker.Newest(ctx, thread)
	}
	chain, err := s.Load(ctx, thread, "")
	if err != nil || len(chain) == 0 {
		return "", err
	}
	return chain[len(chain)-1].ID, nil
}

// Save implements graph.Checkpointer.
func (s saver) Save(ctx context.Context, thread string, r graph.Record) error {
	t := turnOf(ctx)
	kept, isKeeper := s.Checkpointer.(sessionindex.Index)
	tells := t != nil && len(t.receivers) > 0 && r.Source == graph.SourceTurn
	if !isKeeper && !tells {
		return s.Checkpointer.Save(ctx, thread, r)
	}
	after, err := stateAfter(t, r)
	if err != nil {
		return fmt.Errorf("the entry and the leads of the turn: %w", err)
	}
	var rows []lead.Row
	if tells {
		if rows, err = s.bot.rows(t, after); err != nil {
			return fmt.Errorf("the leads of the turn: %w", err)
		}
	}
	if isKeeper {
		return kept.SaveTurn(ctx, thread, r, rows, s.bot.entry(ctx, t, thread, r, after))
	}
	if len(rows) == 0 {
		return s.Checkpointer.Save(ctx, thread, r)
	}
	return s.Checkpointer.(Outbox).SaveWith(ctx, thread, r, rows)
}

// rows returns what the receivers are to be told of a turn.
func (b *Bot) rows(t *turn, after *State) ([]lead.Row, error) {
	visitor := lead.Visitor{
		Site: t.Name, Session: t.request.Session, Person: t.request.PersonID, Email: t.address(after),
		At: b.Now().UTC(), Values: after.Booking.Values, Words: after.Booking.Words,
		Collected: after.Profiling.Collected, Corrections: len(after.Booking.Corrections),
	}
	events := t.events(t.before, after, visitor.Email)
	if len(events) == 0 {
		return nil, nil
	}
	visitor.Profile = t.shown(after.Visitor.Verified())
	return visitor.Rows(events, t.receivers...)
}

// events returns what a turn has found out, from the state before it and the one after it, in which the visitor has an
// address or "": at most one event of each name.
func (t *turn) events(before, after *State, email string) []lead.Event {
	events := make([]lead.Event, 0, 2) // few turns tell more
	tell := func(name string, changed []string) {
		events = append(events, lead.Event{Name: name, Context: lead.InChatBooking, Changed: changed})
	}
	booked, asked := t.changed(t.Booking.Fields, before, after), t.changed(t.Booking.PostConversion, before, after)
	captured := email != "" && email != t.address(before)
	if captured {
		if address := t.changedAddress(slices.Concat(booked, asked)); address != "" {
			tell(lead.EmailCaptured, []string{address})
		} else {
			tell(lead.EmailCaptured, []string{"email"})
			events[0].Context = lead.ContentGating
		}
	}
	switch {
	case after.Booking.Converted && !before.Booking.Converted:
		tell(lead.BookingCompleted, booked)
	case len(booked) > 1 || len(booked) == 1 && !(captured && booked[0] == t.changedAddress(booked)):
		tell(lead.BookingUpdated, booked)
	}
	if len(asked) > 0 {
		tell(lead.PostConversion, asked)
	}
	return events
}

// address returns the visitor's address that a state holds; empty for none.
func (t *turn) address(s *State) string {
	if s.Dialog.CapturedEmail != nil && *s.Dialog.CapturedEmail != "" {
		return *s.Dialog.CapturedEmail
	}
	return captured(t.rules, s.Booking)
}

// changed returns the fields whose values are new or others, in their order.
func (t *turn) changed(fields []site.BookingField, before, after *State) []string {
	var names []string
	for _, f := range fields {
		if value := after.Booking.Values[f.ID]; value != "" && value != before.Booking.Values[f.ID] {
			names = append(names, f.ID)
		}
	}
	return names
}

// changedAddress returns the field of an address among those that have changed.
func (t *turn) changedAddress(changed []string) string {
	for _, f := range slices.Concat(t.Booking.Fields, t.Booking.PostConversion) {
		if f.Type == site.Email && slices.Contains(changed, f.ID) {
			return f.ID
		}
	}
	return ""
}

// told reports whether a receiver has taken an address of the session.
func (b *Bot) told(ctx context.Context, siteName, session string) (bool, error) {
	outbox, ok := b.Checkpoints.(Outbox)
	if !ok {
		return false, nil
	}
	rows, err := outbox.Leads(ctx, lead.Filter{Site: siteName, Session: session, State: lead.Delivered})
	return slices.ContainsFunc(rows, func(r lead.Row) bool { return r.Event == lead.EmailCaptured }), err
}
