package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// decide moves the conversation by the rules of a state machine. It returns the answer when no model is needed.
// The choice of the rules is recorded as the call of process_node that a model would have made.
func (t *turn) decide(ctx context.Context) (text string, done bool) {
	if !t.flow.Machine {
		return "", false
	}
	answer, state := t.in.LatestUserMessage, t.node.State
	if state.Validation != nil {
		if problem := state.Validation.check(answer); problem != "" {
			return t.refuse(problem), true
		}
	}
	if state.Field != "" {
		t.collect(state.Field, strings.TrimSpace(answer))
	}
	option, decided := t.rule(t.node)
	if !decided {
		return "", false
	}
	problem := t.advance(ctx, option)
	if problem != "" {
		return t.refuse(problem), true
	}
	return t.fixedText()
}

// rule returns the option that the state's rules choose; nil stays. decided is false when the model has to choose.
func (t *turn) rule(n *Node) (option *Option, decided bool) {
	rules := make([]*Option, 0, len(n.Options))
	open := false
	for _, o := range n.Options {
		if o.Rule == nil {
			open = true
			continue
		}
		rules = append(rules, o)
	}
	slices.SortStableFunc(rules, func(a, b *Option) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, o := range rules {
		if o.Rule.holds(t.in.LatestUserMessage, t.field) {
			return o, true
		}
	}
	return nil, !open
}

// advance takes the option that the rules chose, nil to stay. If an action refuses the answer, it returns what to tell
// the user.
func (t *turn) advance(ctx context.Context, o *Option) (problem string) {
	s := stay(t.node)
	if o != nil {
		if s, problem = t.follow(ctx, o); problem != "" {
			return problem
		}
	}
	t.setStep(s)
	if o == nil {
		t.announce(Stay, s, byRule)
	} else {
		t.announce(o.ID, s, byRule)
	}
	return ""
}

// follow takes an option and then everything automatic: actions, skipped states and redirects.
func (t *turn) follow(ctx context.Context, o *Option) (s step, problem string) {
	if s = advance(o); !t.flow.Machine {
		return s, ""
	}
	if problem = t.check(o.Actions); problem != "" {
		return stay(t.node), problem
	}
	t.act(ctx, o.Actions, &s)
	return t.enter(ctx, s), ""
}

// enter runs the actions of the state that a step leads to. It moves on while states are skipped or redirect.
func (t *turn) enter(ctx context.Context, s step) step {
	for range len(t.flow.Nodes) { // each state is entered at most once, which ends circles
		n := s.next
		if n == nil {
			break
		}
		if o, decided := t.rule(n); decided && o != nil && t.skips(n) {
			s = step{option: s.option, next: o.Next, kind: Advanced}
			continue
		}
		to := stay(n)
		_ = t.check(fieldsOf(n.State.Actions))
		t.act(ctx, n.State.Actions, &to)
		if to.next == n {
			break
		}
		s = step{option: s.option, next: to.next, kind: Advanced}
	}
	if s.ends() {
		s.kind = Completed
	}
	return s
}

func (t *turn) skips(n *Node) bool {
	return slices.ContainsFunc(n.State.Skip, func(c *Condition) bool {
		return c.holds(t.in.LatestUserMessage, t.field)
	})
}

// check sets the fields of actions and validates, in their order, and keeps the fields only when everything is valid.
// Otherwise it returns what to tell the user, and nothing has happened.
func (t *turn) check(actions []Action) (problem string) {
	before := len(t.collected)
	for _, a := range actions {
		switch a.Type {
		case SetField:
			t.collect(a.Target, t.fill(cmp.Or(a.Value, t.in.LatestUserMessage)))
		case Validate:
			value, _ := t.field(a.Target)
			if problem := a.Validation.check(value); problem != "" {
				t.collected = t.collected[:before]
				return problem
			}
		}
	}
	return ""
}

// fieldsOf returns the actions that set fields. To enter a state nothing is validated.
func fieldsOf(actions []Action) []Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a Action) bool { return a.Type != SetField })
}

// act carries out what actions do outside of the conversation, in their order, once their fields are set. A redirect
// changes where the step leads.
func (t *turn) act(ctx context.Context, actions []Action, s *step) {
	for _, a := range actions {
		switch a.Type {
		case LogEvent:
			t.Log.InfoContext(ctx, "flow event", "event", a.Target, "flow", t.flow.ID, "trace_id", t.traceID)
			t.note(string(LogEvent), map[string]string{"event": a.Target})
		case CallAPI:
			t.callAPI(ctx, a.Target)
		case Redirect:
			s.next, s.kind = a.node, Advanced
		}
	}
}

// note records an event as a tool call.
func (t *turn) note(name string, args map[string]string) {
	t.notes = append(t.notes, ToolTrace{
		ID: t.noteID(), Name: name, Args: compact(args), Result: json.RawMessage("null"),
	})
}

