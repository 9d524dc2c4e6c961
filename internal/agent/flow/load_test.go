package flow_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// small is a node flow that the tests break in one place each.
const small = `
id: small
version: 2
start: begin
nodes:
  - {id: begin, type: start, prompt: Greet., next: [ask]}
  - id: ask
    type: conversation
    prompt: Ask for tea or coffee.
    options:
      - {id: tea, label: Tea, when: wants tea, examples: [a cup of tea], next: bye}
      - {id: none, label: Nothing, next: null}
  - {id: bye, type: stop, prompt: Say goodbye.}
`

func TestLoadNodeFlow(t *testing.T) {
	flows, err := flow.Load("small.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	f := flows[0]
	ask, ok := f.Node("ask")
	if f.ID != "small" || f.Version != "2" || f.Machine || f.Start.ID != "begin" || !ok || len(f.Warnings) > 0 {
		t.Fatalf("got flow %+v, warnings %v", f, f.Warnings)
	}
	if ask.Options[0].Next.ID != "bye" || ask.Options[1].Next != nil {
		t.Errorf("the options lead to %+v", ask.Options)
	}
	if d := ask.Descriptor(); len(d.Options) != 2 {
		t.Errorf("the descriptor shows %+v; the hidden option must not be there", d.Options)
	}
}

func TestNodeFlowFaults(t *testing.T) {
	for _, tc := range []struct{ name, old, broken, want string }{
		{"duplicate node", "{id: bye, type: stop", "{id: ask, type: stop", `node "ask" stands here and in line 7`},
		{"bad id", "{id: begin", "{id: Begin", `node id "Begin" is not a valid name`},
		{"reserved option", "{id: tea,", `{id: "-1",`, `node "ask": the option id "-1" is reserved`},
		{"duplicate option", "{id: none,", "{id: tea,", `node "ask" has two options "tea"`},
		{"unknown target", "next: bye}", "next: by}", `node "ask", option "tea" leads to "by", which does not exist`},
		{"unreachable", "next: bye}", "next: null}", `node "bye" cannot be reached`},
		{"back to the start", "next: null}", "next: begin}", `option "none" leads back to the start node "begin"`},
		{
			"no start", "type: start, prompt: Greet., next: [ask]",
			"type: conversation, options: [{id: a, label: A, next: ask}]", "no start node",
		},
		{"wrong start", "start: begin", "start: ask", `start names "ask", but the start node is "begin"`},
		{
			"start with options", "next: [ask]}", "next: [ask], options: [{id: a, label: A, next: ask}]}",
			`start node "begin" has options`,
		},
		{"start leads nowhere", "next: [ask]}", "next: []}", `start node "begin" leads nowhere`},
		{
			"stop with options", "{id: bye, type: stop,",
			"{id: bye, type: stop, options: [{id: a, label: A, next: ask}],", `stop node "bye" has options`,
		},
		{
			"conversation without options", "{id: bye, type: stop,", "{id: bye, type: conversation,",
			`conversation node "bye" is a dead end`,
		},
		{"circle", "{id: none, label: Nothing, next: null}", "{id: none, label: Nothing, next: ask}\n" +
			"      - {id: loop, label: Loop, next: round}\n  - {id: round, type: conversation, prompt: R, options: " +
			"[{id: a, label: A, next: round}]}", `node "round" is a dead end`},
		{"no type", "type: stop, ", "", `node "bye" has no type`},
		{"unknown type", "type: stop", "type: stopp", "stopp"},
		{"option without label", "label: Tea, ", "", `node "ask", option "tea" needs "label"`},
		{"option without next", ", next: null}", "}", `node "ask", option "none" needs "next"`},
		{"option to nowhere", "next: null}", "next: ''}", `node "ask": an option leads to a node without a name`},
		{"no id", "id: small\n", "", "a flow needs an id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(small, tc.old) {
				t.Fatalf("the flow does not hold %q", tc.old)
			}
			_, err := flow.Load("small.yaml", []byte(strings.Replace(small, tc.old, tc.broken, 1)))
			var problems source.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want problems", err)
			}
			if !strings.Contains(err.Error(), tc.want) || problems[0].Line == 0 || problems[0].Hint == "" {
				t.Errorf("got %v (line %d, hint %q), want %q with a place and a hint", err, problems[0].Line,
					problems[0].Hint, tc.want)
			}
		})
	}
}

// TestOutsideFlows loads flows that are not shipped, where REHEARSE_FLOWS names their files or folders (separated as in
// PATH).
func TestOutsideFlows(t *testing.T) {
	outside := os.Getenv("REHEARSE_FLOWS")
	if outside == "" {
		outside = filepath.Join("..", "..", "..", "examples")
	}
	for _, path := range filepath.SplitList(outside) {
		library, err := flow.OpenLibrary(source.Files{}, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, f := range library.Flows() {
			found, err := library.Find(flow.Slug(f.ID))
			if err != nil || found.Start == nil {
				t.Errorf("%s: flow %s cannot be found by its slug: %v", path, f.ID, err)
			}
		}
		t.Logf("%s: %d flows", path, len(library.Flows()))
	}
}
