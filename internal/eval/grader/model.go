package grader

// modelKinds lists the graders that ask a judge.
func modelKinds() []Kind {
	kinds := []Kind{
		{
			Name: "rubrics", Group: ModelGroup, Judged: true, New: newRubrics,
			Doc: "a judge says of each criterion whether it is satisfied, all in one call; " +
				"score = weighted share satisfied, a criterion with score_ranges counts its 0..10 as a share; " +
				"a failed required criterion makes it and the turn 0",
		},
		{
			Name: "judge", Aliases: []string{"llm_grader", "llm_rubric"}, Group: ModelGroup,
			Judged: true, Prompts: []string{"prompt", "value"}, New: newJudgePrompt,
			Doc: "a judge scores the reply between 0 and 1 by your prompt, or by the criteria and the expected output",
		},
		{
			Name: "judge_criteria", Group: ModelGroup, Judged: true, Always: true, New: newJudgeCriteria,
			Doc: "a judge scores named qualities between 0 and 1; each must reach its least score; " +
				"asked even where short_circuit spares the judge; 1 or 0",
		},
		{
			Name: "answer_quality", Group: ModelGroup, Judged: true, New: newAnswerQuality,
			Doc: "a judge scores correctness, completeness, flow and format between 0 and 1 against the expected " +
				"output; score = their mean",
		},
	}
	return append(kinds, presetKinds()...)
}
