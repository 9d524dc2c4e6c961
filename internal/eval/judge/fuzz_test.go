package judge

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// fuzzed are questions of every mode.
var fuzzed = []grader.Question{
	{Mode: grader.Free},
	{Mode: grader.Criteria, Names: []string{"a"}},
	{Mode: grader.Checklist, Rubrics: []grader.Rubric{{ID: "a"}, {ID: "b", Ranges: []grader.Range{{}}}}},
}

// FuzzParse holds that whatever a judge says is either refused or a verdict within its bounds, and that a quotation is
// never a verdict.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"score":0.5}`, "```json\n{\"checks\":[{\"id\":\"a\",\"satisfied\":true}]}\n```", `{"scores":{"a":1e309}}`,
		`{"checks":[{"id":"b","score":10}]}`, "```", `{"score":null}`, `[]`, `<think>{"score":1}</think>{"score":0}`,
		`{"score":0,"score":1}`, `{"Score":1}`, `{"scores":{"a":1}} {"scores":{"a":0}}`, `"{\"score\":1}"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, q := range fuzzed {
			v, err := parse(checklist{Question: q}, text)
			if err != nil {
				continue
			}
			if !within(v.Score, 1) {
				t.Errorf("score %v of %q", v.Score, text)
			}
			for _, s := range v.Scores {
				if !within(s, 1) {
					t.Errorf("score %v of %q", s, text)
				}
			}
			for id, c := range v.Checks {
				if (id != "a" && id != "b") || !within(c.Score, 10) {
					t.Errorf("check %q %+v of %q", id, c, text)
				}
			}
			if q.Output = text; text != "" {
				if v, err := parse(checklist{Question: q}, text); err == nil {
					t.Errorf("%q, which quotes, gives %+v", text, v)
				}
			}
		}
	})
}
