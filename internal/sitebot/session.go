package sitebot

import (
	"context"
	"encoding/json"
)

// State returns a session's state as a JSON object of fields. The error is an *Error.
func (b *Bot) State(ctx context.Context, siteName, session string) (json.RawMessage, error) {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	at, err := b.graph.State(ctx, Thread(found.Name, session))
	switch {
	case err != nil:
		return nil, &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	case at.ID == "":
		return nil, fault(UnknownSession, "send it a message first", "there is no session %q", session)
	}
	return json.Marshal(published(at.State))
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
