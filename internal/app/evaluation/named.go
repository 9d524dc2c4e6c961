package evaluation

import (
	"iter"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// named tells the setup what targets a submitted run names, and what its assertions need outside of the program. Tests
// that are not selected count, too.
func (e *Evaluation) named() error {
	at := e.Config.Setup
	if at.Submitted == nil {
		return nil
	}
	for _, s := range e.suites {
		known := map[string]bool{}
		for t, err := range s.Tests() {
			if err != nil {
				return source.AsInvalid(err)
			}
			t.Execution = e.execution(s, t.Execution)
			targets, _ := e.targetNames(s, t) // a test that is selected must have one
			for _, target := range targets {
				if known[target] {
					continue
				}
				known[target] = true
				e.setups[s.Name].NamesTarget(target)
			}
			for a := range assertionsOf(t) {
				outside := e.kinds.Outside(a)
				for _, address := range outside.Addresses {
					at.NamesAddress("a grader of test "+t.ID, address)
				}
				if outside.Program {
					at.NamesProgram()
				}
			}
		}
	}
	return nil
}

// startsPrograms reports whether holding a conversation, or grading it, starts a program.
func (e *Evaluation) startsPrograms(u orchestrator.Unit) bool {
	if e.setups[u.Test.Suite].TargetStartsProgram(u.Target) {
		return true
	}
	for a := range assertionsOf(u.Test) {
		if e.kinds.Outside(a).Program {
			return true
		}
	}
	return false
}

// assertionsOf yields every assertion of a test.
func assertionsOf(t *suite.Test) iter.Seq[suite.Assertion] {
	return func(yield func(suite.Assertion) bool) {
		lists := [][]suite.Assertion{t.Assertions, t.EveryTurn}
		if t.User != nil {
			lists = append(lists, t.User.StopWhen)
		}
		for _, turn := range t.Turns {
			lists = append(lists, turn.Assertions)
		}
		for _, list := range lists {
			for _, a := range list {
				if !yield(a) {
					return
				}
			}
		}
	}
}
