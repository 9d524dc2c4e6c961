package sitebot

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// noteLimit bounds how long a note of a message that was not answered may take.
const noteLimit = 2 * time.Second

// TimedOut is the code of a turn that took too long, as its failure is noted.
const TimedOut = "timeout"

// entry returns what the register is told of a save: of an answered turn all about it, of any other state how far the
// session is with it.
func (b *Bot) entry(ctx context.Context, t *turn, thread string, r graph.Record, after *State) sessionindex.Entry {
	answered := t != nil && r.Source == graph.SourceTurn
	e := sessionindex.Entry{
		At: b.moment(), Turns: after.TurnNumber, Converted: after.Booking.Converted, Email: b.hasAddress(thread, after),
		Route: string(after.NextRoute),
	}
	e.Site, e.Session, _ = strings.Cut(thread, ":")
	if answered {
		e.Language, e.Person = t.LanguageFor(t.request.Language), t.request.PersonID
		e.Turn = t.note(ctx, r, after, e.At)
	}
	return e
}

// stateAfter returns the state of a record.
func stateAfter(t *turn, r graph.Record) (*State, error) {
	if t != nil && t.after != nil && r.Source == graph.SourceTurn {
		return t.after, nil
	}
	s := new(State) // finalize ran in another process, or no turn was taken
	return s, json.Unmarshal(r.Values, s)
}

// moment is the time as stores keep it.
func (b *Bot) moment() time.Time { return b.Now().UTC().Truncate(time.Microsecond) }

// hasAddress reports whether a state holds the visitor's address.
func (b *Bot) hasAddress(thread string, s *State) bool {
	if s.Dialog.CapturedEmail != nil && *s.Dialog.CapturedEmail != "" {
		return true
	}
	name, _, _ := strings.Cut(thread, ":")
	found, err := b.Sites.Find(name)
	return err == nil && captured(rulesOf(found), s.Booking) != ""
}

// note returns what is noted of an answered turn.
func (t *turn) note(ctx context.Context, r graph.Record, after *State, at time.Time) *sessionindex.Turn {
	n := &sessionindex.Turn{
		Number: after.TurnNumber, Checkpoint: r.ID, Route: string(after.NextRoute),
		Intent: string(after.Intents.Intent), Started: t.started.UTC().Truncate(time.Microsecond), At: at,
		Latency: float64(at.Sub(t.started).Microseconds()) / 1000, Tokens: t.meter.total().Usage.Total(),
		Warnings: append([]string{}, after.Warnings...), TraceID: trace.IDOf(ctx), Person: t.request.PersonID,
	}
	if after.Router != nil {
		n.Action = string(after.Router.Action)
	}
	if t.before.TurnNumber > 0 {
		n.Before = string(t.before.NextRoute)
	}
	if after.Booking.Converted && !t.before.Booking.Converted {
		n.Converted, n.Values = true, values(after)
	}
	return n
}

// values are all that a state knows of a visitor by field: what was asked for the booking goes before the rest.
func values(s *State) map[string]string {
	all := map[string]string{}
	maps.Copy(all, s.Form.Collected)
	maps.Copy(all, s.Profiling.Collected)
	maps.Copy(all, s.Booking.Values)
	return all
}

// noteEnd notes of a turn that was not answered that it was not, and why. A visitor who goes away or stops the answer
// leaves no note.
func (b *Bot) noteEnd(ctx context.Context, t *turn, err error) {
	code := ""
	fault, known := errors.AsType[*Error](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		code = TimedOut
	case ctx.Err() == nil && known && (fault.Fault == Failed || fault.Fault == StoreFailed):
		code = string(fault.Fault)
	default:
		return
	}
	b.note(ctx, t, sessionindex.Note{
		Failure: &sessionindex.Failure{At: b.moment(), Code: code}, Language: t.LanguageFor(t.request.Language),
	})
}

// note notes something of the session of a turn, although its visitor may have gone.
func (b *Bot) note(ctx context.Context, t *turn, n sessionindex.Note) {
	kept, ok := b.Checkpoints.(sessionindex.Index)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	if _, err := kept.Note(ctx, t.Name, t.request.Session, n); err != nil {
		b.Log.Warn("a message that was not answered is not noted", "site", t.Name, "error",
			sessionindex.Anonymous(err, t.request.Session))
	}
}
