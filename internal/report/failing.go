package report

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Failing is a test that failed or could not be graded, for those who list it elsewhere.
type Failing struct {
	result.Key
	Verdict result.Verdict
	// File and Line are where its reader should look first; empty and 0 where the record does not say.
	File string
	Line int
	// Code and Message are those of its first failure.
	Code    result.Code
	Message string
	// Quarantined is true of a test whose failure decides nothing.
	Quarantined bool
}

// Failing returns tests that failed or could not be graded in the order of the run, those in quarantine behind the
// others, at most so many, and how many more there are.
func (r *Report) Failing(most int) (failing []Failing, more int, err error) {
	run, s, err := r.summary()
	if err != nil {
		return nil, 0, err
	}
	chosen := slices.Clone(s.failing)
	for _, e := range s.quarantined {
		if e.verdict == result.Fail || e.verdict == result.Error {
			chosen = append(chosen, e)
		}
	}
	total := run.Totals.Failed + run.Totals.Errors + len(chosen) - len(s.failing)
	inRunOrder(run, s, chosen[:len(s.failing)])
	inRunOrder(run, s, chosen[len(s.failing):])
	chosen = chosen[:min(len(chosen), most)]
	explained, err := r.explain(chosen)
	if err != nil {
		return nil, 0, err
	}
	for _, x := range explained {
		f := Failing{Key: x.entry.key(), Verdict: x.entry.verdict, File: x.entry.at.file, Line: x.entry.at.line,
			Quarantined: x.entry.quarantined != nil}
		failures := append(failuresOf(x.Test), x.entry.failures...)
		if len(failures) > 0 {
			f.Code, f.Message = failures[0].Code, text.OneLine(failures[0].Message, 1_000)
		}
		f.Message = cmp.Or(f.Message, shortfall(x.entry))
		failing = append(failing, f)
	}
	return failing, max(0, total-len(failing)), nil
}
