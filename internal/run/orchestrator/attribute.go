package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// rejudgings is how often each transcript of a flaky test is judged again. With its own that makes three verdicts:
// fewer than two say nothing of the judge, and every one more costs as much as the first.
const rejudgings = 2

// The causes of different outcomes.
const (
	causeAgent     = "agent"
	causeJudge     = "judge"
	causeTransport = "transport"
	// causeInconclusive takes the place of agent and judge where neither could be shown to vary.
	causeInconclusive = "inconclusive"
)

// The agent varies at p <= level. Beside a judge that wavers it takes levelBeside: one flaky test in twenty would else
// be called the agent's whose replies the judge does not read.
const (
	level       = 0.05
	levelBeside = 0.001
)

// frozen are the trials of a test, whose transcripts are judged again, and what came of it.
type frozen struct {
	unit   *unit
	trials []*result.Test
	again  map[int][]result.Verdict
	use    result.JudgeUse
	// unknown says why they were not all judged again.
	unknown string
}

// wavers reports whether the outcomes of trials differ, among those that were graded.
func wavers(trials []*result.Test) bool {
	is := func(v result.Verdict) bool {
		return slices.ContainsFunc(trials, func(t *result.Test) bool { return t.Verdict == v })
	}
	return is(result.Pass) && is(result.Fail)
}

// rejudge judges the transcripts of a test again, one after the other. A panic ends it.
func (s *scheduler) rejudge(ctx context.Context, of Task, f *frozen) {
	defer func() {
		if r := recover(); r != nil {
			f.unknown = runner.Panicked(s.Log, r).Error()
		}
	}()
	for _, trial := range f.trials {
		if !trial.Verdict.Graded() || len(trial.Turns) == 0 {
			continue
		}
		for range rejudgings {
			t, err := s.Rejudge(ctx, Task{Test: of.Test, Target: of.Target, Trial: trial.Trial}, trial)
			if err != nil {
				f.unknown = stoppedRejudging
				return
			}
			f.use = f.use.Add(t.Judge)
			f.again[trial.Trial] = append(f.again[trial.Trial], t.Verdict)
		}
	}
}

const stoppedRejudging = "the run was stopped before all transcripts were judged again"

// attribution says what varies in the trials of a unit; nil when nothing does.
func (n *unit) attribution() *result.Attribution {
	a := &result.Attribution{Causes: []string{}, Trials: len(n.trials), Transcripts: []result.Rejudged{}}
	graded, judgeErrors := 0, 0
	for _, trial := range n.trials {
		switch {
		case trial.Verdict.Graded():
			graded++
		case muted(trial): // it tells of the user alone
		case lost(trial):
			a.Lost++
		case trial.Verdict == result.Error:
			judgeErrors++
		}
		for _, turn := range trial.Turns {
			if turn.Attempts > max(1, turn.Requests) {
				a.Retried++
			}
		}
	}
	a.Undecided = judgeErrors
	differ := wavers(n.trials)
	if !differ && a.Retried == 0 && (graded == 0 || a.Lost+judgeErrors == 0) {
		return nil
	}
	transcripts := n.rejudged(a)
	share := stats.Attribute(transcripts, a.Lost)
	if trials := graded + a.Lost; trials > 0 {
		a.LostShare, a.LostInterval = new(float64(a.Lost)/float64(trials)), new(stats.Wilson(a.Lost, trials))
	}
	agent, wavering := false, slices.ContainsFunc(transcripts, func(t stats.Rejudged) bool {
		return t.Passed > 0 && t.Passed < t.Verdicts
	})
	if share.Known {
		a.Agent, a.Judge, a.AgentShare = &share.Agent, &share.Judge, &share.AgentShare
		if differ {
			a.PValue = new(stats.TranscriptsAlike(transcripts))
			agent = *a.PValue <= level && (!wavering || *a.PValue <= levelBeside)
		}
	}
	for _, cause := range []struct {
		name   string
		varies bool
	}{
		{causeAgent, agent},
		{causeJudge, differ && wavering || a.Undecided > 0},
		{causeInconclusive, differ && share.Known && !agent && !wavering && a.Undecided == 0},
		{causeTransport, a.Lost+a.Retried > 0},
	} {
		if cause.varies {
			a.Causes = append(a.Causes, cause.name)
		}
	}
	if differ && !share.Known && a.Unknown == "" {
		a.Unknown = "fewer than two transcripts could be judged again"
	}
	return a
}

// muted reports whether the simulated user of a trial failed.
func muted(t *result.Test) bool {
	return slices.ContainsFunc(t.Failures, func(f result.Failure) bool {
		return f.Code == result.EngineError && f.Source == "user"
	})
}

// lost reports whether a trial brought no transcript.
func lost(t *result.Test) bool {
	return slices.ContainsFunc(t.Failures, func(f result.Failure) bool {
		return f.Code == result.EngineError || f.Code == result.Timeout
	})
}

// rejudged counts the verdicts on each transcript.
func (n *unit) rejudged(a *result.Attribution) []stats.Rejudged {
	if n.frozen == nil {
		return nil
	}
	a.Use, a.Unknown = n.frozen.use, n.frozen.unknown
	var all []stats.Rejudged
	for _, trial := range n.trials {
		again, judged := n.frozen.again[trial.Trial]
		if !judged {
			continue
		}
		r := result.Rejudged{Trial: trial.Trial}
		for _, v := range append([]result.Verdict{trial.Verdict}, again...) {
			switch v {
			case result.Pass:
				r.Passed++
				r.Verdicts++
			case result.Fail:
				r.Verdicts++
			default:
				a.Undecided++
			}
		}
		a.Transcripts = append(a.Transcripts, r)
		all = append(all, stats.Rejudged{Passed: r.Passed, Verdicts: r.Verdicts})
	}
	return all
}

// varies says in words what an attribution found; empty without one.
func varies(a *result.Attribution) string {
	switch {
	case a == nil:
		return ""
	case len(a.Causes) == 0:
		return "; what varies is unknown: " + a.Unknown
	}
	words := "; what varies: the " + strings.Join(a.Causes, " and the ")
	words = strings.Replace(words, "the "+causeInconclusive, causeInconclusive, 1)
	if a.AgentShare != nil {
		words += fmt.Sprintf(" (agent %.0f%%, judge %.0f%% of the variance; %d transcripts judged %d times",
			100**a.AgentShare, 100*(1-*a.AgentShare), len(a.Transcripts), 1+rejudgings)
		if a.PValue != nil {
			words += fmt.Sprintf("; exact test that verdicts do not depend on the transcript: p = %.2g", *a.PValue)
		}
		words += ")"
	}
	if a.Lost > 0 {
		words += fmt.Sprintf("; %d of %d trials brought no transcript", a.Lost, a.Trials)
	}
	if a.Retried > 0 {
		words += "; " + text.Plural(a.Retried, "turn") + " took more than one attempt"
	}
	if a.Unknown != "" {
		words += "; " + a.Unknown
	}
	return words
}
