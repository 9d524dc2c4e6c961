package grader

import (
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// preset is a ready-made question about a whole conversation.
type preset struct{ name, doc, outcome string }

// presets follow the failure classes of MultiChallenge (Sirdeshmukh et al., 2025: instruction retention, inference
// memory, versioned editing, self-coherence) and the usual conversation metrics. The wording is this program's.
var presets = []preset{
	{
		"instruction_retention", "instructions given early still hold in later replies",
		"Every instruction that the user or the system gave earlier, such as a format, a language, a limit or a ban, " +
			"is still obeyed in every later reply until it is withdrawn.",
	},
	{
		"inference_memory", "facts from earlier turns are used where they matter",
		"Wherever a reply depends on something the user said earlier, even in passing, " +
			"the reply takes it into account without being reminded.",
	},
	{
		"versioned_editing", "edits build on the right version",
		"When the user asks to change, undo or go back to an earlier version of something, " +
			"the reply works on exactly that version and changes nothing else.",
	},
	{
		"self_coherence", "the assistant does not contradict itself",
		"No reply contradicts what the assistant said before, unless it says openly that it corrects itself; " +
			"agreeing with a user's false objection is a contradiction.",
	},
	{
		"conversation_relevance", "each reply answers what was asked",
		"Every reply addresses the user's latest message and stays on what the conversation is about.",
	},
	{
		"role_adherence", "the assistant stays in its role",
		"Every reply keeps to the role, the tone and the limits that the system message or the criteria set for the " +
			"assistant.",
	},
	{
		"knowledge_retention", "nothing already told is asked again",
		"The assistant never asks for something that the user has already told it and never forgets what it was told.",
	},
	{
		"goal_completion", "the user gets what they came for",
		"By the end of the conversation the user has got what they came for, or knows clearly why not and what to " +
			"do next.",
	},
}

// presetKinds returns a kind for each preset.
func presetKinds() []Kind {
	kinds := make([]Kind, 0, len(presets))
	for _, p := range presets {
		kinds = append(kinds, Kind{
			Name: p.name, Group: ModelGroup, Judged: true,
			Doc: p.doc + "; asked of a judge; 1 or 0",
			New: func(a *Args) runner.Grader {
				return &rubricGrader{judge: a.set.Judge, check: runner.Check{
					Assertion: a.Assertion,
				}, rubrics: []rubric{{
					Rubric: Rubric{ID: p.name, Outcome: p.outcome}, weight: 1, minScore: -1,
				}}}
			},
		})
	}
	return kinds
}
