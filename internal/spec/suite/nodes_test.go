package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestNodeNames(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"the beginning": {
			"suite.yaml", "tests:\n  - {id: a, input: hi, state: {node: menu}}\n",
			"2:38 tests[0].state.node menu",
		},
		"lists and ends": {
			"suite.yaml", "tests:\n  - id: a\n    input: hi\n    assertions:\n      - type: next-node\n" +
				"        value:\n          - one\n          - null\n          - 2\n",
			"7:13 tests[0].assertions[0].value[0] one\n9:13 tests[0].assertions[0].value[2] 2",
		},
		"negated, in composites of either spelling": {
			"suite.yaml", "tests:\n  - id: a\n    input: hi\n    assertions:\n" +
				"      - {type: composite, graders: [{type: composite, assertions: [words, {type: not_next_node, " +
				"value: one}]}]}\n",
			"5:104 tests[0].assertions[0].graders[0].assertions[1].value one",
		},
		"filled in, at turns and at the end": {
			"suite.yaml", "vars: {at: menu}\ntests:\n  - id: a\n    mode: conversation\n    turns:\n" +
				"      - {input: hi, assertions: [{type: next_node, value: \"{{ at }}\"}]}\n    assertions: [{type: " +
				"next_node, value: null}, {type: next_node, value: end}]\n",
			"6:59 tests[0].turns[0].assertions[0].value menu\n7:75 tests[0].assertions[1].value end",
		},
		"of the suite, unless a test leaves its defaults out": {
			"suite.yaml", "assertions: [{type: next_node, value: one}]\ntests:\n  - {id: a, input: hi}\n" +
				"  - {id: b, input: hi, execution: {skip_defaults: true}}\n",
			"1:39 assertions[0].value one",
		},
		"JSON Lines": {
			"tests.jsonl", "{\"id\": \"a\", \"input\": \"hi\"}\n\n" +
				"{\"id\": \"b\", \"input\": \"hi\", \"state\": {\"node\": \"menu\"}}\n",
			"3:46 tests[1].state.node menu",
		},
		"v1": {
			"suite.yaml", "version: v1\nsuite_id: s\ntests:\n  - test_id: a\n    initial_node_id: one\n    turns:\n" +
				"      - {user_input: hi, expected: {next_node_id: two}}\n      - {user_input: hi, expected: " +
				"{next_node_id: null}}\n    final_assertions: {next_node_id: three}\n",
			"5:22 tests[0].initial_node_id one\n7:51 tests[0].turns[0].expected.next_node_id two\n" +
				"9:38 tests[0].final_assertions.next_node_id three",
		},
		"none": {"suite.yaml", "tests:\n  - {id: a, input: hi, assertions: [{type: next_node, value: null}, {type: " +
			"contains, value: hi}]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := suite.Load(file, suite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if s.NamesNodes != (c.want != "") {
				t.Errorf("NamesNodes is %v", s.NamesNodes)
			}
			problems, err := s.CheckNodes(func(_ *suite.Test, names []suite.NodeName) (all source.Problems) {
				for _, n := range names {
					all = append(all, n.Problem(n.ID, ""))
				}
				return all
			})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.ReplaceAll(problems.Error(), file+":", ""), ": ", " ")
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
