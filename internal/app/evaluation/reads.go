package evaluation

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Reads reads every file that a run can read, through the files of its setup, and returns the files of the suites and
// the number of tests. It opens nothing and asks nobody, so that it needs no key.
func Reads(ctx context.Context, c Config) (suites []string, tests int, err error) {
	c.Spec = c.Spec.WithoutBaseline() // whoever leads the run has it
	e, err := New(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	if err := e.ask(ctx); err != nil {
		return nil, 0, err
	}
	for _, s := range e.suites {
		suites = append(suites, s.File)
	}
	for call := range e.planned.calls {
		if _, err := e.setups[call.suite].KnownFlow(call.target); err != nil {
			return nil, 0, err
		}
	}
	prints := newFingerprints(e) // which knows every file that decides a record
	for u, err := range e.planned.units() {
		if err != nil {
			return nil, 0, err
		}
		if _, _, err := prints.of(u); err != nil {
			return nil, 0, err
		}
	}
	return suites, e.Tests(), nil
}

// Within returns the error of a file that a submitted run leads to and that is outside of its files
// (source.ErrOutside). What else is wrong with a file is told by whoever holds the conversations.
func (e *Evaluation) Within(ctx context.Context) error {
	err := e.ask(ctx)
	for call := range e.planned.calls {
		_, unread := e.setups[call.suite].KnownFlow(call.target)
		err = errors.Join(err, unread)
	}
	if err = errors.Join(err, e.Config.Setup.Outside()); !errors.Is(err, source.ErrOutside) {
		return nil
	}
	return err
}
