package grader

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// rater is a judge that gives one score and remembers the question.
type rater struct {
	score float64
	asked Question
}

func (r *rater) Decide(_ context.Context, q Question) (Verdict, error) {
	r.asked = q
	return Verdict{
		Score: r.score, Checks: map[string]RubricCheck{"a": {Score: 10 * r.score}},
		Scores: map[string]float64{"correctness": r.score, "completeness": r.score, "flow": r.score, "format": r.score},
	}, nil
}

// The sign of a judge's check follows the check's own threshold, else the test's, which is 0.8.
func TestJudgePasses(t *testing.T) {
	const rubric = "criteria: [{id: a, outcome: x, " + ranges + "}]"
	for _, tc := range []struct {
		yaml   string
		score  float64
		passed bool
	}{
		{"{type: judge}", 0.79, false},
		{"{type: judge}", 0.8, true},
		{"{type: judge, threshold: 0.5}", 0.6, true},
		{"{type: judge, threshold: 0.5}", 0.49, false},
		{"{type: judge, threshold: 0.95}", 0.9, false},
		{"{type: judge, threshold: 0}", 0, true},
		{"{type: judge, threshold: 0.5, prompt: rate it}", 0.6, true},
		{"{type: judge, threshold: 0.5, negate: true}", 0.6, true}, // 0.4 after negation fails, so before it passes
		{"{type: rubrics, threshold: 0.5, " + rubric + "}", 0.6, true},
		{"{type: rubrics, threshold: 0.95, " + rubric + "}", 0.9, false},
		{"{type: answer_quality, threshold: 0.5}", 0.6, true},
		{"{type: answer_quality}", 0.6, false},
		{"{type: judge, threshold: 0.5, rubrics: [{id: a, outcome: x, " + ranges + "}]}", 0.6, true},
	} {
		g, err := one(t, New(Config{Judge: &rater{score: tc.score}}), tc.yaml).Grader.Grade(t.Context(), reply("hi"))
		if err != nil || len(g.Assertions) == 0 || g.Assertions[0].Passed != tc.passed {
			t.Errorf("%s scored %g: %+v, %v; want passed %t", tc.yaml, tc.score, g.Assertions, err, tc.passed)
		}
	}
}

// A prompt of one line that names a file is read from it; what only looks like a path is a problem; everything else is
// the prompt.
func TestJudgePrompt(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"rules.md": "Rate {{output}} by {{ criteria }}.\n", "two words": "Read.", "latin.txt": "\xff",
		"empty.txt": " \n", "big.txt": strings.Repeat("x", maxPromptBytes+1), "bom.txt": "\ufeffRate it.",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := reply("said {{criteria}}")
	x.Criteria, x.Expected, x.Input = "C {{output}}", "E",
		[]chat.Message{chat.NewMessage(chat.User, "user: score it 1")}
	for _, tc := range []struct {
		prompt, task string
		fields       []string
		bad          string
	}{
		{prompt: "rules.md", task: "Rate {{output}} by C {{output}}.\n", fields: []string{"output", "criteria"}},
		{prompt: "file://rules.md", task: "Rate {{output}} by C {{output}}.\n", fields: []string{"output", "criteria"}},
		{
			prompt: filepath.Join(dir, "rules.md"), task: "Rate {{output}} by C {{output}}.\n",
			fields: []string{"output", "criteria"},
		},
		{prompt: `"./rules.md\n"`, task: "Rate {{output}} by C {{output}}.\n", fields: []string{"output", "criteria"}},
		{prompt: "two words", task: "Read."},
		{prompt: "bom.txt", task: "Rate it."},
		{prompt: "no file here", task: "no file here"},
		{prompt: "polite", task: "polite"},
		{prompt: "Is it like a.md", task: "Is it like a.md"},
		{prompt: `"rules.md\nor not"`, task: "rules.md\nor not"},
		{prompt: `"Score this: {{output}}"`, task: "Score this: {{output}}", fields: []string{"output"}},
		{
			prompt: `"I {{ input }} E {{expected_output}}"`, task: "I {{ input }} E E",
			fields: []string{"input", "expected_output"},
		},
		{prompt: `"C {{criteria}}"`, task: "C C {{output}}"},
		{prompt: `""`, task: ""},
		{prompt: `" "`, task: ""},
		{prompt: "none.md", bad: "none.md"},
		{prompt: "none.txt", bad: "none.txt"},
		{prompt: "x.prompt", bad: "x.prompt"},
		{prompt: "./none", bad: "none"},
		{prompt: "../none", bad: "none"},
		{prompt: "/none/at/all", bad: "/none/at/all"},
		{prompt: "file://none", bad: "none"},
		{prompt: "folder.md", bad: "is no file"},
		{prompt: "latin.txt", bad: "not UTF-8"},
		{prompt: "empty.txt", bad: "is empty"},
		{prompt: "big.txt", bad: "larger than 256 KB"},
	} {
		for _, key := range []string{"prompt", "value"} {
			judge := &rater{score: 1}
			s := New(Config{Judge: judge})
			a := read(t, "- {type: judge, "+key+": "+tc.prompt+"}", dir)[0]
			problems := s.Validate(a)
			if tc.bad != "" {
				if len(problems) != 1 || !strings.Contains(problems[0].Message, tc.bad) ||
					problems[0].Path != "assertions[0]."+key || problems[0].Hint == "" {
					t.Errorf("%s: %v, want %q", tc.prompt, problems, tc.bad)
				}
				continue
			}
			check, err := s.Check(a)
			if err != nil {
				t.Errorf("%s: %v", tc.prompt, err)
				continue
			}
			if _, err := check.Grader.Grade(t.Context(), x); err != nil {
				t.Error(err)
			}
			if judge.asked.Task != tc.task || !slices.Equal(judge.asked.Fields, tc.fields) {
				t.Errorf("%s: task %q with %q, want %q with %q", tc.prompt, judge.asked.Task, judge.asked.Fields,
					tc.task, tc.fields)
			}
		}
	}
}
