package worker

import (
	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Concluding decides how a run of a kind has ended, and what its reports are besides those of any run.
type Concluding interface {
	// Decide reads the records of a run in its folder and sets how the run ended. reports writes the reports of the
	// kind into that folder.
	Decide(run *result.Run, dir string) (reports func() error, err error)
}

// submits are the kinds whose tests are made of the part of the spec that is theirs. The tests of a suite are loaded as
// they are written, and the sessions of a replay are no tests.
var submits = map[string]func(evaluation.Config) (Concluding, evaluation.Config, error){
	runspec.KindClassify: submitted(classify.Submit),
	runspec.KindE2E:      submitted(evaluation.SubmitAnswers),
}

func submitted[C Concluding](submit func(evaluation.Config) (C,
	evaluation.Config, error)) func(evaluation.Config) (Concluding, evaluation.Config, error) {
	return func(c evaluation.Config) (Concluding, evaluation.Config, error) { return submit(c) }
}

// Planned completes the configuration of the evaluation of a submitted run: one of a kind with items gets them as
// tests. It opens nothing.
func Planned(c evaluation.Config) (Concluding, evaluation.Config, error) {
	submit, ok := submits[c.Spec.Kind]
	if !ok {
		return byVerdicts{}, c, nil
	}
	concluding, completed, err := submit(c)
	if refused := c.Setup.Refused(); refused != nil { // which may be why it cannot be planned
		return nil, c, refused
	}
	return concluding, completed, err
}

// byVerdicts leaves a run as its verdicts have ended it.
type byVerdicts struct{}

func (byVerdicts) Decide(*result.Run, string) (func() error, error) {
	return func() error { return nil }, nil
}
