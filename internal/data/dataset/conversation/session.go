package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// OfSession finds a session in Langfuse: each trace is a turn. unread are the ids of the traces that do not tell what a
// user said; they are left out.
func OfSession(ctx context.Context, client *langfuse.Client, id string) (c *Recorded, unread []string, err error) {
	exchanges, err := client.Session(ctx, id)
	switch {
	case langfuse.Absent(err):
		return nil, nil, source.Invalid("there is no session %q in %s: copy the id from its page of the session",
			id, client)
	case err != nil:
		return nil, nil, err
	}
	c = &Recorded{kind: "session", name: id, parts: []string{client.String(), id}, why: "the last"}
	var traces []string
	for i := range exchanges {
		e := &exchanges[i]
		asked, ok := spoken(e.Input, chat.User)
		if !ok {
			unread = append(unread, e.TraceID)
			continue
		}
		c.turns = append(c.turns, len(c.said))
		c.said = append(c.said, utterance{chat.User, asked})
		if answer, ok := spoken(e.Output, chat.Assistant); ok {
			c.said = append(c.said, utterance{chat.Assistant, answer})
		}
		traces = append(traces, e.TraceID)
	}
	if len(c.turns) == 0 {
		return nil, nil, source.Invalid(`no trace of the session %q has an input that tells what the user said: wanted a text, or an object with one of %s`,
			id, strings.Join(speaking(chat.User), ", "))
	}
	c.chosen = len(c.turns)
	c.source = func(turn int) map[string]any {
		return map[string]any{"session": id, "trace": traces[turn-1], "langfuse": hostOf(client)}
	}
	return c, unread, nil
}

// hostOf returns the address of a Langfuse.
func hostOf(client *langfuse.Client) string {
	host := client.String()
	if _, err := fmt.Sscanf(client.String(), "langfuse %s", &host); err != nil {
		return client.String()
	}
	return host
}

// speaking returns the names under which applications log what somebody said, the most telling first.
func speaking(role chat.Role) []string {
	if role == chat.User {
		return []string{"query", "message", "input", "question", "content", "text", "messages"}
	}
	return []string{"response", "answer", "output", "message", "content", "text", "messages"}
}

// maxWrapped is how deep what was said may be wrapped.
const maxWrapped = 5

// spoken finds what somebody said in what an application has logged: a text, an object that has it under a usual name,
// or a list of messages, in which the last of that role counts.
func spoken(logged json.RawMessage, role chat.Role) (text string, ok bool) {
	var v any
	if json.Unmarshal(logged, &v) != nil {
		return "", false
	}
	return spokenIn(v, role, 0)
}

func spokenIn(v any, role chat.Role, depth int) (text string, ok bool) {
	if depth > maxWrapped {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, v != ""
	case []any:
		for _, said := range slices.Backward(v) {
			m, isObject := said.(map[string]any)
			if !isObject || m["role"] != nil && m["role"] != string(role) {
				continue
			}
			if text, ok := spokenIn(m, role, depth+1); ok {
				return text, true
			}
		}
	case map[string]any:
		for _, name := range speaking(role) {
			if text, ok := spokenIn(v[name], role, depth+1); ok {
				return text, true
			}
		}
	}
	return "", false
}
