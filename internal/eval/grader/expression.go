package grader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of one expression. The language has no loops but walks over lists, which may nest.
const (
	maxExprNodes  = 1_000
	maxExprMemory = 1_000_000
	maxExprSteps  = 1_000_000
)

// exprEnv holds the names that an expression may use.
type exprEnv struct {
	view
	exprCalls
}

// exprCalls are the functions that a compiled expression calls behind its author's back.
type exprCalls struct {
	// Step is called for each element that the expression looks at, with what it found about it.
	Step        func(found any) (any, error) `expr:"_step"`
	Equal       func(a, b any) bool          `expr:"_equal"`
	Less        func(a, b any) bool          `expr:"_less"`
	LessOrEqual func(a, b any) bool          `expr:"_lessOrEqual"`
	In          func(v, list any) bool       `expr:"_in"`
}

func newExpression(a *Args) runner.Grader {
	code := a.Text("value",
		"an expression (https://expr-lang.org) over the exchange, true or false or a number from 0 to 1")
	program := a.program(code)
	names := namesIn(program)
	check := runner.Check{Assertion: a.Assertion}
	want := oneLine(code)
	return gradeFunc(func(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
		if err := names.unknown(x); err != nil {
			return result.Grade{}, fmt.Errorf("expression %s: %w", quote(code), err)
		}
		value, err := evaluate(ctx, program, viewOf(x).withCountable())
		if err != nil {
			return result.Grade{}, fmt.Errorf("expression %s: %w", quote(code), err)
		}
		if passed, ok := value.(bool); ok {
			return yesNo(want, passed, fmt.Sprint(passed)+" for "+quote(x.Text)), nil
		}
		score, err := scoreOf(value)
		if err != nil {
			return result.Grade{}, fmt.Errorf("expression %s: %w", quote(code), err)
		}
		return scored(check, x, want, score, decimal(score)+" for "+quote(x.Text)), nil
	})
}

// program compiles an expression. It reports a broken one, an unknown name, and a result that is not a score.
func (a *Args) program(code string) *vm.Program {
	if !a.node.Has("value") {
		return nil
	}
	program, err := compileExpression(code, exprEnv{})
	if err != nil {
		a.Report("value", "known names: input, output, text, expected_output, criteria, turn, turn_count, "+
			"tool_calls, state, node, usage, finish_reason, latency_ms, cost_usd, vars, metadata",
			"not a valid expression: %s", compileError(err))
		return nil
	}
	if t := program.Node().Type(); t != nil && !maybeScore(t.Kind()) {
		a.Report("value", "compare it with something, or count it",
			"the expression is a %s, not true or false or a number", t)
	}
	if program, err = counting(code, exprEnv{}); err != nil {
		a.Report("value", "write it in several simpler assertions", "not a valid expression: %s", compileError(err))
	}
	return program
}

// compileExpression checks an expression over an environment. Its program is only good for asking what it is: counting
// makes the one that runs.
func compileExpression(code string, env any, more ...expr.Option) (*vm.Program, error) {
	return expr.Compile(code,
		append([]expr.Option{expr.Env(env), expr.MaxNodes(maxExprNodes), exactFromJSON()}, more...)...)
}

// counting compiles an expression with exact comparisons and counted steps. Both hide the types of what they look at,
// so types are checked before.
func counting(code string, env any) (*vm.Program, error) {
	return compileExpression(code, env, expr.Patch(exactComparisons{}), expr.Patch(stepCounter{}))
}

// namesOf are the names of the environment that an expression uses. It is filled by ast.Walk.
type namesOf map[string]bool

// Visit notes a name.
func (n namesOf) Visit(node *ast.Node) {
	if name, ok := (*node).(*ast.IdentifierNode); ok {
		n[name.Value] = true
	}
}

// namesIn returns the names that a program uses; none of a broken one.
func namesIn(program *vm.Program) namesOf {
	names := namesOf{}
	if program != nil {
		node := program.Node()
		ast.Walk(&node, names)
	}
	return names
}

// unknown returns an error when the expression asks for what the target does not tell: a comparison with nothing
// decides nothing.
func (n namesOf) unknown(x *runner.Exchange) error {
	whole := n["$env"] // the environment as a value
	switch {
	case x.Reply.Untimed && (n["latency_ms"] || whole):
		return errUntimed
	case x.Reply.Usage.Unknown && (n["usage"] || whole):
		return errNoUsage
	case x.Reply.Cost.Unknown && (n["cost_usd"] || whole):
		return errors.New("the cost is unknown: a model behind the reply has no price, or reports no token usage")
	}
	return nil
}

// viewType matches a Go type of the environment in a compiler message; an author knows only the field's name.
var viewType = text.Regexp(`(?:type )?\*?grader\.view(\w+)`)

// figureType matches the Go type of a number of more than 64 bits in a message of the language.
var figureType = text.Regexp(`grader\.figure`)

// compileError says in one line what is wrong and where in the expression.
func compileError(err error) string {
	if at, ok := errors.AsType[*file.Error](err); ok {
		message := viewType().ReplaceAllStringFunc(at.Message, func(found string) string {
			return strings.ToLower(viewType().FindStringSubmatch(found)[1])
		})
		message = figureType().ReplaceAllString(message, "a number of more than 64 bits")
		return fmt.Sprintf("%s (line %d, column %d of the expression)", message, at.Line, at.Column+1)
	}
	return oneLine(err.Error())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func maybeScore(k reflect.Kind) bool {
	return k == reflect.Bool || k == reflect.Interface || k >= reflect.Int && k <= reflect.Float64
}

// stepCounter makes every predicate pass through Step. Nothing else in an expression is evaluated more than once.
type stepCounter struct{}

// Visit is called by the compiler for each node.
func (stepCounter) Visit(node *ast.Node) {
	if p, ok := (*node).(*ast.PredicateNode); ok {
		p.Node = &ast.CallNode{Callee: &ast.IdentifierNode{Value: "_step"}, Arguments: []ast.Node{p.Node}}
	}
}

func evaluate(ctx context.Context, program *vm.Program, v view) (any, error) {
	return run(ctx, program, func(calls exprCalls) any { return exprEnv{v, calls} })
}

// run runs a program over the environment that env makes.
func run(ctx context.Context, program *vm.Program, env func(exprCalls) any) (any, error) {
	steps := 0
	step := func(found any) (any, error) {
		if steps++; steps > maxExprSteps {
			return nil, fmt.Errorf("more than %d steps", maxExprSteps)
		}
		if steps%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return found, nil
	}
	machine := vm.VM{MemoryBudget: maxExprMemory}
	value, err := machine.Run(program, env(exprCalls{step, equalValues, lessValues, lessOrEqualValues, inList}))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.New(compileError(err) + "; use ?. and ?? for what may be missing")
	}
	return value, nil
}

func scoreOf(value any) (float64, error) {
	v := reflect.ValueOf(value)
	var score float64
	switch {
	case v.CanInt():
		score = float64(v.Int())
	case v.CanUint():
		score = float64(v.Uint())
	case v.CanFloat():
		score = v.Float()
	default:
		return 0, fmt.Errorf("expected true, false or a number from 0 to 1, got %s", show(value))
	}
	if math.IsNaN(score) || score < 0 || score > 1 {
		return 0, fmt.Errorf("the number %g is not from 0 to 1", score)
	}
	return score, nil
}
