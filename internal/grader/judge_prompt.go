package grader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/runner"
)

const maxPromptBytes = 256 << 10

// promptVariable matches the variables of a judge's prompt (S2.24, S2.25).
var promptVariable = regexp.MustCompile(`\{\{\s*(input|output|criteria|expected_output)\s*\}\}`)

// newJudgePrompt makes the free judge. Without an author's prompt, the criteria or the expected output say what is good.
func newJudgePrompt(a *Args) runner.Grader {
	prompt := a.TextOr("prompt", "", "what to judge; {{input}}, {{output}}, {{criteria}} and {{expected_output}} are filled in; file://path reads it from a file")
	value := a.TextOr("value", "", "the same as prompt")
	criteria := a.TextOr("criteria", "", "what a good reply does, in place of the test's criteria")
	rubrics, hasRubrics := a.Node("rubrics", "list of criteria", "as criteria of the type rubrics; makes this a checklist", false)
	if prompt == "" {
		prompt = value
	}
	prompt = loadPrompt(a, prompt)
	if hasRubrics {
		return &rubricGrader{judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}, rubrics: readRubrics(rubrics)}
	}
	return &freeJudge{judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}, prompt: prompt, criteria: criteria}
}

func loadPrompt(a *Args, prompt string) string {
	name, isFile := strings.CutPrefix(prompt, "file://")
	if !isFile {
		return prompt
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.Assertion.Dir, name)
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxPromptBytes {
		err = fmt.Errorf("%s is larger than %d KB", name, maxPromptBytes>>10)
	}
	if err == nil {
		var data []byte
		if data, err = os.ReadFile(name); err == nil {
			return string(data)
		}
	}
	a.Report("prompt", "paths start from the suite's folder", "cannot read the prompt: %v", err)
	return ""
}

type freeJudge struct {
	judge    Judge
	check    runner.Check
	prompt   string
	criteria string
}

// Grade asks for one score between 0 and 1.
func (g *freeJudge) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	q := question(Free, x)
	if g.criteria != "" {
		q.Criteria = g.criteria
	}
	q.Task = fillPrompt(g.prompt, q)
	q.Embedded = q.Task != g.prompt
	verdict, err := ask(ctx, g.judge, q)
	if err != nil {
		return result.Grade{Judge: verdict.Use}, err
	}
	want := "the judge finds the reply good"
	switch {
	case g.prompt != "":
		want = clipped(g.prompt)
	case q.Criteria != "" && x.Expected == "":
		want = clipped(q.Criteria)
	case x.Expected != "":
		want = "matches the expected output"
	}
	return result.Grade{
		Score: verdict.Score, Code: result.QualityJudgeFail, Source: "judge", Judge: verdict.Use,
		Assertions: []result.Assertion{{Text: want, Passed: passes(g.check, x, verdict.Score), Evidence: verdict.Reasoning}},
		Reason:     fmt.Sprintf("wanted: %s; got a score of %.2f: %s", want, verdict.Score, verdict.Reasoning),
	}, nil
}

func passMark(x *runner.Exchange) float64 { return runner.Threshold(x.Test) }

// fillPrompt replaces the variables of a prompt. Variables in the inserted texts are not replaced.
func fillPrompt(prompt string, q Question) string {
	return promptVariable.ReplaceAllStringFunc(prompt, func(found string) string {
		switch promptVariable.FindStringSubmatch(found)[1] {
		case "input":
			return chat.Format(q.Input)
		case "output":
			return q.Output
		case "criteria":
			return q.Criteria
		}
		return q.Expected
	})
}

func question(m Mode, x *runner.Exchange) Question {
	return Question{Mode: m, Input: slices.Clip(x.Input), Output: x.Output, Expected: x.Expected, Criteria: x.Criteria}
}

// ask asks the judge. It returns an error when no judge is configured.
func ask(ctx context.Context, j Judge, q Question) (Verdict, error) {
	if j == nil {
		return Verdict{}, errors.New("no judge is configured: add --judge PROVIDER:MODEL, or `judge:` to rehearse.yaml")
	}
	return j.Ask(ctx, q)
}

func clipped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}
