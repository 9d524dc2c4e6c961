package report

import (
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// visit reads the tests again and calls f with each record of the chosen ones: of a test with trials, the trials and
// the aggregate, in the order of the stream. It stops reading once it has seen them all.
func (r *Report) visit(chosen []*entry, f func(*entry, *runlog.Record) error) error {
	left := map[id]int{}
	entries := make(map[id]*entry, len(chosen))
	records := 0
	for _, e := range chosen {
		n := 1
		if e.trials != nil {
			n = e.held + 1
		}
		if e.notRun {
			n = e.held
		}
		entries[e.id] = e
		left[e.id] = n
		records += n
	}
	if records == 0 {
		return nil
	}
	for t, err := range r.tests {
		if err != nil {
			return err
		}
		e := entries[idOf(t.Brief)]
		if e == nil || left[e.id] == 0 {
			continue
		}
		if err := f(e, t); err != nil {
			return err
		}
		left[e.id]--
		if records--; records == 0 {
			return nil
		}
	}
	return nil
}

// explained is a failing test with what explains it: its own findings, or those of its first trial that did not pass.
type explained struct {
	*entry
	// trial is the trial that the findings are from; 0 for the test itself.
	trial int
	*result.Test
}

// explain returns the chosen tests with a record that explains each, in the order of the choice.
func (r *Report) explain(chosen []*entry) ([]explained, error) {
	best := map[*entry]*result.Test{}
	err := r.visit(chosen, func(e *entry, record *runlog.Record) (err error) {
		t, known := record.Brief, best[e]
		failedTrial := t.Trial > 0 && t.Verdict != result.Pass
		if known == nil || known.Trial == 0 && failedTrial ||
			known.Trial > 0 && known.Verdict == result.Pass && (failedTrial || t.Trial == 0) {
			best[e], err = record.Decode()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]explained, 0, len(chosen))
	for _, e := range chosen {
		if t := best[e]; t != nil {
			out = append(out, explained{entry: e, trial: t.Trial, Test: t})
		}
	}
	return out, nil
}
