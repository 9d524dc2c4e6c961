package replayrun

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// The defaults of a replay run.
const (
	DefaultWorkers     = 8
	DefaultTurnTimeout = 2 * time.Minute
)

// Submitted returns what a RunSpec of the kind replay asks for, with the configuration, the flows and the prompts of
// its files. What it names and may not is noted in the setup.
func Submitted(s *wire.Setup, spec runspec.Spec) (Config, error) {
	r := spec.Replay
	s.NamesVariables(spec.Env...)
	s.NamesWritten(r.User)
	s.NamesWritten(r.Judge)
	flows, prompts := cmp.Or(r.Flows, "flows"), cmp.Or(r.Prompts, "prompts")
	for key, folder := range map[string]string{"flows": flows, "prompts": prompts} {
		if !filepath.IsLocal(folder) {
			return Config{}, source.Invalid(
				"replay: %s: %q is no folder of the bundle: write it from the bundle's root, without `..`", key, folder)
		}
	}
	if r.Assert != "" && !filepath.IsLocal(r.Assert) {
		return Config{}, source.Invalid("replay: assert: %q is not a file of the bundle: write it from the bundle's "+
			"root, without `..`", r.Assert)
	}
	at, err := s.At(".")
	if err != nil {
		return Config{}, err
	}
	for _, reference := range []string{r.Candidate, r.Baseline, r.VariantID, r.BaselineID} {
		if name, ok := replay.TargetNamed(reference); ok {
			at.NamesWritten(name)
			at.NamesTarget(name)
		}
	}
	c := Config{
		Setup: at, Interim: r.Interim, Assert: r.Assert, Flows: flows, Prompts: s.Files.OnDisk(prompts),
		Spec: replay.Spec{
			Candidate: r.Candidate, Baseline: r.Baseline, VariantID: r.VariantID, BaselineID: r.BaselineID,
			AA: r.AA, FlowID: r.FlowID, FirstDay: r.StartDate, LastDay: r.EndDate, Timezone: r.Timezone,
			SampleSize: r.SampleSize, MinTurns: 1, Mode: replay.Mode(cmp.Or(r.Mode, string(replay.Recorded))),
			Gate: cmp.Or(r.Gate, replay.GatePaired), Side: replay.Side(cmp.Or(r.States, string(replay.After))),
			User: r.User, Workers: cmp.Or(spec.Limits.Workers, DefaultWorkers), TurnTimeout: DefaultTurnTimeout,
			Slow: replay.DefaultSlow, Judge: r.Judge, MaxExtraTurns: replay.DefaultMaxExtraTurns,
		},
	}
	if r.Repeats != nil {
		if c.Spec.Repeats = *r.Repeats; c.Spec.Repeats < 1 {
			return Config{}, source.Invalid("replay: repeats %d is out of range: use 1 or more", c.Spec.Repeats)
		}
	}
	if r.MinTurns != nil {
		c.Spec.MinTurns = *r.MinTurns
	}
	if r.SessionGap != nil {
		c.Spec.SessionGap = time.Duration(*r.SessionGap)
	}
	if r.MaxExtraTurns != nil {
		c.Spec.MaxExtraTurns = *r.MaxExtraTurns
	}
	if r.Slow != nil {
		c.Spec.Slow = time.Duration(*r.Slow)
	}
	if r.TurnTimeout != nil {
		c.Spec.TurnTimeout = time.Duration(*r.TurnTimeout)
	}
	c.Spec.Rules, err = submittedRules(r)
	return c, err
}

// submittedRules returns the rules of the paired gate: the default ones where nothing else is said.
func submittedRules(r *runspec.Replay) (replay.Rules, error) {
	rules := replay.DefaultRules()
	rules.Require = cmp.Or(replay.Requirement(r.Require), rules.Require)
	rules.Cluster = cmp.Or(replay.Clustering(r.Cluster), rules.Cluster)
	rules.Slices = r.Slice
	for _, share := range []struct {
		said *float64
		rule *float64
	}{
		{r.MinSupport, &rules.MinSupport},
		{r.MinPower, &rules.MinPower},
		{r.MaxLost, &rules.MaxLost},
		{r.MinFidelity, &rules.MinFidelity},
	} {
		if share.said != nil {
			*share.rule = *share.said
		}
	}
	return rules, rules.SetMargins(r.Margin)
}

// Sessions replays single sessions of a run that another process leads. It is safe for concurrent use.
type Sessions struct {
	config     Config
	evaluation *replay.Evaluation
	guard      *runner.Guard
}

// NewSessions opens what the sessions are replayed against, by the variants of the configuration: it needs no store.
func NewSessions(ctx context.Context, c Config) (*Sessions, error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	r := &Run{config: c}
	if err := r.agents(ctx); err != nil {
		return nil, err
	}
	if err := r.sameAgents(); err != nil {
		return nil, err
	}
	r.evaluation.Replayer.Now = c.Setup.Now
	return &Sessions{c, r.evaluation, &r.guard}, nil
}

// Close ends what the sessions share. It must be called after the last session.
func (h *Sessions) Close() { h.guard.Close() }

// Run replays a session. An error means that it was interrupted, or that it broke what replays it.
func (h *Sessions) Run(ctx context.Context, s *replay.Session) (o replay.Outcome, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = runner.Panicked(h.config.Setup.Log, fault)
		}
	}()
	held, err := h.evaluation.Replayer.Run(ctx, s, h.evaluation.Measuring)
	return held.Outcome, err
}
