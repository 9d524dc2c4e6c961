package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Completion are a target's rules for its replays: when a conversation is complete, and what its state and its data
// are. The zero value has no rule: the agent says it all. NewCompletion makes others. It is safe for concurrent use.
type Completion struct {
	when, state, data *grader.TurnExpression
	criterion         string
	judge             grader.Judge
}

// NewCompletion compiles the rules of a target. Judge may be nil where they ask none.
func NewCompletion(c config.Completion, judge grader.Judge) (rules Completion, err error) {
	rules = Completion{criterion: c.Judge, judge: judge}
	for _, one := range []struct {
		code string
		to   **grader.TurnExpression
	}{{c.When, &rules.when}, {c.StateOf, &rules.state}, {c.DataOf, &rules.data}} {
		if one.code == "" {
			continue
		}
		if *one.to, err = grader.CompileTurn(one.code); err != nil {
			return Completion{}, err
		}
	}
	return rules, nil
}

// decides reports whether a rule says when a conversation is complete.
func (r *Completion) decides() bool { return r.when != nil || r.criterion != "" }

// of returns an answer with what the rules make of it. Where a rule says what is complete, what the agent says of it
// only ends the conversation.
func (r *Completion) of(ctx context.Context, a Answer, c *targetConversation) (Answer, error) {
	t := grader.Turn{
		Reply: c.reply.Text, ToolCalls: c.reply.ToolCalls, State: c.reply.State, Data: c.reply.State, Turn: c.turn,
	}
	if c.agent.Traits.Flow {
		t.Data = jsonOf(a.Data)
	}
	switch {
	case a.State != "":
		t.State = jsonOf(a.State)
	case c.reply.Node != "":
		t.State = jsonOf(c.reply.Node)
	}
	if r.state != nil {
		state, err := r.named(ctx, t)
		if err != nil {
			return a, err
		}
		a.State = state
	}
	if r.data != nil {
		data, err := r.collected(ctx, t)
		if err != nil {
			return a, err
		}
		a.Data = data
		t.Data = jsonOf(data)
	}
	if r.state != nil {
		t.State = jsonOf(a.State)
	}
	if !r.decides() {
		return a, nil
	}
	var err error
	a.Completed, err = r.complete(ctx, t, c)
	return a, err
}

// jsonOf writes a value that came from JSON.
func jsonOf(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return data
}

// named returns the state's name; empty where the expression finds none.
func (r *Completion) named(ctx context.Context, t grader.Turn) (string, error) {
	value, err := r.state.Of(ctx, t)
	if err != nil {
		return "", fmt.Errorf("state_of: %w", err)
	}
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), nil
	case bool:
		return strconv.FormatBool(value), nil
	}
	return "", fmt.Errorf("state_of: %T is no name of a state", value)
}

// collected returns the data; nil where the expression finds none.
func (r *Completion) collected(ctx context.Context, t grader.Turn) (map[string]any, error) {
	value, err := r.data.Of(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("data_of: %w", err)
	}
	data, ok := value.(map[string]any)
	if value != nil && !ok {
		return nil, fmt.Errorf("data_of: %T is no mapping", value)
	}
	return data, nil
}

// rubric is how a judge is asked whether a conversation is complete.
const rubric = "complete"

// complete decides whether the conversation has reached its end.
func (r *Completion) complete(ctx context.Context, t grader.Turn, c *targetConversation) (bool, error) {
	if r.when != nil {
		value, err := r.when.Of(ctx, t)
		if err != nil {
			return false, fmt.Errorf("complete_when: %w", err)
		}
		yes, ok := value.(bool)
		if !ok {
			return false, fmt.Errorf("complete_when: the expression gives %s, not true or false", jsonOf(value))
		}
		return yes, nil
	}
	verdict, err := r.judge.Decide(ctx, grader.Question{
		Mode: grader.Checklist, Input: c.said, Output: c.reply.Text, ToolCalls: c.reply.ToolCalls,
		Rubrics: []grader.Rubric{{ID: rubric, Outcome: r.criterion}},
	})
	if err != nil {
		return false, fmt.Errorf("complete_when: the judge: %w", err)
	}
	check, ok := verdict.Checks[rubric]
	if !ok {
		return false, errors.New("complete_when: the judge said nothing of its criterion")
	}
	return check.Satisfied, nil
}
