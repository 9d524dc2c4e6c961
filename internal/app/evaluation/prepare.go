package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// prepare opens targets and judges before the first conversation, so that what is missing is said before anything is
// spent.
func (e *Evaluation) prepare(ctx context.Context) error {
	if err := e.ask(ctx); err != nil {
		return err
	}
	if e.sharesVerdicts() {
		e.warn("trials share verdicts (execution.cache: shared): a judge that wavers looks stable")
	}
	switch {
	case e.regraded != nil:
		return e.prepareGradings()
	case e.Fleet != nil && e.spec.AttributeFlakes:
		return e.prepareGradings()
	case e.Fleet != nil: // workers open what they need, with keys of their own
		return nil
	}
	return e.open()
}

// sharesVerdicts reports whether trials of a test share remembered verdicts.
func (e *Evaluation) sharesVerdicts() bool { return e.planned.sharing && !e.setup.Recorded() }

// prepareGradings makes the assertion engines of the tests.
func (e *Evaluation) prepareGradings() error {
	for key, judged := range e.planned.gradings {
		if err := e.prepareGrading(key, judged); err != nil {
			return err
		}
	}
	if e.spec.AttributeFlakes {
		return e.prepareRejudging()
	}
	return nil
}

// prepareGrading makes an assertion engine.
func (e *Evaluation) prepareGrading(key gradingKey, judged bool) error {
	graders, err := e.makeGraders(key, judged)
	e.grading[key] = graders
	return err
}

// makeGraders makes an assertion engine, with a judge where one is asked.
func (e *Evaluation) makeGraders(key gradingKey, judged bool) (*grader.Set, error) {
	at := e.setups[key.suite]
	if !judged {
		return at.Graders(nil)
	}
	judging := e.judging(e.suiteNamed(key.suite))
	judging.Call = key.call
	judging.SharedTrials = key.cache == suite.CacheShared
	if key.cache != suite.CacheOff {
		judging.Cache, judging.Warn = e.verdicts(), e.cacheFailing
	}
	j, err := at.Judge(judging)
	if refused, ok := errors.AsType[*llm.Error](err); ok && refused.Fault == llm.Unauthorized {
		return nil, fmt.Errorf("the judge of %s: %w; --judge names another, and assertions with a type need none",
			key.suite, err)
	}
	if err != nil {
		return nil, err
	}
	return at.Graders(j)
}

// graders returns the assertion engine of a conversation. The judge of a repeat remembers nothing: a verdict that was
// given before confirms nothing.
func (e *Evaluation) graders(t orchestrator.Task) (*grader.Set, error) {
	if t.Trial <= max(1, t.Test.Execution.Trials.Count) {
		return e.grading[gradingOf(t.Test)], nil
	}
	key := freshly(t.Test)
	e.making.Lock()
	defer e.making.Unlock()
	if made, ok := e.fresh[key]; ok {
		return made, nil
	}
	made, err := e.makeGraders(key, e.planned.gradings[gradingOf(t.Test)])
	if err == nil {
		e.fresh[key] = made
	}
	return made, err
}

// verdicts returns what remembers verdicts; nil without a store.
func (e *Evaluation) verdicts() judge.Cache {
	if e.Verdicts != nil {
		return &maskedCache{e.Verdicts, e.setup.Secrets()}
	}
	if e.index == nil { // only a plan is shown
		return nil
	}
	if s := e.index.wait(); s != nil {
		return &maskedCache{s, e.setup.Secrets()}
	}
	return nil
}

func (e *Evaluation) suiteNamed(name string) *suite.Suite {
	for _, s := range e.suites {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// judging says who judges a suite. Files that the suite names are those of its folder.
func (e *Evaluation) judging(s *suite.Suite) wire.Judging {
	j := wire.Judging{Name: e.spec.Judge, Suite: s.Judge}
	if _, configured := e.setups[s.Name].Config().Models[j.Suite.Model]; !configured && j.Suite.Provider != "" &&
		!strings.Contains(j.Suite.Model, ":") {
		j.Suite.Model = j.Suite.Provider + ":" + j.Suite.Model
	}
	j.Suite.Panel = slices.Clone(j.Suite.Panel)
	for i, name := range j.Suite.Panel {
		j.Suite.Panel[i] = e.local(s, name)
	}
	j.Suite.Model, j.Suite.Secondary = e.local(s, j.Suite.Model), e.local(s, j.Suite.Secondary)
	return j
}

// judgeName returns who judges the first suite.
func (e *Evaluation) judgeName() string {
	return e.setup.JudgeName(e.judging(e.suites[0]))
}
