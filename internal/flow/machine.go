package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rehearse/internal/chat"
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

// advance takes the option that the rules chose, nil to stay. If an action refuses the answer, it returns what to tell the user.
func (t *turn) advance(ctx context.Context, o *Option) (problem string) {
	s := stay(t.node)
	if o != nil {
		if s, problem = t.follow(ctx, o); problem != "" {
			return problem
		}
	}
	t.setStep(s)
	t.announce(o, s)
	return ""
}

// follow takes an option and then everything automatic: actions, skipped states and redirects.
func (t *turn) follow(ctx context.Context, o *Option) (s step, problem string) {
	if s = take(o); !t.flow.Machine {
		return s, ""
	}
	if problem = t.act(ctx, o.Actions, &s); problem != "" {
		return stay(t.node), problem
	}
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
		_ = t.act(ctx, n.State.Actions, &to) // validate does nothing on entering
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
	return slices.ContainsFunc(n.State.Skip, func(c *Condition) bool { return c.holds(t.in.LatestUserMessage, t.field) })
}

// act carries out actions in their order. A redirect changes where the step leads; a failed validation stops.
func (t *turn) act(ctx context.Context, actions []Action, s *step) (problem string) {
	for _, a := range actions {
		switch a.Type {
		case SetField:
			t.collect(a.Target, t.fill(cmp.Or(a.Value, t.in.LatestUserMessage)))
		case Validate:
			value, _ := t.field(a.Target)
			if problem := a.Validation.check(value); problem != "" {
				return problem
			}
		case LogEvent:
			t.Log.InfoContext(ctx, "flow event", "event", a.Target, "flow", t.flow.ID, "trace_id", t.traceID)
			t.note(string(LogEvent), map[string]string{"event": a.Target}, nil, nil)
		case CallAPI:
			t.callAPI(ctx, a.Target)
		case Redirect:
			s.next, s.kind = a.node, Advanced
		}
	}
	return ""
}

// callAPI calls Config.API; without one, the call is only recorded.
func (t *turn) callAPI(ctx context.Context, name string) {
	known := t.fields()
	var result json.RawMessage
	var err error
	if t.API != nil {
		result, err = t.API(ctx, name, known)
	}
	t.note(name, known, result, err)
}

// note records an action as a tool call.
func (t *turn) note(name string, args map[string]string, result json.RawMessage, err error) {
	trace := ToolTrace{ID: fmt.Sprintf("rule_%d", len(t.trace)+len(t.notes)+1), Name: name, Args: compact(args), Result: json.RawMessage("null")}
	if err != nil || result != nil {
		trace.fill(result, err)
	}
	if err != nil {
		t.warn(ToolFailed)
	}
	t.notes = append(t.notes, trace)
}

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
	t.announce(nil, s)
	return problem
}

// announce adds the rules' call of process_node to the messages and to the trace.
func (t *turn) announce(o *Option, s step) {
	id := Stay
	if o != nil {
		id = o.ID
	}
	args := compact(map[string]string{"current_node_id": t.node.ID, "option_id": id})
	result := t.outcome(s)
	result.DecidedBy = "rule"
	call := chat.ToolCall{ID: "rule_0", Name: ProcessNode, Args: args}
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
	if !t.flow.Machine || !t.decided || t.step.next == nil {
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
		if f.Key == name && !f.Deleted {
			return f.Value, true
		}
	}
	return "", false
}

func (t *turn) fields() map[string]string {
	all := map[string]string{}
	for _, f := range t.in.Memory.Facts {
		if !f.Deleted {
			all[f.Key] = f.Value
		}
	}
	for _, op := range t.collected {
		all[op.Key] = op.Value
	}
	return all
}

// placeholder is {name}, {{ name }} or, in corpora from Python, {name:s}.
var placeholder = regexp.MustCompile(`\{\{?\s*([A-Za-z0-9_.]+)(?::[a-z])?\s*\}?\}`)

// descriptor returns a node's descriptor with the collected fields in its prompt.
func (t *turn) descriptor(n *Node) *Descriptor {
	filled := t.fill(n.Prompt)
	if filled == n.Prompt {
		return n.descriptor
	}
	d := *n.descriptor
	d.Prompt = filled
	return &d
}

// fill replaces placeholders by collected fields. Unknown ones stay.
func (t *turn) fill(text string) string {
	if !t.flow.Machine || !strings.Contains(text, "{") {
		return text
	}
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := fieldName(placeholder.FindStringSubmatch(found)[1])
		if name == "" {
			return t.in.LatestUserMessage
		}
		if value, ok := t.field(name); ok {
			return value
		}
		return found
	})
}
