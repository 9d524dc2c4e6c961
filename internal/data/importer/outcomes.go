package importer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// rewarded is how far a reward may be from 1 and still be a success, as in tau-bench.
const rewarded = 1e-6

// Outcomes reads files of finished tau-bench trials and returns a record for each, in the order of the files. A reward
// of 1 is a pass and any other number a fail. A trial without a reward is an error, whose outcome is unknown. A task
// that has the same trial twice, and an entry that is not a trajectory, are input errors.
func Outcomes(paths []string) ([]*result.Test, error) {
	var all []*result.Test
	seen := map[result.Key]bool{}
	for _, path := range paths {
		root, err := Load(path)
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		entries := []source.Value{root}
		if root.Kind == source.List {
			entries = root.Items
		}
		for _, v := range entries {
			t, err := outcome(v)
			if err == nil && seen[t.Key()] {
				err = fmt.Errorf("%s has trial %d twice", t.TestID, t.Trial-1)
			}
			if err != nil {
				return nil, source.Invalid("%s:%d: %w", path, v.Line, err)
			}
			seen[t.Key()] = true
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, source.Invalid("%s: no trial in these files", strings.Join(paths, ", "))
	}
	return all, nil
}

// outcome returns the record of one trajectory: {task_id, trial, reward, traj}. Trials count from 0 there.
func outcome(v source.Value) (*result.Test, error) {
	task, known := v.Get("task_id")
	traj, talked := v.Get("traj")
	if !known || !talked || traj.Kind != source.List {
		return nil, fmt.Errorf("not a tau-bench trajectory: task_id and traj are needed")
	}
	trial, _ := v.Get("trial")
	n, err := strconv.Atoi(trial.Scalar)
	if err != nil && trial.Scalar != "" || n < 0 || n >= 10_000 {
		return nil, fmt.Errorf("invalid trial %q: a number from 0 is needed", trial.Scalar)
	}
	t := &result.Test{
		Schema: result.Schema, Suite: "tau-bench", TestID: "task-" + task.Scalar, Trial: n + 1, Target: "recorded",
		Threshold: 1, Turns: []result.Turn{}, Output: transcriptOf(traj.Items), Failures: []result.Failure{},
		Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true},
	}
	item := result.Score{Name: "assertions", Type: "reward", Weight: 1}
	reward, _ := v.Get("reward")
	number, err := strconv.ParseFloat(reward.Scalar, 64)
	if reward.Kind != source.Number || err != nil || number < 0 || number > 1 {
		failure := result.Failure{
			Code: result.EngineError, Source: "tau-bench", Message: "the trial has no reward between 0 and 1",
		}
		item.Verdict, item.Assertions, item.Failures = result.Error, []result.Assertion{}, []result.Failure{failure}
		t.Verdict, t.ExecutionStatus, t.Failures = result.Error, result.ExecutionError, item.Failures
		t.Scores = []result.Score{item}
		return t, nil
	}
	if number >= 1-rewarded {
		number = 1
	}
	item.Score = number
	check := result.Assertion{
		Text: "reward 1", Passed: number == 1, Evidence: "reward " + reward.Scalar, Grader: "reward",
	}
	item.Assertions = []result.Assertion{check}
	t.Score, t.GradedScore = number, &number
	t.Verdict, t.ExecutionStatus = result.Decide(number, &number, t.Threshold, false)
	if item.Verdict = t.Verdict; t.Verdict == result.Fail {
		item.Failures = []result.Failure{{
			Code: result.AssistantContent, Source: "reward", Message: "expected reward 1, got " + reward.Scalar,
		}}
		t.Failures = item.Failures
	}
	t.Scores = []result.Score{item}
	return t, nil
}

// transcriptOf returns the messages of the user and the agent with a text.
func transcriptOf(traj []source.Value) []chat.Message {
	messages := []chat.Message{}
	for _, v := range traj {
		role, _ := v.Get("role")
		content, _ := v.Get("content")
		text := scalarText(content)
		if (role.Scalar == "user" || role.Scalar == "assistant") && !blank(text) {
			messages = append(messages, chat.NewMessage(chat.Role(role.Scalar), text))
		}
	}
	return messages
}
