package view

import (
	"slices"

	"rehearse/internal/archive"
)

// manyTests is from how many tests on a run is compared before somebody asks for it: it takes a tenth of a second.
const manyTests = 10_000

// foresee compares a large run that has ended with the ones before and after it of the same suites, as far as their logs were read: what became worse is
// what people ask next. The comparison is kept as if it had been asked for.
func (p *Pages) foresee(run *archive.Found, index *archive.Index) {
	if len(index.Tests) < manyTests || run.Record.ExitCode == nil {
		return
	}
	this := side{Found: run, Index: index}
	if earlier, ok := known(p.baseline(run)); ok {
		p.metrics.of(earlier, this, false)
	}
	if later, ok := known(p.next(run)); ok {
		p.metrics.of(this, later, false)
	}
}

// known returns a run whose log was read; ok is false for another one, and for none.
func known(run *archive.Found) (s side, ok bool) {
	if run == nil {
		return s, false
	}
	index := run.Known()
	return side{Found: run, Index: index}, index != nil
}

// next returns the run of which a run is the baseline; nil if there is none.
func (p *Pages) next(of *archive.Found) *archive.Found {
	all, _ := p.Runs.Runs() // newest first
	at := slices.IndexFunc(all, func(run *archive.Found) bool { return run.Record.ID == of.Record.ID })
	for i := at - 1; i >= 0; i-- {
		if slices.Equal(all[i].Record.Suites, of.Record.Suites) {
			return all[i]
		}
	}
	return nil
}
