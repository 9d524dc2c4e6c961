package judge_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A judge asks a model and reads its verdict. Here a script plays the model.
func ExampleJudge() {
	model, err := llm.Open(config.Model{Provider: "scripted", Name: "judge.yaml"}, llm.Options{
		ReadFile: func(string) ([]byte, error) {
			return []byte(`default: {reply: '{"score": 0.9, "reasoning": "It is friendly."}'}`), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	j := judge.New(judge.Config{Primary: judge.Named{Name: "scripted", Model: model}})
	verdict, err := j.Decide(context.Background(), grader.Question{
		Mode: grader.Free, Criteria: "The answer is friendly.", Output: "Good morning! What can I do for you?",
	})
	fmt.Println(verdict.Score, verdict.Reasoning, err)
	// Output: 0.9 It is friendly. <nil>
}
