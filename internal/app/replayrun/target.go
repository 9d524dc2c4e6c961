package replayrun

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// openTarget opens a target for replays, as a suite would open it. Definition is all that decides how it answers, as
// JSON values; its Settings are left to the caller, as it may contain secrets and the names of files.
// Resumes is true when conversations can begin in their middle.
func openTarget(ctx context.Context, s *wire.Setup, name string) (o *replay.Opened, definition any, err error) {
	t, err := s.TargetNamed(name)
	if err != nil {
		return nil, nil, err
	}
	agent := &replay.TargetAgent{Traits: target.TraitsOf(t)}
	if agent.Target, err = s.Target(name, suite.Execution{}); err != nil {
		return nil, nil, err
	}
	if definition, err = s.Definition(name); err != nil {
		return nil, nil, err
	}
	var judge grader.Judge
	if t.Judge != "" {
		if judge, err = s.Judge(wire.Judging{}); err != nil {
			return nil, nil, fmt.Errorf("target %s: complete_when: %w", name, err)
		}
		of, err := s.JudgeDefinition(wire.Judging{})
		if err != nil {
			return nil, nil, err
		}
		definition = []any{definition, of}
	}
	if agent.Completion, err = replay.NewCompletion(t.Completion, judge); err != nil {
		return nil, nil, source.Invalid("target %s: %w", name, err)
	}
	o = &replay.Opened{
		Replayed: replay.Replayed{ID: "target:" + name, Name: name, Kind: t.Kind}, Agent: agent,
		Resumes: agent.Traits.Resumes,
	}
	if t.Model.Provider != "" {
		o.Model = t.Model.String()
	}
	switch {
	case agent.Traits.Flow:
		err = nodes(ctx, s, name, t, agent, o)
	case t.Follows != nil:
		err = localNodes(s, target.FlowConfig{Path: t.Follows.Path, ID: t.Follows.ID}, agent, o)
	}
	o.RequestsUnknown = target.AcceptsFlow(t) || agent.Traits.Flow && agent.Nodes == nil
	return o, definition, err
}

// localNodes takes the nodes of a flow that is defined here.
func localNodes(s *wire.Setup, c target.FlowConfig, agent *replay.TargetAgent, o *replay.Opened) error {
	f, err := wire.LoadFlow(s.Files, c)
	if err != nil {
		return err
	}
	agent.Nodes, o.FlowID = replay.NodesOf(f), f.ID
	return nil
}

// nodes finds the nodes of the flow that a target follows: those of the flow that is named here, or else of the
// server's.
func nodes(ctx context.Context, s *wire.Setup, name string, t config.Target, agent *replay.TargetAgent,
	o *replay.Opened) error {
	c := target.FlowConfigOf(t)
	agent.Start = c.Start
	if c.Path != "" {
		return localNodes(s, c, agent, o)
	}
	o.FlowID = flow.Slug(c.ID)
	told, err := s.NodesOfServer(ctx, t)
	if err == nil {
		agent.Nodes, err = replay.ReadNodes(told)
	}
	if err != nil {
		s.ReportProblem(fmt.Sprintf(
			"target %s: the nodes of its flow are not known, so its conversations begin at its start: %v", name, err))
	}
	return nil
}
