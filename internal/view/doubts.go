package view

import (
	"fmt"
	"math"

	"rehearse/internal/archive"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// outcomes counts how the tests of a run, or those with one of its targets, came out.
type outcomes struct {
	passed, failed, errors, skipped, quarantined int
	scores                                       float64
}

func (o *outcomes) add(e *archive.Entry) {
	switch {
	case e.Verdict == result.Skip:
		o.skipped++
	case e.Quarantined != nil: // it decides nothing
		o.quarantined++
	case e.Verdict == result.Pass:
		o.passed++
	case e.Verdict == result.Fail:
		o.failed++
	default:
		o.errors++
	}
	if e.Quarantined == nil && e.Verdict.Graded() {
		o.scores += e.Score
	}
}

// nearly is how far two means may be apart that are added up in another order.
const nearly = 1e-6

// doubts say where the record of a run that has ended does not agree with itself, or with its results in what the index does not compare.
func doubts(index *archive.Index) (warnings []string) {
	run := index.Run
	if run.ExitCode == nil || run.Totals.Tests == 0 || index.Missing > 0 || index.Counted != nil {
		return nil
	}
	var all outcomes
	each := map[string]*outcomes{}
	for _, e := range index.Tests {
		all.add(e)
		if each[e.Target] == nil {
			each[e.Target] = &outcomes{}
		}
		each[e.Target].add(e)
	}
	if t := run.Totals; all.skipped != t.Skipped || all.quarantined != t.Quarantined {
		warnings = append(warnings, fmt.Sprintf("The run counts %d skipped and %d in quarantine, but in its results %d and %d.", t.Skipped, t.Quarantined, all.skipped, all.quarantined))
	}
	if (*run.ExitCode == result.ExitPassed) != (run.ExitReason == result.ReasonPassed) {
		warnings = append(warnings, fmt.Sprintf("The run says that it ended with %s, and that its exit code is %d.", text.OneLine(run.ExitReason, 40), *run.ExitCode))
	}
	warnings = append(warnings, all.doubts("The run", run.Totals, run.PassRate)...)
	for _, name := range targetsOf(run) {
		of, has := run.ByTarget[name], each[name]
		if has == nil {
			has = &outcomes{}
		}
		who := "The run with target " + text.OneLine(name, 100)
		if t := of.Totals; has.passed != t.Passed || has.failed != t.Failed || has.errors != t.Errors {
			warnings = append(warnings, fmt.Sprintf("%s counts %d passed, %d failed and %d errors, but in its results %d, %d and %d.", who, t.Passed, t.Failed, t.Errors, has.passed, has.failed, has.errors))
			continue
		}
		warnings = append(warnings, has.doubts(who, of.Totals, of.PassRate)...)
	}
	return warnings[:min(len(warnings), maxDoubts)]
}

// maxDoubts bounds how many doubts are told.
const maxDoubts = 10

// doubts compares a rate and a mean with what they are made of.
func (o *outcomes) doubts(who string, t result.Totals, rate *float64) (warnings []string) {
	graded := o.passed + o.failed
	if rate != nil && (graded == 0 || math.Abs(*rate-float64(o.passed)/float64(graded)) > nearly) {
		warnings = append(warnings, fmt.Sprintf("%s says that its pass rate is %s, but %d of %d passed.", who, text.Percent(*rate), o.passed, graded))
	}
	if mean := t.MeanScore; mean != nil && (graded == 0 || math.Abs(*mean-o.scores/float64(graded)) > nearly) {
		warnings = append(warnings, fmt.Sprintf("%s says that its mean score is %s, which that of its results is not.", who, text.Score(*mean, 2)))
	}
	return warnings
}
