// Package chatsession holds a conversation with a target by hand, message by message, and keeps it as a test.
package chatsession

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Turn is a message that was answered.
type Turn struct {
	Message string
	Reply   chat.Reply
}

// Session is one conversation with a target. Make it with New, begin it with Reset, and Close it. It is for one
// goroutine.
type Session struct {
	target  runner.Target
	system  string
	session runner.Session
	id      string
	turns   []Turn
}

// New returns a talk with a target. A system message goes before the conversation, if it is not empty.
func New(target runner.Target, system string) *Session {
	return &Session{target: target, system: system}
}

// Reset ends the conversation, if there is one, and begins a new one. What was said before is forgotten.
func (t *Session) Reset(ctx context.Context) error {
	if err := t.Close(); err != nil {
		return err
	}
	t.turns = nil
	test := &suite.Test{ID: "chat", Conversation: true}
	if t.system != "" {
		test.Input = []chat.Message{chat.NewMessage(chat.System, t.system)}
	}
	t.id = rand.Text()
	session, err := t.target.Open(ctx, runner.Opening{Test: test, Trial: 1, ConversationID: t.id})
	if err == nil && session == nil {
		err = errors.New("the target opened no conversation")
	}
	if err != nil {
		return err
	}
	t.session = session
	return nil
}

// Send says a message and returns the reply. A message that is not answered leaves no turn, and the talk can go on.
func (t *Session) Send(ctx context.Context, message string) (chat.Reply, error) {
	if t.session == nil {
		if err := t.Reset(ctx); err != nil {
			return chat.Reply{}, err
		}
	}
	started := time.Now()
	reply, err := t.session.Send(ctx, chat.Content{Text: message})
	if err != nil {
		return chat.Reply{}, err
	}
	if reply.Latency == 0 {
		reply.Latency = time.Since(started)
	}
	t.turns = append(t.turns, Turn{message, reply})
	return reply, nil
}

// Greeting returns the messages with which the agent opened the conversation; nil for most agents.
func (t *Session) Greeting() (said []chat.Message) {
	if s, ok := t.session.(runner.Historian); ok {
		for _, m := range s.Earlier() {
			if m.Role == chat.Assistant {
				said = append(said, m)
			}
		}
	}
	return said
}

// SessionID returns the id by which the agent knows the conversation; empty where it has given none.
func (t *Session) SessionID() string {
	if s, ok := t.session.(runner.Identified); ok {
		return s.SessionID()
	}
	return ""
}

// Turns returns the turns of the conversation so far. Do not change them.
func (t *Session) Turns() []Turn { return t.turns }

// Close ends the conversation. A talk without one needs no end.
func (t *Session) Close() error {
	if t.session == nil {
		return nil
	}
	session := t.session
	t.session = nil
	return session.Close()
}

// State is what is known of the agent after its last reply, for people to read.
type State struct {
	ConversationID string          `json:"conversation_id,omitempty"`
	SessionID      string          `json:"session_id,omitempty"`
	Turns          int             `json:"turns"`
	Node           string          `json:"node,omitempty"`
	State          json.RawMessage `json:"state,omitempty"`
}

// State returns what is known of the agent. An agent that shows no state has none.
func (t *Session) State() State {
	s := State{ConversationID: t.id, SessionID: t.SessionID(), Turns: len(t.turns)}
	if n := len(t.turns); n > 0 {
		s.Node, s.State = t.turns[n-1].Reply.Node, t.turns[n-1].Reply.State
	}
	return s
}

// Details describes a reply in a line: its node, tool calls, time and tokens.
func Details(r chat.Reply) string {
	var parts []string
	if r.Node != "" {
		parts = append(parts, "node "+text.OneLine(r.Node, 100))
	}
	for _, call := range r.ToolCalls {
		parts = append(parts, "calls "+text.OneLine(call.Name+" "+string(call.Args), 200))
	}
	if r.FinishReason != "" && r.FinishReason != "stop" {
		parts = append(parts, "finished by "+text.OneLine(r.FinishReason, 40))
	}
	parts = append(parts, text.Duration(r.Latency))
	if r.Usage.Total() > 0 && !r.Usage.Unknown {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", r.Usage.InputTokens, r.Usage.OutputTokens))
	}
	return strings.Join(parts, " · ")
}
