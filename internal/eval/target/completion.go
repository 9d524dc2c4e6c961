package target

import (
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// readCompletion reads what every kind has for replays, and returns the mapping without it.
func readCompletion(n source.Node) (c config.Completion, rest source.Node) {
	own, rest := lifted(n, source.Keys[completionKeys]()...)
	var k completionKeys
	source.Decode(own, &k)
	switch k.When.Kind {
	case source.Null:
	case source.Map:
		var judge completionJudge
		source.Decode(k.When, &judge)
		if c.Judge = judge.Judge; strings.TrimSpace(c.Judge) == "" {
			k.When.Report("write {judge: the order has been placed}, or an expression",
				"complete_when names no criterion")
		}
	default:
		c.When = readExpression(k.When, "say when it is true: reply contains \"goodbye\"", reflect.Bool)
	}
	if k.StateOf.Kind != source.Null {
		c.StateOf = readExpression(k.StateOf, "take the name of a state from it: data.step",
			reflect.String, reflect.Int, reflect.Float64, reflect.Bool)
	}
	if k.DataOf.Kind != source.Null {
		c.DataOf = readExpression(k.DataOf, "write a mapping: {city: data.city}", reflect.Map)
	}
	return c, rest
}

// completionKeys are keys of every kind for replays.
type completionKeys struct {
	When    source.Node `key:"complete_when" schema:"complete_when"`
	StateOf source.Node `key:"state_of" schema:"text"`
	DataOf  source.Node `key:"data_of" schema:"text"`
}

// completionJudge is a criterion that a judge decides.
type completionJudge struct {
	Judge string `key:"judge" doc:"a criterion that a judge decides"`
}

// followKeys are the keys of the flow that an agent follows.
type followKeys struct {
	Flow string `key:"flow" doc:"the flow that the agent follows, a file or a folder"`
	ID   string `key:"flow_id"`
}

// followers are the kinds whose agents may be said to follow a flow: what they tell is read from their answers, and so
// is their state.
var followers = []string{"http", "websocket", "command", "a2a"}

// readFollows reads which flow an agent follows, and returns the mapping without it. An http target that does not say
// what is where in an answer is a server of our own contract, whose flow is its own.
func readFollows(kind string, n source.Node, at config.Location) (f *config.Follows, rest source.Node) {
	if !slices.Contains(followers, kind) || kind == "http" && !n.Has("answer") && !n.Has("preset") {
		return nil, n
	}
	own, rest := lifted(n, source.Keys[followKeys]()...)
	if len(own.Fields) == 0 {
		return nil, n
	}
	var k followKeys
	source.Decode(own, &k)
	f = &config.Follows{Path: at.Path(k.Flow), ID: k.ID}
	if f.Path == "" {
		own.Report("add `flow:` with the file of the flow that the agent follows",
			"flow_id chooses one of the flows of a file, and `flow` names none")
	}
	return f, rest
}

// checkFollows reports a flow of an agent that tells no state.
func checkFollows(n source.Node, t config.Target) {
	if t.Follows != nil && t.StateOf == "" && !TraitsOf(t).States {
		n.Field("flow").Report("say where its state is: `answer: {node: $.path}`, or `state_of`",
			"the states of the agent are nodes of this flow, and it tells none")
	}
}

// readExpression reads an expression over a turn, which gives one of the kinds, or what only a run tells.
func readExpression(n source.Node, hint string, kinds ...reflect.Kind) string {
	code := n.Text()
	if n.Kind != source.String {
		return "" // it was reported
	}
	e, err := grader.CompileTurn(code)
	switch {
	case err != nil:
		n.Report("known names: "+grader.TurnNames, "not a valid expression: %s", err)
	case e.Kind() != reflect.Interface && !slices.Contains(kinds, e.Kind()):
		n.Report(hint, "the expression gives %s", e.Kind())
	}
	return code
}

// lifted returns the mapping with the entries of some names, and the one with all others.
func lifted(n source.Node, names ...string) (own, rest source.Node) {
	some, others := n.Value, n.Value
	some.Fields, others.Fields = nil, nil
	for _, f := range n.Fields {
		if slices.Contains(names, f.Name) {
			some.Fields = append(some.Fields, f)
		} else {
			others.Fields = append(others.Fields, f)
		}
	}
	return n.With(some), n.With(others)
}
