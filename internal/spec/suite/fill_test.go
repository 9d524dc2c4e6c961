package suite_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestFill(t *testing.T) {
	vars, err := source.ParseYAML("s.yaml",
		[]byte(`{days: 14, customer: {name: Ann, pets: [cat, dog]}, raw: "{{ days }}", output: mine}`))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"":                                     "",
		"{{days}} for {{ customer.name }}":     "14 for Ann",
		"{{ vars.days }} {{customer.pets.1}}":  "14 dog",
		"{{customer}}":                         `{"name":"Ann","pets":["cat","dog"]}`,
		"{{raw}}":                              "{{ days }}",
		"{{ output }} {{input}} {{criteria}}":  "{{ output }} {{input}} {{criteria}}",
		`\{{days}} and \{{ nobody }}`:          "{{days}} and {{ nobody }}",
		"{ {days} } {{}} {{ 1 }} {{ a b }} }}": "{ {days} } {{}} {{ 1 }} {{ a b }} }}",
		"{{ day }}":                            `p.md:1:1: unknown variable {{ day }} (did you mean "days"?)`,
		"a\né: {{ customer.age }}":             "p.md:2:4: unknown variable {{ customer.age }}",
		"{{days}}${{ HOME }}":                  "p.md:1:9: unknown variable ${{ HOME }}",
	} {
		got, problems := suite.Assertion{Vars: vars}.Fill("p.md", in)
		if len(problems) > 0 {
			got = problems.Error()
		}
		if got != want && (len(problems) == 0 || !strings.HasPrefix(got, want)) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got, problems := (suite.Assertion{}).Fill("p.md", "{{ nobody }} {{output}}"); len(problems) != 1 {
		t.Errorf("without variables: %q, %v", got, problems)
	}
}
