// Package grader decides assertions: deterministic checks of text, structure and budget first, a model as judge last.
//
// Adding a grader is one file with a constructor and one line in builtin.go.
package grader

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Kind is one type of assertion.
type Kind struct {
	// Name is in snake case; Aliases are other names that authors may use.
	Name    string
	Aliases []string
	Group   Group
	// Doc is the reference line of the type: what passes, whether case counts, and what the score is.
	Doc string
	// Judged is true when the grader asks a model.
	Judged bool
	// Varies is true when it depends on the parameters whether the grader needs a model.
	Varies bool
	// Outside is true when the grader, or one inside of it, may need something outside of the program (Set.Outside).
	Outside bool
	// Always is true when the grader is asked even if execution.short_circuit spares the judge.
	Always bool
	// OwnThreshold is true when the key threshold has a meaning of the type's own.
	OwnThreshold bool
	// Free is the name under which an entry may have keys of the author's own; empty where there is none.
	Free string
	// Prompts are the parameters that are prompts of a judge.
	Prompts []string
	// New reads the parameters and returns the grader; problems are reported on Args.
	New func(a *Args) runner.Grader
}

// Group is a section of the reference.
type Group string

// The groups of graders.
const (
	TextGroup        Group = "text"
	StructureGroup   Group = "structure"
	FlowGroup        Group = "tools and flow"
	BudgetGroup      Group = "budget"
	ModelGroup       Group = "model"
	CombinationGroup Group = "combination"
)

// Config is what graders need from outside. The zero value is enough for validation.
type Config struct {
	Judge    Judge
	Embedder Embedder
	// NoCommands refuses to start programs.
	NoCommands bool
	// Files are where schemas and prompts are read from.
	Files source.Files
	// HTTP is used by the http grader; nil means that of outbound.Client.
	HTTP *http.Client
	// Environ returns the environment of a program of the command grader, in the form of os.Environ: without secrets
	// but those that its configuration names. nil means an empty environment.
	Environ func(configuration source.Value) []string
}

// Embedder turns texts into vectors of one length, for the grader similar.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float64, error)
}

// Set is every kind of grader with what it needs from outside. It is safe for concurrent use.
type Set struct {
	Config
	kinds map[string]Kind
	// outside collects what assertions need outside of the program while one is built; it may be nil.
	outside *Outside
}

// Outside is what an assertion, with those inside of it, needs outside of the program.
type Outside struct {
	// Program is true if it starts one. Addresses are those of services that grade, as they are written.
	Program   bool
	Addresses []string
}

// New returns a Set of the built-in kinds.
func New(c Config) *Set {
	s := &Set{Config: c, kinds: map[string]Kind{}}
	for _, k := range Builtin() {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			s.kinds[name] = k
		}
	}
	return s
}

// Validate returns the problems of the assertion. suite.Load calls it for each one.
func (s *Set) Validate(a suite.Assertion) source.Problems {
	_, problems := s.build(a, 0)
	return problems
}

// Check returns the assertion's grader. The error is a source.Problems.
func (s *Set) Check(a suite.Assertion) (runner.Check, error) {
	c, problems := s.build(a, 0)
	return c, problems.Err()
}

// Judged reports whether deciding the assertion needs a judge.
func (s *Set) Judged(a suite.Assertion) bool {
	judge, _ := s.Models(a)
	return judge
}

// Models reports whether deciding the assertion needs a judge, and whether it needs an embedding model. A faulty
// assertion needs neither.
func (s *Set) Models(a suite.Assertion) (judge, embedder bool) {
	if kind := s.kinds[a.Type]; !kind.Judged && !kind.Varies {
		return false, false
	}
	c, problems := s.build(a, 0)
	if problems.Err() != nil {
		return false, false
	}
	return c.Judged, Embeds(c)
}

// Prompts returns the parameters of a type that are prompts of a judge.
func (s *Set) Prompts(typ string) []string { return s.kinds[typ].Prompts }

