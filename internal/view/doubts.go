package view

import (
	"fmt"
	"math"

	"rehearse/internal/archive"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// nearly is how far two means may be apart that are added up in another order.
const nearly = 1e-6

// doubts say where the record of a run that has ended does not agree with itself, or with its results in what the index does not compare.
func doubts(index *archive.Index) (warnings []string) {
	run := index.Run
	if run.ExitCode == nil || run.Totals.Tests == 0 || index.Missing > 0 || index.Counted != nil {
		return nil
	}
	var all archive.Outcomes
	for _, of := range index.Outcomes {
		all = all.And(of)
	}
	if t := run.Totals; all.Skipped != t.Skipped || all.Quarantined != t.Quarantined {
		warnings = append(warnings, fmt.Sprintf("The run counts %d skipped and %d in quarantine, but in its results %d and %d.", t.Skipped, t.Quarantined, all.Skipped, all.Quarantined))
	}
	gated := run.Comparison != nil // with --fail-on regression its baseline decides the exit code
	if !gated && (*run.ExitCode == result.ExitPassed) != (run.ExitReason == result.ReasonPassed) {
		warnings = append(warnings, fmt.Sprintf("The run says that it ended with %s, and that its exit code is %d.", text.OneLine(run.ExitReason, 40), *run.ExitCode))
	}
	warnings = append(warnings, doubtsOf("The run", all, run.Totals, run.PassRate)...)
	for _, name := range targetsOf(run) {
		of, has := run.ByTarget[name], index.Outcomes[name]
		who := "The run with target " + text.OneLine(name, 100)
		if t := of.Totals; has.Passed != t.Passed || has.Failed != t.Failed || has.Errors != t.Errors {
			warnings = append(warnings, fmt.Sprintf("%s counts %d passed, %d failed and %d errors, but in its results %d, %d and %d.", who, t.Passed, t.Failed, t.Errors, has.Passed, has.Failed, has.Errors))
			continue
		}
		warnings = append(warnings, doubtsOf(who, has, of.Totals, of.PassRate)...)
	}
	return warnings[:min(len(warnings), maxDoubts)]
}

// maxDoubts bounds how many doubts are told.
const maxDoubts = 10

// doubtsOf compares a rate and a mean with what they are made of.
func doubtsOf(who string, o archive.Outcomes, t result.Totals, rate *float64) (warnings []string) {
	graded := o.Passed + o.Failed
	if rate != nil && (graded == 0 || math.Abs(*rate-float64(o.Passed)/float64(graded)) > nearly) {
		warnings = append(warnings, fmt.Sprintf("%s says that its pass rate is %s, but %d of %d passed.", who, text.Percent(*rate), o.Passed, graded))
	}
	if mean := t.MeanScore; mean != nil && (graded == 0 || math.Abs(*mean-o.Scores/float64(graded)) > nearly) {
		warnings = append(warnings, fmt.Sprintf("%s says that its mean score is %s, which that of its results is not.", who, text.Score(*mean, 2)))
	}
	return warnings
}
