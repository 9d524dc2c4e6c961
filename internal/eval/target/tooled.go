package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
)

// toolsName is what recordings call the tools of a conversation.
const toolsName = "mcp"

// tooled is a target whose agent is offered tools over MCP: each conversation has its own, and what it calls joins the
// turn under way.
type tooled struct {
	runner.Target
	tools tool.Set
	parts Parts
}

// Open begins a conversation whose agent is told the address of its tools. In a playback that is the recorded one,
// where nothing is served.
func (t *tooled) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	s := &tooledSession{parts: t.parts}
	if !t.parts.Playing {
		host, err := t.parts.Tools()
		if err != nil {
			return nil, fmt.Errorf("serve the tools: %w", err)
		}
		s.tools = host.Open(t.tools, t.refused)
		o.MCPURL = s.tools.URL()
	}
	var err error
	if o.MCPURL, err = s.recorded(ctx, "address", o.MCPURL); err == nil {
		s.Session, err = t.Target.Open(ctx, o)
	}
	if err != nil {
		s.endTools()
		return nil, err
	}
	if h, ok := s.Session.(runner.Historian); ok {
		return tooledHistorian{s, h}, nil
	}
	return s, nil
}

// refused warns of a call that belongs to no turn, and so to no record.
func (t *tooled) refused(name string) {
	if t.parts.Warn != nil {
		const warning = "an agent called the tool %q over MCP while no turn was under way: " +
			"the call was refused and is not recorded"
		t.parts.Warn(fmt.Sprintf(warning, text.OneLine(name, 100)))
	}
}

var _ runner.Identified = (*tooledSession)(nil)

// tooledSession is a conversation whose agent is offered tools.
type tooledSession struct {
	runner.Session
	parts Parts
	// tools is nil in a playback.
	tools *mcp.Conversation
	turn  int
}

// Send says the message. The reply has what the agent called over MCP behind the calls that it reports itself, also
// when the turn fails.
func (s *tooledSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	s.turn++
	asking := ctx
	if s.tools != nil {
		s.tools.Begin()
		asking = withAttempts(ctx, s.tools.Again)
	}
	reply, err := s.Session.Send(asking, message)
	turn, problem := s.called(ctx)
	reply.ToolCalls = append(slices.Clip(reply.ToolCalls), turn.Calls...)
	switch {
	case err == nil && problem != nil:
		return reply, problem
	case turn.Fault == "":
		return reply, err
	}
	if tries, ok := errors.AsType[interface {
		error
		Tries() int
	}](err); ok {
		reply.Attempts = max(reply.Attempts, tries.Tries())
	}
	return reply, &toolFault{turn.Fault, err}
}

// called ends the turn and returns what was called in it, live or from the recording.
func (s *tooledSession) called(ctx context.Context) (turn mcp.Turn, err error) {
	text := ""
	if s.tools != nil {
		var live bytes.Buffer
		encoder := json.NewEncoder(&live)
		encoder.SetEscapeHTML(false) // arguments stay as the agent wrote them
		if err := encoder.Encode(s.tools.End()); err != nil {
			return turn, fmt.Errorf("keep the calls of tools: %w", err)
		}
		text = live.String()
	}
	if text, err = s.recorded(ctx, "calls of turn "+strconv.Itoa(s.turn), text); err != nil {
		return turn, err
	}
	if err := json.Unmarshal([]byte(text), &turn); err != nil {
		return turn, fmt.Errorf("read the recorded calls of tools: %w", err)
	}
	return turn, nil
}

// recorded records what the tools say of themselves, or plays it.
func (s *tooledSession) recorded(ctx context.Context, what, live string) (string, error) {
	reply, err := s.parts.Recorded(toolsName, fixed(live)).Generate(ctx, llm.Request{Messages: []chat.Message{
		chat.NewMessage(chat.User, what),
	}})
	return reply.Text, err
}

// ConversationID implements runner.Identified.
func (s *tooledSession) ConversationID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.ConversationID()
	}
	return ""
}

// SessionID returns the agent's id of the conversation; empty where it has given none.
func (s *tooledSession) SessionID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.SessionID()
	}
	return ""
}

// Close ends the conversation, and its tools behind it.
func (s *tooledSession) Close() error {
	defer s.endTools()
	return s.Session.Close()
}

func (s *tooledSession) endTools() {
	if s.tools != nil {
		s.tools.Close()
	}
}

// tooledHistorian is the session of a runner.Historian.
type tooledHistorian struct {
	*tooledSession
	runner.Historian
}

// toolFault is a turn with a call that the scripted tools could not stand in for. What else went wrong with the turn
// may be due to that: so the error is none of a time limit or of a model.
type toolFault struct {
	fault string
	err   error
}

func (f *toolFault) Error() string {
	said := "a call over MCP failed: " + f.fault
	if f.err != nil {
		said += "; then: " + f.err.Error()
	}
	return said
}

type attemptsKey struct{}

// withAttempts returns a context for a turn that may be asked several times. Again is called before each attempt but
// the first.
func withAttempts(ctx context.Context, again func()) context.Context {
	first := true
	return context.WithValue(ctx, attemptsKey{}, func() {
		if !first {
			again()
		}
		first = false
	})
}

// attempting says that a turn is asked now.
func attempting(ctx context.Context) {
	if attempt, ok := ctx.Value(attemptsKey{}).(func()); ok {
		attempt()
	}
}

// withoutAttempts returns a context for requests of a turn that the agent has accepted: another attempt of them is none
// of the turn.
func withoutAttempts(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptsKey{}, nil)
}

// ToolHost is the server of tools over MCP, which all targets share.
type ToolHost struct {
	opening sync.Mutex
	host    *mcp.Host
}

// Get returns the host, which it starts on first use.
func (t *ToolHost) Get() (*mcp.Host, error) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.host == nil {
		host, err := mcp.Listen()
		if err != nil {
			return nil, err
		}
		t.host = host
	}
	return t.host, nil
}

// Close closes the host, if there is one.
func (t *ToolHost) Close() error {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.host == nil {
		return nil
	}
	return t.host.Close()
}
