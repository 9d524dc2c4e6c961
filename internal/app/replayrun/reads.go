package replayrun

import (
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Reads reads every file of here that a replay can read, through the files of its setup: the folders of flows and
// prompts whole, as only the store knows which of them the variants name, and what the configuration's models, flows,
// judge and the named targets are made of. It opens nothing and asks nobody, so that it needs no key.
func Reads(ctx context.Context, s *wire.Setup, spec runspec.Spec) error {
	r := spec.Replay
	s.Files.RecordFolder(r.Flows)
	s.Files.RecordFolder(r.Prompts)
	at, err := s.At(".")
	if err != nil {
		return err
	}
	definitions := []any{at.ModelDefinitions()}
	var named []string
	for _, reference := range []string{r.Candidate, r.Baseline, r.VariantID, r.BaselineID} {
		if name, ok := replay.TargetNamed(reference); ok && !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	judged := false
	for _, name := range named {
		definition, err := at.Definition(name)
		if err != nil {
			return err
		}
		definitions = append(definitions, definition)
		judged = judged || at.Config().Targets[name].Judge != ""
	}
	// a variant takes knowledge and limits from the target of its flow
	for _, name := range append(named, flowTargets(at.Config())...) {
		if _, err := at.KnownFlow(name); err != nil {
			return err
		}
		if _, err := at.TargetDependencies(ctx, name); err != nil {
			return err
		}
	}
	if r.Assert != "" {
		checks, err := readChecks(s.Files, r.Assert)
		if err != nil {
			return err
		}
		definitions = append(definitions, checks.written)
		judged = judged || checks.judged(s.Files)
	}
	if judged {
		definition, err := at.JudgeDefinition(wire.Judging{})
		if err != nil {
			return err
		}
		definitions = append(definitions, definition)
	}
	if r.User != "" {
		definition, err := at.UserDefinition(wire.Playing{Name: r.User})
		if err != nil {
			return err
		}
		definitions = append(definitions, definition)
	}
	_, err = definitionSum(at, definitions) // which reads every file that they name
	return err
}

// flowTargets returns the names of the targets that are flows of here, in order.
func flowTargets(c config.File) (names []string) {
	for _, name := range wire.Names(c.Targets) {
		if _, ok := c.Targets[name].Options.(target.FlowConfig); ok {
			names = append(names, name)
		}
	}
	return names
}
