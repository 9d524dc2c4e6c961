package target

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"rehearse/internal/chat"
	"rehearse/internal/runner"
	"rehearse/internal/sitebot"
)

// Sitebot is the chatbot of a website as a target. Every conversation has a session of its own, which begins with the state that the test
// says, and what was said before its first turn. A chatbot has its own prompts: system messages of a suite's input are left out.
// Node is the route that the turn took; State is the session's state without its messages.
type Sitebot struct {
	Bot *sitebot.Bot
	// Site is the site's name, Language that of fixed messages; empty means the site's.
	Site, Language string
}

var _ runner.Target = (*Sitebot)(nil)

// Open begins a session where the test says.
func (t *Sitebot) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	s := &sitebotSession{t, fmt.Sprintf("rehearse-%s", rand.Text())}
	patch := map[string]json.RawMessage{}
	if len(o.Test.Start.Memory) > 0 {
		if err := json.Unmarshal(o.Test.Start.Memory, &patch); err != nil {
			return nil, fmt.Errorf("the state of test %s: %w", o.Test.ID, err)
		}
	}
	if err := addHistory(patch, o.Test.Input); err != nil {
		return nil, err
	}
	if len(patch) == 0 {
		return s, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return s, t.Bot.UpdateState(ctx, t.Site, s.id, data, true)
}

// addHistory adds what was said before the first turn to a state. The chatbot gives the messages their ids, and counts the turns.
func addHistory(patch map[string]json.RawMessage, input []chat.Message) error {
	var messages []sitebot.Message
	for _, m := range input {
		if m.Role == chat.User || m.Role == chat.Assistant {
			messages = append(messages, sitebot.Message{Role: m.Role, Content: m.Content.String()})
		}
	}
	if messages == nil {
		return nil
	}
	data, err := json.Marshal(messages)
	patch["messages"] = data
	return err
}

type sitebotSession struct {
	*Sitebot
	id string
}

// Send has the chatbot answer one message.
func (s *sitebotSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	r := sitebot.Request{Site: s.Site, Session: s.id, Input: message.String(), Language: s.Language}
	o, err := s.Bot.Turn(ctx, r, nil)
	if err != nil {
		return chat.Reply{}, err
	}
	state, err := s.state(ctx)
	return chat.Reply{Text: o.Response, Node: string(o.Metadata.Route), State: state}, err
}

// state returns the session's state without its messages, which the transcript has.
func (s *sitebotSession) state(ctx context.Context) (json.RawMessage, error) {
	data, err := s.Bot.State(ctx, s.Site, s.id)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "messages")
	return json.Marshal(fields)
}

// Close forgets the session.
func (s *sitebotSession) Close() error {
	return s.Bot.Forget(context.Background(), s.Site, s.id)
}
