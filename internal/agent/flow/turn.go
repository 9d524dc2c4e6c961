package flow

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// turn is a turn in progress.
type turn struct {
	*Engine
	in      *Context
	options Options
	flow    *Flow
	node    *Node
	offer   *offer // of the node, in this turn
	model   llm.Model
	params  llm.Request
	tools   []llm.Tool
	started time.Time
	number  int       // of this turn, from 1
	history []Message // numbered
	traceID string

	messages []chat.Message
	// step is where the turn leads; it is valid once decided is true.
	step    step
	decided bool
	invalid int
	// streamed is true while the answer is sent to the sink in pieces.
	streamed bool
	// collected are the fields that this turn of a state machine has set.
	collected []factOp

	// called counts the calls of each name, for stubs.
	called map[string]int

	trace []ToolTrace
	// notes are the actions of a state machine that are not yet in the trace.
	notes    []ToolTrace
	usage    Usage
	warnings []Warning
}

// begin checks the context and prepares the turn.
func (e *Engine) begin(f *Flow, c *Context, o Options) (*turn, error) {
	node, ok := f.Node(c.CurrentNodeID)
	if !ok {
		return nil, notFound("/current_node_id", "use the id of a node of the flow", "flow %q has no node %q", f.ID,
			c.CurrentNodeID)
	}
	if node.Ends() {
		return nil, &Error{
			Fault: Over, Pointer: "/current_node_id", Message: "the flow is already completed",
			Hint: "start a new conversation at node " + f.Start.ID,
		}
	}
	if c.Stubs != nil && !o.Trusted {
		return nil, &Error{
			Fault: Invalid, Pointer: "/stubs", Message: "stubs are for tests",
			Hint: "send them to /internal/agent/test",
		}
	}
	if o.TraceID == "" {
		o.TraceID = NewTraceID()
	}
	t := &turn{
		Engine: e, in: c, options: o, flow: f, node: node, model: e.Model, params: e.Parameters,
		started: e.Now(), history: c.numbering(), traceID: o.TraceID, step: stay(node),
	}
	t.number = turnAfter(c.Memory, t.history)
	if o.Trusted && c.Model != nil {
		if err := t.override(c.Model); err != nil {
			return nil, err
		}
	}
	t.offer = f.offerOf(node, c.Memory)
	t.tools = []llm.Tool{t.offer.tool, historyTool}
	if len(c.KnowledgeBases) > 0 {
		t.tools = append(t.tools, knowledgeTool)
	}
	for _, tool := range node.tools {
		t.tools = append(t.tools, tool.tool())
	}
	t.messages = prompt(t.offer.system, c.Memory, window(c.History, c.Limits), c.LatestUserMessage)
	return t, nil
}

// override applies the sampling parameters of a trusted context.
func (t *turn) override(m *ModelParams) error {
	if m.Name != "" && t.Named != nil {
		model, err := t.Named(m.Name)
		if err != nil {
			return &Error{Fault: Invalid, Pointer: "/model/name", Message: "the model cannot be used", Err: err}
		}
		t.model = model
	}
	if m.Temperature != nil {
		t.params.Temperature = m.Temperature
	}
	if m.TopP != nil {
		t.params.TopP = m.TopP
	}
	if m.Seed != nil {
		t.params.Seed = m.Seed
	}
	if m.MaxTokens > 0 {
		t.params.MaxTokens = m.MaxTokens
	}
	return nil
}

// talk decides where the turn leads and returns the answer.
func (t *turn) talk(ctx context.Context) (string, error) {
	text, done := t.decide(ctx)
	if !done {
		var err error
		if text, err = t.loop(ctx); err != nil {
			return "", err
		}
	}
	if !t.streamed {
		t.token(text)
	}
	return text, nil
}

// loop asks the model until it answers without calling a tool.
func (t *turn) loop(ctx context.Context) (string, error) {
	most := t.in.Limits.MaxToolIterations
	if most <= 0 {
		most = defaultIterations
	}
	most = min(most, maxIterations)
	choice, forcedAgain, askedAgain := ProcessNode, false, false
	if t.decided {
		choice = "auto"
	}
	for iteration := 1; iteration <= most; iteration++ {
		reply, err := t.ask(ctx, t.tools, choice)
		if err != nil {
			return "", err
		}
		if len(reply.ToolCalls) > 0 {
			t.run(ctx, reply, iteration)
			if text, fixed := t.fixedText(); fixed {
				return text, nil
			}
			choice = "auto"
			continue
		}
		if !t.decided {
			if !forcedAgain && iteration < most {
				choice, forcedAgain = ProcessNode, true
				continue
			}
			t.notProcessed()
			choice = "auto"
			if t.step.kind != Stayed { // what was said is of the node that is left
				continue
			}
		}
		if !blank(reply.Text) {
			return reply.Text, nil
		}
		if askedAgain {
			return t.standIn(), nil
		}
		askedAgain = true
	}
	return t.lastCall(ctx)
}

// lastCall asks once more, without tools, when no further tool call is allowed.
func (t *turn) lastCall(ctx context.Context) (string, error) {
	t.warn(ToolLoopLimit)
	if !t.decided {
		t.notProcessed()
	}
	reply, err := t.ask(ctx, nil, "")
	if err != nil {
		return "", err
	}
	if !blank(reply.Text) {
		return reply.Text, nil
	}
	return t.standIn(), nil
}

// notProcessed stays at the node because the model has not called process_node, or not as it must.
func (t *turn) notProcessed() {
	t.setStep(t.stay())
	if t.invalid > 0 {
		t.warn(InvalidTransition)
	} else {
		t.warn(NotProcessed)
	}
	if t.step.kind != Stayed {
		t.announce(Stay, t.step, "no_match")
	}
}

// sorry is the answer when the node has no prompt either.
const sorry = "I am sorry, could you say that again?"

// standIn is the answer when the model has none: the prompt of the node that the answer belongs to.
func (t *turn) standIn() string {
	t.warn(EmptyText)
	t.streamed = false
	if t.step.refused != "" {
		return t.step.refused
	}
	next := t.step.next
	switch {
	case next == nil:
	case !blank(t.step.callAgain()):
		return t.step.callAgain()
	case !blank(next.Prompt):
		return t.fill(next.Prompt)
	}
	return sorry
}

// ask calls the model. The pieces of its answer go to the sink once the step is decided.
func (t *turn) ask(ctx context.Context, tools []llm.Tool, choice string) (chat.Reply, error) {
	request := t.params
	request.Messages, request.Tools, request.ToolChoice, request.Node = t.messages, tools, choice, t.node.ID
	var reply chat.Reply
	var err error
	if t.streamed = t.options.Sink != nil && t.decided; t.streamed {
		reply, err = llm.Stream(ctx, t.model, request, t.token)
	} else {
		reply, err = t.model.Generate(ctx, request)
	}
	t.usage.count(reply, err)
	return reply, err
}

func (t *turn) token(text string) {
	if t.options.Sink != nil && text != "" {
		t.options.Sink(Event{Token: text})
	}
}

func (t *turn) setStep(s step) { t.step, t.decided = s, true }

// warn adds a warning once.
func (t *turn) warn(w Warning) {
	if !slices.Contains(t.warnings, w) {
		t.warnings = append(t.warnings, w)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