// Outside returns what deciding the assertion needs outside of the program.
func (s *Set) Outside(a suite.Assertion) Outside {
	if !s.kinds[a.Type].Outside {
		return Outside{}
	}
	found := &Outside{}
	own := *s
	own.outside = found
	_, _ = own.build(a, 0) // what is wrong with it is said when it is built to be graded
	return *found
}

// Types returns the names that authors may use, aliases included.
func (s *Set) Types() []string {
	names := make([]string, 0, len(s.kinds))
	for name := range s.kinds {
		names = append(names, name)
	}
	return names
}

// build makes the check of an assertion that depth other assertions enclose.
func (s *Set) build(a suite.Assertion, depth int) (runner.Check, source.Problems) {
	reader := &source.Reader{File: a.Params.File()}
	node := a.Params.To(reader)
	kind, ok := s.kinds[a.Type]
	if !ok {
		at := node.Field("type")
		node.Line, node.Column = at.Line, at.Column
		node.Report(source.Suggest(a.Type, s.Types()), "unknown grader type %q", a.Type)
		return runner.Check{}, reader.Problems
	}
	a.Type = kind.Name
	args := &Args{Assertion: a, node: node, set: s, depth: depth, params: make([]Param, 0, 4)}
	g := kind.New(args)
	args.reportUnknown()
	if a.Threshold > 1 && !kind.OwnThreshold {
		args.Report("threshold", "use a score between 0 and 1", "threshold %g is out of range", a.Threshold)
	}
	// The constructor may have changed the threshold: to the type's default, or to none when the key has a meaning of
	// its own.
	return runner.Check{
		Assertion: args.Assertion, Grader: g, Judged: kind.Judged || callsModel(g),
		Always: kind.Always || callsAlways(g),
	}, reader.Problems
}

// callsModel reports whether a grader, such as a composite, contains one that asks a model.
func callsModel(g runner.Grader) bool {
	j, ok := g.(interface{ Judged() bool })
	return ok && j.Judged()
}

// Embeds reports whether a check asks an embedding model.
func Embeds(c runner.Check) bool {
	g, ok := c.Grader.(interface{ Embeds() bool })
	return ok && g.Embeds()
}

// callsAlways reports whether a grader contains one that is always asked.
func callsAlways(g runner.Grader) bool {
	j, ok := g.(interface{ Always() bool })
	return ok && j.Always()
}

// Params returns the reference of a kind's parameters, in the order in which the kind reads them.
func (k Kind) Params() []Param {
	return k.paramsOf(source.Value{Kind: source.Map})
}

// paramsOf returns the parameters that the kind reads of an entry.
func (k Kind) paramsOf(entry source.Value) []Param {
	reader := &source.Reader{}
	args := &Args{
		Assertion: suite.Assertion{Type: k.Name, Threshold: -1},
		node:      reader.Node(entry, ""),
		set:       &Set{},
	}
	k.New(args)
	return args.params
}

// gradeFunc makes a function a Grader.
type gradeFunc func(ctx context.Context, x *runner.Exchange) (result.Grade, error)

// Grade calls the function.
func (f gradeFunc) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	return f(ctx, x)
}

// textCheck makes a grader of a function of the reply's text.
// The function returns whether the text passes, and the evidence: what was got, in words.
func textCheck(want string, check func(text string) (passed bool, evidence string)) runner.Grader {
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		passed, evidence := check(x.Text)
		return yesNo(want, passed, evidence), nil
	})
}

// yesNo returns a grade of 1 or 0 with one assertion: what was wanted and, after a failure, what was got.
func yesNo(want string, passed bool, evidence string) result.Grade {
	return coded(result.AssistantContent, want, passed, evidence)
}

// coded is yesNo with a failure code.
func coded(code result.Code, want string, passed bool, evidence string) result.Grade {
	g := result.Grade{Assertions: []result.Assertion{{Text: want, Passed: passed, Evidence: evidence}}, Code: code}
	if passed {
		g.Score = 1
	} else {
		g.Reason = fmt.Sprintf("wanted: %s; got: %s", want, evidence)
	}
	return g
}
