// Package report renders the record of a run: for the terminal, a pull request, CI systems and the browser. Everything
// is rendered from the run's record and a stream of its tests, in memory that does not grow with their number.
package report

import (
	"fmt"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Report renders one run. Its methods may be called at the same time; each reads the stream anew.
type Report struct {
	run    result.Run
	tests  runlog.Stream
	survey func() (*survey, error)
	// base is where the folder of the run is published; empty means that links are relative to it. unlinked is true
	// where there is no page to lead to.
	base     string
	unlinked bool
	// book is what people said of the run.
	book *annotation.Book
}

// New returns the report of a run and its tests, which may be the log of a run that is not finished or was interrupted.
// What such a run's totals do not say yet is counted from the tests. Nothing is read before something is rendered.
// Records of tests that the run has left out are passed over.
func New(run result.Run, tests runlog.Stream) *Report {
	tests = counted(run, tests)
	r := &Report{run: run, tests: tests}
	r.survey = sync.OnceValues(func() (*survey, error) {
		s, err := readSurvey(run, tests)
		if err == nil {
			s.reviewedBy(r.book)
		}
		return s, err
	})
	return r
}

// counted returns the records that count: those of tests that the run has not left out.
func counted(run result.Run, tests runlog.Stream) runlog.Stream {
	if len(run.LeftOut) == 0 {
		return tests
	}
	out := make(map[result.Key]bool, len(run.LeftOut))
	for _, key := range run.LeftOut {
		out[key] = true
	}
	return func(yield func(*runlog.Record, error) bool) {
		for t, err := range tests {
			if err == nil {
				key := t.Brief.Key()
				if key.Trial = 0; out[key] {
					continue
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// At makes the report's links lead to where the folder of the run is published, such as https://ci.example/runs/7.
// Without, they are relative to the folder. It returns the report.
func (r *Report) At(base string) *Report {
	r.base = base
	return r
}

// Reviewed shows what people decided beside the verdicts of the machine, which stay. It must be called before anything
// is rendered. It returns the report.
func (r *Report) Reviewed(book *annotation.Book) *Report {
	r.book = book
	return r
}

// link returns the address of an id on the page of the run; empty where there is no page.
func (r *Report) link(id string) string {
	if r.unlinked {
		return ""
	}
	return link(r.base, id)
}

// Tests returns the records that the report is made of, in brief (runlog.Briefs).
func (r *Report) Tests() runlog.Tests { return runlog.Briefs(r.tests) }

// summary returns what was found in the tests, and the run with its totals filled in where the record lacks them.
func (r *Report) summary() (result.Run, *survey, error) {
	s, err := r.survey()
	if err != nil {
		return r.run, nil, err
	}
	run := r.run
	if run.Totals.Tests == 0 {
		run.Count(&s.records, run.Planned())
	}
	return run, s, nil
}

// headline says in a few words how the run came out.
func headline(run result.Run) string {
	t := run.Totals
	var s string
	switch {
	case run.Stopped():
		return stopped(run)
	case t.Tests == 0:
		s = "no tests were run"
	case t.Failed == 0 && t.Errors == 0 && t.Passed > 0 && t.Skipped == 0 && t.Quarantined == 0 && t.Ungraded == 0:
		s = "all " + text.Plural(t.Tests, "test") + " passed"
		if t.Tests == 1 {
			s = "the test passed"
		}
	case t.Graded() == 0 && t.Errors == 0 && t.Ungraded > 0:
		s = "no test was graded"
	case t.Failed == 0 && t.Errors == 0 && t.Ungraded > 0:
		s = fmt.Sprintf("%s of %s passed, %s not graded", text.Count(t.Passed), text.Plural(t.Graded(), "graded test"),
			text.Count(t.Ungraded))
	case t.Failed == 0 && t.Errors == 0:
		s = fmt.Sprintf("%s of %s passed", text.Count(t.Passed), text.Plural(t.Tests, "test"))
	case t.Failed == 0:
		s = fmt.Sprintf("%s of %s could not be run or graded", text.Count(t.Errors), text.Plural(t.Tests, "test"))
	default:
		s = fmt.Sprintf("%s of %s failed", text.Count(t.Failed), text.Plural(t.Tests, "test"))
		if t.Errors > 0 {
			s += fmt.Sprintf(", %s could not be run or graded", text.Count(t.Errors))
		}
	}
	if t.Ungraded > 0 && t.Failed+t.Errors > 0 {
		s += fmt.Sprintf(", %s not graded", text.Count(t.Ungraded))
	}
	if n := t.Skipped - t.UserInvalid; n > 0 {
		s += fmt.Sprintf(", %s skipped", text.Count(n))
	}
	if t.UserInvalid > 0 {
		s += fmt.Sprintf(", %s of %s spoiled by simulated users (%s)", text.Count(t.UserInvalid),
			text.Plural(t.User.Tests, "test"), text.Percent(t.UserInvalidShare()))
	}
	if t.Quarantined > 0 {
		s += fmt.Sprintf(", %s in quarantine", text.Count(t.Quarantined))
	}
	return s
}

// stopped says that a run ended, or died, before its end, and how far it came.
func stopped(run result.Run) string {
	t := run.Totals
	far := fmt.Sprintf("%s of %s completed", text.Count(t.Completed), text.Plural(t.Planned, "test"))
	switch run.ExitReason {
	case result.ReasonRunning:
		return "the run is under way: " + far
	case result.ReasonDied:
		return "the run died: " + far
	}
	return fmt.Sprintf("Stopped (%s): %s, %s not run", run.ExitReason, far, text.Count(t.NotRun))
}

// verdict returns the run's verdict in the words of a test's.
func verdict(run result.Run) result.Verdict {
	switch t := run.Totals; {
	case t.Failed > 0 || run.ExitReason == result.ReasonFailed:
		return result.Fail
	case t.Errors > 0 || run.ExitReason == result.ReasonErrors || run.ExitReason == result.ReasonAborted:
		return result.Error
	case t.Passed == 0 || run.Stopped():
		return result.Skip
	}
	return result.Pass
}

// ruleOfThree returns the sentence about a run without failures, or "".
func ruleOfThree(run result.Run) string {
	t := run.Totals
	if t.Failed+t.Unknown() > 0 || t.Quarantined > 0 || t.Passed < 4 || run.Stopped() || len(run.ByTarget) > 0 {
		return ""
	}
	return fmt.Sprintf("No test failed; with 95%% confidence fewer than %s would (rule of three).",
		text.Percent(stats.RuleOfThree(t.Passed)))
}

// Headline says in a sentence how a run came out. Its totals must be there.
func Headline(run result.Run) string { return text.Capital(headline(run)) }

// Meaning says in a few words what a failure code stands for; nothing for a code that is not known.
func Meaning(code result.Code) string { return meaning(code) }
