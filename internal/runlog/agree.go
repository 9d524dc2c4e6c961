package runlog

import (
	"fmt"
	"path/filepath"

	"rehearse/internal/result"
)

// Agree returns an error where a run's record counts other verdicts than the log in dir has: one of both is wrong, and neither may pass.
func Agree(dir string, run result.Run) error {
	left := map[result.Key]bool{}
	for _, key := range run.LeftOut {
		left[key] = true
	}
	tally := result.Tally{}
	for t, err := range Read(dir) {
		if err != nil {
			return err
		}
		if !left[t.Key()] {
			tally.Add(t)
		}
	}
	has, counts := tally.Totals(), run.Totals
	if has.Tests == counts.Tests && has.Passed == counts.Passed && has.Failed == counts.Failed && has.Errors == counts.Errors && has.Skipped == counts.Skipped {
		return nil
	}
	return fmt.Errorf("%s has %d passed, %d failed, %d errors and %d skipped; %s counts %d, %d, %d and %d", filepath.Join(dir, LogFile),
		has.Passed, has.Failed, has.Errors, has.Skipped, RunFile, counts.Passed, counts.Failed, counts.Errors, counts.Skipped)
}
