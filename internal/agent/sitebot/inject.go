package sitebot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/base/chat"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// UpdateState puts fields into a session's state, through the reducers; with replace the session begins anew with them.
// Nothing runs: the next message finds the state as if the conversation had come to it. Messages without an id get one,
// and where they come without a turn_number it is counted. The error is an *Error.
func (b *Bot) UpdateState(ctx context.Context, siteName, session string, patch json.RawMessage, replace bool) error {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return &Error{Fault: UnknownSite, Message: err.Error()}
	}
	if err := usableSession(session); err != nil {
		return err
	}
	if _, err := b.graph.ParseUpdate(patch); err != nil {
		return unusable(err)
	}
	if err := possible(patch, found.Name, session); err != nil {
		return unusable(err)
	}
	thread := Thread(found.Name, session)
	unlock, err := b.lock(ctx, thread)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := b.graph.State(ctx, thread)
	if err != nil {
		return cannotRead(err)
	}
	if replace {
		before.State = State{}
	}
	if err := checkStateSize(&before.State, len(patch)); err != nil {
		return err
	}
	if patch, err = completed(patch, before.State.Messages); err != nil {
		return unusable(err)
	}
	u, err := b.graph.ParseUpdate(patch)
	if err != nil {
		return unusable(err)
	}
	if text, ok := messageIn(patch); ok {
		u = append(u, lastInputColumn.Set(fingerprint(text)))
	}
	u = append(u, siteColumn.Set(found.Name), sessionColumn.Set(session))
	if _, err := b.graph.UpdateState(ctx, thread, u, graph.UpdateOptions{
		Replace: replace, Merge: !replace,
	}); err != nil {
		return &Error{Fault: StoreFailed, Message: "the session cannot be written", Err: err}
	}
	return nil
}

// hashed matches a fingerprint.
var hashed = text.Regexp(`^[0-9a-f]{64}$`)

// messageIn returns the last message that a patch gives in words. Only its fingerprint is kept.
func messageIn(patch json.RawMessage) (text string, ok bool) {
	var fields struct {
		LastInput string `json:"last_input"`
	}
	if err := json.Unmarshal(patch, &fields); err != nil || fields.LastInput == "" ||
		hashed().MatchString(fields.LastInput) {
		return "", false
	}
	return fields.LastInput, true
}

// possible refuses values that no conversation comes to.
func possible(patch json.RawMessage, siteName, session string) error {
	var s State
	if err := json.Unmarshal(patch, &s); err != nil {
		return err
	}
	for name, count := range map[string]int{
		"turn_number": s.TurnNumber, "hack_count": s.HackCount, "spam_count": s.SpamCount,
		"dialog_supervision_state.ask_count": s.Dialog.RequestCount,
		"interest_signals_state.cumulative":  s.Interest.Cumulative, "summary.to_turn": s.Summary.ToTurn,
	} {
		if count < 0 {
			return fmt.Errorf("field %q: %d is less than 0", name, count)
		}
	}
	switch {
	case s.Interest.Cumulative > maxInterest:
		return fmt.Errorf("field %q: %d is more than %d", "interest_signals_state.cumulative", s.Interest.Cumulative,
			maxInterest)
	case !slices.Contains([]Route{"", Agentic, PostConversion, AnswerRoute, RedirectRoute, BookingRoute}, s.NextRoute):
		return fmt.Errorf("field %q: there is no route %q", "next_route", s.NextRoute)
	case s.SiteName != "" && s.SiteName != siteName || s.SessionID != "" && s.SessionID != session:
		return errors.New("a session keeps its site_name and session_id: leave them out")
	}
	return nil
}

func unusable(err error) error {
	return &Error{Fault: UnknownField, Message: "the state cannot be set", Err: err}
}

// completed returns a patch whose messages have ids, and that says how many turns the conversation has with them.
func completed(patch json.RawMessage, before []Message) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	var added []Message
	if err := json.Unmarshal(orNull(fields["messages"]), &added); err != nil || added == nil {
		return patch, err
	}
	for i, m := range added {
		if m.Role != chat.User && m.Role != chat.Assistant {
			return nil, fmt.Errorf("field \"messages\": message %d has the role %q: write user or assistant", i, m.Role)
		}
	}
	identify(added, turnsOf(before))
	var err error
	if fields["messages"], err = json.Marshal(added); err != nil {
		return nil, err
	}
	if _, given := fields["turn_number"]; !given {
		if fields["turn_number"], err = json.Marshal(turnsOf(before) + newTurns(before, added)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}

// turnsOf returns how many turns messages make: as many as the assistant has answered.
func turnsOf(messages []Message) int {
	turns := 0
	for _, m := range messages {
		if m.Role == chat.Assistant {
			turns++
		}
	}
	return turns
}

// newTurns returns how many of the added messages of the assistant take no other's place.
func newTurns(before, added []Message) int {
	return turnsOf(slices.DeleteFunc(slices.Clone(added), func(m Message) bool { return isDuplicate(before, m.ID) }))
}

// identify gives messages without an id one: "{turn}:u" and "{turn}:a". A message that was never answered gets one of
// its own, so that neither another nor the next turn takes its place.
func identify(messages []Message, turn int) {
	for i := range messages {
		m := &messages[i]
		if m.Role == chat.Assistant {
			m.ID = cmp.Or(m.ID, fmt.Sprintf("%d:a", turn))
			turn++
			continue
		}
		answered := i+1 < len(messages) && messages[i+1].Role == chat.Assistant
		if answered {
			m.ID = cmp.Or(m.ID, fmt.Sprintf("%d:u", turn))
		}
		m.ID = cmp.Or(m.ID, fmt.Sprintf("%d:u.%d", turn, i))
	}
}

// isDuplicate reports whether a message has an id.
func isDuplicate(messages []Message, id string) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.ID == id })
}

// freeID returns an id that no message has: the one proposed, unless an injected history holds it already.
func freeID(messages []Message, id string) string {
	free := id
	for n := 2; isDuplicate(messages, free); n++ {
		free = fmt.Sprintf("%s.%d", id, n)
	}
	return free
}
