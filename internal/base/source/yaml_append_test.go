package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestAppendYAML(t *testing.T) {
	item := source.Value{
		Kind:   source.Map,
		Fields: []source.Field{{Name: "id", Value: source.Text("new")}, {Name: "input", Value: source.Text("a\nb")}},
	}
	for name, tc := range map[string]struct{ before, after string }{
		"nothing": {"", "tests:\n  - id: new\n    input: |-\n      a\n      b\n"},
		"no list": {"name: x # why\n", "name: x # why\ntests:\n  - id: new\n    input: |-\n      a\n      b\n"},
		"no last newline": {
			"tests:\n  - {id: a}", "tests:\n  - {id: a}\n  - id: new\n    input: |-\n      a\n      b\n",
		},
		"dashes at the margin, keys behind": {
			"tests:\n- id: a # the first\n  input: |\n    # text\n\n# of judge\njudge: m\n",
			"tests:\n- id: a # the first\n  input: |\n    # text\n- id: new\n  input: |-\n    a\n    b\n\n" +
				"# of judge\njudge: m\n",
		},
		"comments inside": {
			"# head\nname: n\ntests:\n    # one\n    - id: a\n    # two\n    - id: b\n    # the end\n",
			"# head\nname: n\ntests:\n    # one\n    - id: a\n    # two\n    - id: b\n    # the end\n    - id: new\n" +
				"      input: |-\n        a\n        b\n",
		},
		"in brackets": {
			"tests: [{id: \"é\"},\n  {id: b}] # all\nname: x\n",
			"tests: [{id: \"é\"},\n  {id: b}, {\"id\":\"new\",\"input\":\"a\\nb\"}] # all\nname: x\n",
		},
		"in empty brackets": {"tests: []\n", "tests: [{\"id\":\"new\",\"input\":\"a\\nb\"}]\n"},
		"JSON": {
			`{"name": "x", "tests": [{"id": "a"}]}`,
			`{"name": "x", "tests": [{"id": "a"}, {"id":"new","input":"a\nb"}]}`,
		},
		"line breaks of YAML 1.1 in texts": {
			"a: \"\u0085\"\ntests:\n- id: \"p\u2028q\"\nz: 1\n",
			"a: \"\u0085\"\ntests:\n- id: \"p\u2028q\"\n- id: new\n  input: |-\n    a\n    b\nz: 1\n",
		},
		"an entry without a value": {
			"tests:\nname: x\n", "tests:\n  - id: new\n    input: |-\n      a\n      b\nname: x\n",
		},
	} {
		after, err := source.AppendYAML("suite.yaml", []byte(tc.before), "tests", item)
		if diff := cmp.Diff(tc.after, string(after)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
			continue
		}
		before, _ := source.ParseYAML("suite.yaml", []byte(tc.before))
		now, err := source.ParseYAML("suite.yaml", after)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, after)
			continue
		}
		was, _ := before.Get("tests")
		is, _ := now.Get("tests")
		if len(is.Items) != len(was.Items)+1 || !cmp.Equal(is.Items[len(is.Items)-1].Any(), item.Any()) {
			t.Errorf("%s: %v", name, is.Any())
		}
	}
	for before, want := range map[string]string{
		"- a\n": "not a mapping", "tests: other.yaml\n": "not a list", "a: [": "suite.yaml",
		"tests: *x\n": "unknown anchor",

		"a: 1\rtests:\r- id: a\rz: 1\r": "carriage return",
	} {
		if _, err := source.AppendYAML("suite.yaml", []byte(before), "tests", item); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", before, err, want)
		}
	}
}
