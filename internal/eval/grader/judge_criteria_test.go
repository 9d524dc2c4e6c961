package grader

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// scorer is a judge that gives the scores it has and remembers the question.
type scorer struct {
	scores map[string]float64
	asked  Question
}

func (s *scorer) Decide(_ context.Context, q Question) (Verdict, error) {
	s.asked = q
	return Verdict{Scores: s.scores, Reasoning: "so it seems"}, nil
}

func TestJudgeCriteria(t *testing.T) {
	scores := map[string]float64{"helpfulness": 0.9, "faithfulness": 0.6, "style": 0.6, "tone": 0.3, "wit": 0}
	for _, tc := range []struct {
		yaml  string
		names []string
		score float64
		says  string
	}{
		{"{criteria: {helpfulness: 0.9, tone_min: 0.3}}", []string{"helpfulness", "tone"}, 1, ""},
		{
			"{criteria: {helpfulness_min: 0.91}}", []string{"helpfulness"}, 0,
			"helpfulness scored 0.90, needs 0.91: so it seems",
		},
		{"{criteria: [helpfulness, tone]}", []string{"helpfulness", "tone"}, 0, "tone scored 0.30, needs 0.70"},
		{"{criteria: {assistant_quality_min: 0.7}}", []string{"helpfulness", "faithfulness", "style"}, 1, ""},
		{
			"{criteria: {assistant_quality: 0.71}}", nil, 0,
			"assistant_quality scored 0.70 on average (helpfulness 0.90, faithfulness 0.60, style 0.60), needs 0.71",
		},
		{
			"{criteria: {assistant_quality_min: 0.5, tone_min: 0.2}, average_of: [style, tone]}",
			[]string{"style", "tone"}, 0, "assistant_quality scored 0.45",
		},
		{"{criteria: {assistant_quality_min: 0.3}, average_of: [style, wit]}", []string{"style", "wit"}, 1, ""},
		{"{criteria: {assistant_quality_min: 0.31}, average_of: [style, wit]}", nil, 0, "(style 0.60, wit 0.00)"},
		{"{criteria: {wit: 0}}", []string{"wit"}, 1, ""},
	} {
		judge := &scorer{scores: scores}
		check := one(t, New(Config{Judge: judge}), "{type: judge_criteria, "+strings.TrimPrefix(tc.yaml, "{"))
		if !check.Judged || !check.Always {
			t.Errorf("%s: judged %t, always %t", tc.yaml, check.Judged, check.Always)
		}
		g, err := check.Grader.Grade(t.Context(), reply("hi"))
		if err != nil || g.Score != tc.score || g.Code != result.QualityJudgeFail ||
			!strings.Contains(g.Reason, tc.says) {
			t.Errorf("%s: %+v, %v; want score %v and %q", tc.yaml, g, err, tc.score, tc.says)
		}
		if diff := cmp.Diff(tc.names, judge.asked.Names); diff != "" && tc.names != nil {
			t.Errorf("%s: names (-want +got):\n%s", tc.yaml, diff)
		}
	}
}

// TestSilence checks that a judge that leaves out a criterion has not decided: that is never a failing score.
func TestSilence(t *testing.T) {
	for _, yaml := range []string{
		"{type: judge_criteria, criteria: {tone: 0}}", "{type: answer_quality}",
		"{type: rubrics, criteria: [one, two]}", "{type: goal_completion}",
	} {
		judge := &scorer{scores: map[string]float64{"style": 1}}
		g, err := one(t, New(Config{Judge: judge}), yaml).Grader.Grade(t.Context(), reply("hi"))
		if err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("%s: %+v, %v", yaml, g, err)
		}
	}
}

// What the judge is told beside the reply: where the flow stands and what it knows, or the conversation.
func TestJudgeCriteriaContext(t *testing.T) {
	for state, want := range map[string]string{
		flowing:                  "node prompt: Ask for the name.\nfact: city = Oslo\nuser: hello",
		completed:                "user: hello",
		"":                       "system: be nice\n\nuser: hello",
		`{"cart": 1}`:            "system: be nice\n\nuser: hello",
		`{"memory": "anything"}`: "system: be nice\n\nuser: hello",
	} {
		judge := &scorer{scores: map[string]float64{"tone": 1}}
		x := at(state)
		x.Input = []chat.Message{chat.NewMessage(chat.System, "be nice"), chat.NewMessage(chat.User, "hello")}
		check := one(t, New(Config{Judge: judge}), "{type: judge_criteria, criteria: {tone: 0.5}}")
		if _, err := check.Grader.Grade(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		if judge.asked.Context != want {
			t.Errorf("context of %s: %q, want %q", cutRunes(state, 20), judge.asked.Context, want)
		}
	}
}

// A composite is asked whenever one of its parts must be.
func TestAlways(t *testing.T) {
	s := New(Config{})
	for yaml, always := range map[string]bool{
		"{type: composite, assertions: [{type: judge_criteria, criteria: {tone: 0.5}}, polite]}": true,
		"{type: composite, assertions: [polite]}":                                                false,
		"{type: judge, prompt: x}":                                                               false,
	} {
		if got := one(t, s, yaml).Always; got != always {
			t.Errorf("%s: always %t", yaml, got)
		}
	}
}