// noteCall records a call of an API.
func (t *turn) noteCall(name string, args map[string]string, result json.RawMessage, err error, took time.Duration) {
	trace := ToolTrace{
		ID: t.noteID(), Name: name, Args: compact(args), Result: json.RawMessage("null"),
		LatencyMS: float64(took.Microseconds()) / 1000,
	}
	switch {
	case err != nil:
		trace.Error = new(err.Error())
		t.warn(ToolFailed)
	case len(result) > 0:
		trace.Result = compact(result)
	}
	t.notes = append(t.notes, trace)
}

func (t *turn) noteID() string { return fmt.Sprintf("rule_%d", len(t.trace)+len(t.notes)+1) }

// flushNotes puts the recorded actions after the call that led to them.
func (t *turn) flushNotes() {
	for _, note := range t.notes {
		t.trace = append(t.trace, note)
		if t.options.Sink != nil {
			t.options.Sink(Event{Tool: &note})
		}
	}
	t.notes = nil
}

// refuse stays in the state after an invalid answer.
func (t *turn) refuse(problem string) string {
	t.collected, t.notes = nil, nil
	s := stay(t.node)
	t.setStep(s)
	t.announce(Stay, s, byRule)
	return problem
}

// byRule is what decides where no model does.
const byRule = "rule"

// refused is what the model reads when a validation refuses the transition that it has chosen.
type refused struct {
	Refused      string `json:"refused"`
	Instructions string `json:"instructions"`
}

// refuseModel stays in the state because a validation refuses the transition that the model has chosen. Nothing of the
// transition has happened.
func (t *turn) refuseModel(problem string) refused {
	t.collected, t.notes = nil, nil
	s := stay(t.node)
	s.refused = problem
	t.setStep(s)
	t.warn(TransitionRefused)
	return refused{problem, "Tell the user why: " + problem}
}

// announce adds a call of process_node that the model has not made to the messages and to the trace. decider is what
// has decided instead.
func (t *turn) announce(option string, s step, decider string) {
	args := compact(map[string]string{"current_node_id": t.node.ID, "option_id": option})
	result := t.outcome(s)
	result.DecidedBy = decider
	call := chat.ToolCall{ID: decider + "_0", Name: ProcessNode, Args: args}
	trace := ToolTrace{ID: call.ID, Name: ProcessNode, Args: args}
	trace.fill(result, nil)
	t.messages = append(t.messages,
		chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
		chat.Message{Role: chat.Tool, Content: chat.Content{Text: string(trace.Result)}, ToolCallID: call.ID})
	t.record(trace)
	t.flushNotes()
}

// fixedText returns the message of the state that the turn led to; an ai_response leaves the text to the model.
func (t *turn) fixedText() (text string, fixed bool) {
	if !t.flow.Machine || !t.decided || t.step.next == nil || t.step.refused != "" {
		return "", false
	}
	next := t.step.next
	if next.State.Type == AIResponse || blank(next.Prompt) {
		return "", false
	}
	return t.fill(next.Prompt), true
}

// collect stores a field for the memory. Conditions see it immediately.
func (t *turn) collect(name, value string) {
	if name != "" && value != "" {
		t.collected = append(t.collected, factOp{Op: opAdd, Key: name, Value: value, Exact: true})
	}
}

// field looks up a field that this turn or an earlier one has collected.
func (t *turn) field(name string) (string, bool) {
	for _, op := range slices.Backward(t.collected) {
		if op.Key == name {
			return op.Value, true
		}
	}
	for _, f := range t.in.Memory.Facts {
		if !f.Deleted && (f.Key == name || NormalKey(f.Key) == name) {
			return f.Value, true
		}
	}
	return "", false
}

func (t *turn) fields() map[string]string {
	all := map[string]string{}
	for _, f := range t.in.Memory.liveFacts() {
		all[f.Key] = f.Value
	}
	for _, op := range t.collected {
		all[op.Key] = op.Value
	}
	return all
}

// placeholder is {name}, {{ name }} or, in corpora from Python, {name:s}.
var placeholder = text.Regexp(`\{\{?\s*([\pL\pM\pN_.-]+)(?::[a-z])?\s*\}?\}`)

// descriptor returns a node's descriptor with the collected fields in its prompt.
func (t *turn) descriptor(n *Node) *Descriptor {
	shown := t.flow.offerOf(n, t.in.Memory).descriptor
	filled := t.fill(n.Prompt)
	if filled == n.Prompt {
		return shown
	}
	d := *shown
	d.Prompt = filled
	return &d
}

// fill replaces placeholders by collected fields. Unknown ones stay.
func (t *turn) fill(text string) string {
	if !t.flow.Machine || !strings.Contains(text, "{") {
		return text
	}
	return placeholder().ReplaceAllStringFunc(text, func(found string) string {
		name := fieldName(placeholder().FindStringSubmatch(found)[1])
		if name == "" {
			return t.in.LatestUserMessage
		}
		if value, ok := t.field(name); ok {
			return value
		}
		return found
	})
}
