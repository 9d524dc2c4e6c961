package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// The bounds of one turn's calls.
const (
	maxCalls = 1000
	maxArgs  = 8 << 20
)

// callSource says of a call that it came over MCP (chat.ToolCall.Source).
const callSource = "mcp"

// Conversation serves tools to one conversation. A call belongs to the turn that is under way; between turns calls are
// refused. It is safe for concurrent use. Close it.
type Conversation struct {
	host    *Host
	id      string
	server  *mcp.Server
	refused func(name string)

	mu      sync.Mutex
	answers *tool.Session
	// turn is the turn under way; nil between turns.
	turn *turn
}

// turn is one turn while it is under way, or one attempt of it.
type turn struct {
	calls []chat.ToolCall
	// size is that of the names and arguments of all calls.
	size int
	// fault says which call the tools could not stand in for, the first one; empty for none.
	fault string
	// mark is what the tools had answered before the turn.
	mark map[[2]int]int
	// over ends when the turn does.
	over context.Context
	end  context.CancelFunc
}

// Turn is what an agent has called in a turn.
type Turn struct {
	// Calls are all calls in the order in which they came. One whose answer did not go out before the end of the turn
	// has no result.
	Calls []chat.ToolCall `json:"calls"`
	// Fault says which call the tools could not stand in for: of an unknown tool, without a fitting result, or one too
	// many. It is empty for none.
	Fault string `json:"fault,omitempty"`
}

// URL is the address of the conversation's tools.
func (c *Conversation) URL() string { return c.host.address + Path + "/" + c.id }

// Begin begins a turn.
func (c *Conversation) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(c.answers.Mark())
}

// Again begins the turn under way anew, for another attempt: what was called in it does not count, and what the tools
// have answered is given again.
func (c *Conversation) Again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil {
		return
	}
	c.turn.end()
	c.answers.Return(c.turn.mark)
	c.begin(c.answers.Mark())
}

func (c *Conversation) begin(mark map[[2]int]int) {
	c.turn = &turn{mark: mark}
	c.turn.over, c.turn.end = context.WithCancel(context.Background())
}

// End ends the turn and returns what was called in it. Calls that wait for their answer are refused. Without a turn it
// does nothing.
func (c *Conversation) End() Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.turn
	if t == nil {
		return Turn{}
	}
	t.end()
	c.turn = nil
	return Turn{Calls: slices.Clone(t.calls), Fault: t.fault}
}

// Close ends the conversation. Its address is of no use any more.
func (c *Conversation) Close() {
	c.End()
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	delete(c.host.conversations, c.id)
}

// refusal is the error of a call that is not taken.
func refusal(message string) error {
	return &jsonrpc.Error{Code: invalidRequest, Message: message}
}

// unknown implements answerer.
func (c *Conversation) unknown(name string, args json.RawMessage) error {
	_, _, _, err := c.join(name, args)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return refused
	}
	return nil
}

// call implements answerer.
func (c *Conversation) call(ctx context.Context, name string, args json.RawMessage) (*mcp.CallToolResult, error) {
	t, at, result, err := c.join(name, args)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, refused
	}
	if err != nil {
		return toolResult(err.Error(), true), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.over, cancel)()
	answer, err := result.Give(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || c.turn != t {
		return nil, refusal("the turn of this call is over")
	}
	t.calls[at].Result = answer.Value
	if answer.Failed != "" {
		return toolResult(answer.Failed, true), nil
	}
	return toolResult(answer.Text(), false), nil
}

// join adds a call to the turn under way, and returns the place of it there and the result that fits. The error is a
// *jsonrpc.Error for a call that is refused; any other makes the turn a fault.
func (c *Conversation) join(name string, args json.RawMessage) (t *turn, at int, r tool.Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t = c.turn
	if t == nil {
		if c.refused != nil {
			c.refused(name)
		}
		return nil, 0, r, refusal("no turn is under way: tools can be called from the user's message to its reply")
	}
	if len(t.calls) == maxCalls || t.size+len(name)+len(args) > maxArgs {
		many := fmt.Sprintf("%q is one call too many: a turn may have %d calls and %d MB of arguments",
			text.OneLine(name, 100), maxCalls, maxArgs>>20)
		t.fault = cmp.Or(t.fault, many)
		return nil, 0, r, refusal(many)
	}
	at, t.size = len(t.calls), t.size+len(name)+len(args)
	t.calls = append(t.calls, chat.ToolCall{Name: name, Args: args, Source: callSource})
	if r, err = c.answers.Choose(name, args); err != nil {
		t.calls[at].Result = tool.Failure(err.Error()).Value
		t.fault = cmp.Or(t.fault, err.Error())
	}
	return t, at, r, err
}

// toolResult returns the answer to a call.
func toolResult(words string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: words}}, IsError: failed}
}
