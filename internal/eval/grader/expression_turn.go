package grader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/vm"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// TurnNames are the names of an expression over a turn.
const TurnNames = "reply, state, tool_calls, data, turn"

// Turn is what an expression over one turn of a conversation sees.
type Turn struct {
	Reply     string
	ToolCalls []chat.ToolCall
	// State and Data are JSON; empty where the agent tells none. Turn counts from 1.
	State, Data json.RawMessage
	Turn        int
}

// TurnExpression is a compiled expression over turns. It is safe for concurrent use.
type TurnExpression struct {
	code    string
	program *vm.Program
	kind    reflect.Kind
}

type turnEnv struct {
	Reply     string     `expr:"reply"`
	State     any        `expr:"state"`
	ToolCalls []viewCall `expr:"tool_calls"`
	Data      any        `expr:"data"`
	Turn      int        `expr:"turn"`
	exprCalls
}

// CompileTurn compiles an expression (https://expr-lang.org) over TurnNames. The error says in one line what is wrong
// with it.
func CompileTurn(code string) (*TurnExpression, error) {
	checked, err := compileExpression(code, turnEnv{})
	if err != nil {
		return nil, errors.New(compileError(err))
	}
	e := &TurnExpression{code: code, kind: reflect.Interface}
	if t := checked.Node().Type(); t != nil {
		e.kind = t.Kind()
	}
	if e.program, err = counting(code, turnEnv{}); err != nil {
		return nil, errors.New(compileError(err))
	}
	return e, nil
}

// Kind is what the expression gives; reflect.Interface where only a run tells.
func (e *TurnExpression) Kind() reflect.Kind { return e.kind }

// Of returns the expression's value of a turn, as JSON has it: nil, bool, float64, string, []any or map[string]any.
func (e *TurnExpression) Of(ctx context.Context, t Turn) (any, error) {
	calls := make([]viewCall, len(t.ToolCalls))
	for i, call := range t.ToolCalls {
		calls[i] = viewCall{call.Name, countable(parsed(call.Args))}
	}
	value, err := run(ctx, e.program, func(own exprCalls) any {
		return turnEnv{t.Reply, countable(parsed(t.State)), calls, countable(parsed(t.Data)), t.Turn, own}
	})
	if err != nil {
		return nil, fmt.Errorf("expression %s: %w", quote(e.code), err)
	}
	data, err := json.Marshal(value)
	if err == nil {
		value = nil
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		return nil, fmt.Errorf("expression %s: %w", quote(e.code), err)
	}
	return value, nil
}
