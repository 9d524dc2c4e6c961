package prompt_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

func TestCheckProblems(t *testing.T) {
	s := load(t, siteFile)
	const (
		meta, answer = "response-agents/meta-template", "response-agents/answer/template"
		own          = "response-agents/answer/instructions/acme.example"
	)
	for _, tc := range []struct {
		name   string
		source texts
		want   string
	}{
		{"unknown", texts{
			own: "We are\n  at {{compny}}.",
		}, own + `:2:6: unknown variable {{compny}} (did you mean "company"?)`},
		{
			"unknown at no name", texts{own: "{{zzzzzzzzzzzz}}"},
			`unknown variable {{zzzzzzzzzzzz}} (known: action, asset, `,
		},
		{
			"open", texts{own: "é {{company"},
			own + ":1:3: {{ does not begin a variable (write a variable as {{name}}; known: action, ",
		},
		{"logic", texts{own: "{{#if docs}}x"}, own + ":1:1: {{ does not begin a variable"},
		{"blank", texts{own: "{{ }}"}, own + ":1:1: {{ does not begin a variable"},
		{"two", texts{own: "{{a_b}} {{c_d}}"}, own + ":1:9: unknown variable {{c_d}}"},
		{"slot of another level", texts{own: "{{instructions}}"}, own + ":1:1: unknown variable {{instructions}}"},
		{
			"meta without agents", texts{meta: "Hello"},
			meta + ": the template has no place for the next level (write {{agent_instructions}} where it belongs)",
		},
		{
			"agent without site", texts{answer: "Hello"},
			answer + ": the template has no place for the next level (write {{instructions}} where it belongs)",
		},
		{"empty", texts{
			"nodes/skill_selector": " \n",
		}, "nodes/skill_selector: the prompt is empty (write one, or remove it to use the built-in prompt)"},
		{"skill", texts{
			"skills/ask_email": "{{assets}}",
		}, `skills/ask_email:1:1: unknown variable {{assets}} (did you mean "asset"?)`},
	} {
		_, err := (&prompt.Set{Source: tc.source}).Check(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v\nwant %s", tc.name, err, tc.want)
		}
		if tc.name != "two" && err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found more than once:\n%v", tc.name, err)
		}
	}
	if _, err := (&prompt.Set{Source: texts{meta: "Hello"}}).Render(t.Context(), s, prompt.AnswerWriter,
		prompt.Vars{}); err == nil {
		t.Error("a faulty template was rendered")
	}
}

func TestCheckWarnings(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		source     texts
		want       string
	}{
		{
			"template", "prompts: {answer: own/answer}",
			texts{},
			`acme.yaml: prompts: there is no prompt "own/answer"; the built-in one is used (add the prompt to its source, or correct the name)`,
		},
		{"node", "prompts: {visitor_profile: own/profile}", texts{}, `there is no prompt "own/profile"`},
		{
			"instructions", "prompts: {instructions: 'own/{agent}'}",
			texts{},
			`acme.yaml: prompts.instructions: no agent has instructions: there is no prompt "own/{agent}"` +
				` (add one to the source of prompts, such as own/answer, or remove the key)`,
		},
		{
			"instructions of one agent", "prompts: {instructions: 'own/{agent}'}",
			texts{"own/redirect": "Write to help@acme.example."}, "",
		},
		{
			"order", "",
			texts{"response-agents/answer/instructions/acme.example": "Ask: business or technical profile? Then: " +
				"What stage is your company at?"},
			`response-agents/answer/instructions/acme.example: the question of "profile_type" stands before that of "company_stage", unlike in acme.yaml (ask in the order`,
		},
		{"same order", "", texts{"response-agents/answer/instructions/acme.example": "What stage is your company at? " +
			"Business or technical profile?"}, ""},
	} {
		warnings, err := (&prompt.Set{Source: tc.source}).Check(t.Context(), load(t, siteFile+tc.yaml+"\n"))
		got := warnings.Error()
		if err != nil || !strings.Contains(got, tc.want) || tc.want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%s:\n got %s, %v\nwant %s", tc.name, got, err, tc.want)
		}
	}
}
