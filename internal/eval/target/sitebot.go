package target

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Sitebot is the chatbot of a website as a target. Every conversation has its own session, which begins with the test's
// state and the messages before its first turn. A chatbot has its own prompts, so system messages of a suite's input
// are left out. A reply's Node is the route that the turn took; its State is the session's state without messages.
type Sitebot struct {
	Bot *sitebot.Bot
	// Site is the site's name. Language is the language of fixed messages; empty means the site's.
	Site, Language string
	Turns
}

var _ runner.Target = (*Sitebot)(nil)

// Open begins a session with the test's state. It rebuilds the state that the history has left (reconstruction.md),
// puts it into the fresh session in one update together with the fields that the test sets, and reads it back. A
// difference is a *runner.SeedError.
func (t *Sitebot) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	if o.Test.Start.Node != "" || o.Test.Start.Memory != nil {
		return nil, fmt.Errorf(
			"the state of test %s is that of a flow: a website's chatbot has fields such as profiling_state", o.Test.ID)
	}
	patch, said, err := t.seed(o.Test)
	if err != nil {
		return nil, err
	}
	s := &sitebotSession{t, said, fmt.Sprintf("rehearse-%s", rand.Text())}
	if len(patch) == 0 {
		return s, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	if err := t.Bot.UpdateState(ctx, t.Site, s.id, data, true); err != nil {
		return nil, err
	}
	if err := s.verify(ctx, data); err != nil {
		return nil, errors.Join(err, t.Bot.Forget(ctx, t.Site, s.id))
	}
	return s, nil
}

// seed returns the fields of the state with which a test begins, and the messages before its first turn.
func (t *Sitebot) seed(test *suite.Test) (patch map[string]json.RawMessage, said earlier, err error) {
	found, err := t.Bot.Sites.Find(t.Site)
	if err != nil {
		return nil, nil, err
	}
	r, err := rebuilt(test, found.FieldIDs())
	if err != nil {
		return nil, nil, err
	}
	if r == nil {
		r = recorded(test.Input, found.FieldIDs())
	}
	if len(r.Messages) > 0 {
		data, err := r.Patch()
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(data, &patch); err != nil {
			return nil, nil, err
		}
	}
	if test.Start.Fields != nil { // the test's fields replace rebuilt ones
		if err := json.Unmarshal(test.Start.Fields, &patch); err != nil {
			return nil, nil, fmt.Errorf("the state of test %s: %w", test.ID, err)
		}
	}
	return patch, with(nil, r.Messages), nil
}

// recorded treats the messages before a test's first turn as its history.
func recorded(input []chat.Message, fieldIDs []string) *sitebot.Rebuilt {
	h := sitebot.History{FieldIDs: fieldIDs}
	for _, m := range input {
		h.Rows = append(h.Rows, sitebot.HistoryRow{Role: m.Role, Content: m.Content.String()})
	}
	r := sitebot.Rebuild(h)
	return &r
}

type sitebotSession struct {
	*Sitebot
	earlier
	id string
}

// verify reads the state back and compares it with what was put in.
func (s *sitebotSession) verify(ctx context.Context, patch []byte) error {
	state, err := s.Bot.State(ctx, s.Site, s.id)
	if err != nil {
		return err
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(patch, &want), json.Unmarshal(state, &got)); err != nil {
		return err
	}
	if at := missing("", want, got); at != "" {
		return &runner.SeedError{Reason: at}
	}
	return nil
}

// missing says in words which part of want the state got lacks, with its path; empty when it lacks nothing.
func missing(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if at := missing(path+"."+name, want[name], got[name]); at != "" {
				return at
			}
		}
		return ""
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if at := missing(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); at != "" {
				return at
			}
		}
		return ""
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s instead of %s", strings.TrimPrefix(path, "."), excerpt(got), excerpt(want))
}

// excerpt shows a value of a state, cut short.
func excerpt(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	const most = 100
	if len(data) > most {
		return strings.ToValidUTF8(string(data[:most]), "") + "…"
	}
	return string(data)
}

// Send has the chatbot answer one message. After an error, the reply still has the usage of the turn.
func (s *sitebotSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	r := sitebot.Request{Site: s.Site, Session: s.id, Input: message.String(), Language: s.Language}
	return s.take(ctx, "sitebot", "the chatbot of "+s.Site, func(ctx context.Context) (chat.Reply, error) {
		o, err := s.Bot.Turn(ctx, r, nil)
		reply := used(o.Use)
		if err != nil {
			return reply, err
		}
		reply.Text, reply.Node = o.Response, string(o.Metadata.Route)
		reply.State, err = s.state(context.WithoutCancel(ctx)) // the turn is taken and must not be taken again
		return reply, err
	})
}

// used returns a reply that has nothing but the usage of a chatbot's turn.
func used(u sitebot.Use) chat.Reply {
	return chat.Reply{Usage: u.Usage, Cost: u.Cost, Attempts: u.Attempts}
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
