package sitebot

import (
	"context"
	"encoding/json"
	"errors"
)

// carried is what a turn begins with of the skills: when each was used, and nothing of the last turn's choice.
func carried(s *State) *Skills {
	if s.Skills == nil || len(s.Skills.Used) == 0 {
		return nil
	}
	return &Skills{Proposed: []Skill{}, Applied: []Skill{}, Reasons: map[Skill]string{}, Used: s.Skills.Used}
}

// State returns a session's state as a JSON object of fields. The error is an *Error.
func (b *Bot) State(ctx context.Context, siteName, session string) (json.RawMessage, error) {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	at, err := b.graph.State(ctx, Thread(found.Name, session))
	switch {
	case err != nil:
		return nil, cannotRead(err)
	case at.ID == "":
		return nil, fault(UnknownSession, "send it a message first", "there is no session %q", session)
	}
	state := published(at.State)
	state.Visitor = rulesOf(found).shown(state.Visitor)
	if state.Booking.WebhookSent, err = b.told(ctx, found.Name, session); err != nil {
		return nil, cannotRead(err)
	}
	return json.Marshal(state)
}

// Forget deletes a session. A session that there is not is no error.
func (b *Bot) Forget(ctx context.Context, siteName, session string) error {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return &Error{Fault: UnknownSite, Message: err.Error()}
	}
	if err := b.graph.Delete(ctx, Thread(found.Name, session)); err != nil {
		return &Error{Fault: StoreFailed, Message: "the session cannot be deleted", Err: err}
	}
	return nil
}

// Erase forgets a session with all that it has left: its state and all before it, leads, which are not sent any more,
// and what others keep of it. A session that there is not is no error. The error is an *Error: Busy while a turn of the
// session is under way.
func (b *Bot) Erase(ctx context.Context, siteName, session string) error {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return &Error{Fault: UnknownSite, Message: err.Error()}
	}
	thread := Thread(found.Name, session)
	unlock, err := b.lock(ctx, thread)
	if err != nil {
		return err
	}
	defer unlock()
	err = b.graph.Delete(ctx, thread)
	if outbox, ok := b.Checkpoints.(Outbox); ok {
		err = errors.Join(err, outbox.Erase(ctx, thread, found.Name, session))
	}
	if b.Elsewhere != nil {
		err = errors.Join(err, b.Elsewhere(ctx, found.Name, session))
	}
	if err != nil {
		return &Error{
			Fault: StoreFailed, Message: "not everything of the session could be erased", Hint: "try again", Err: err,
		}
	}
	return nil
}

// published returns a state whose lists and mappings are there even when they are empty.
func published(s State) State {
	list(&s.Messages)
	list(&s.FollowUps)
	list(&s.Answers)
	list(&s.Warnings)
	list(&s.Interest.Signals)
	list(&s.Interest.New)
	list(&s.Intents.History)
	table(&s.CTA)
	table(&s.Form.Collected)
	table(&s.Booking.Values)
	table(&s.Booking.Words)
	list(&s.Booking.Corrections)
	if s.Skills != nil {
		k := *s.Skills
		list(&k.Proposed)
		list(&k.Applied)
		table(&k.Reasons)
		table(&k.Used)
		s.Skills = &k
	}
	return s
}

func list[E any](l *[]E) {
	if *l == nil {
		*l = []E{}
	}
}

func table[K comparable, V any](m *map[K]V) {
	if *m == nil {
		*m = map[K]V{}
	}
}
