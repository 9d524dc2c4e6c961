package evaluation

import (
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// readQuarantines reads the quarantines of the store. Without them the run goes on: then every test counts.
func (e *Evaluation) readQuarantines(ctx context.Context) {
	read := e.Quarantines
	if read == nil {
		read = func(ctx context.Context) (map[result.Key]quarantine.Terms, error) {
			return storage.Quarantines(ctx, e.setup.StorePath())
		}
	}
	found, err := read(ctx)
	if err != nil {
		e.warn(err.Error() + "; going on without the quarantines of the store: every test counts")
		return
	}
	e.quarantines = found
}

// terms returns the terms of a test's quarantine: the suite's word goes before the store's. nil is a test that was
// never in one.
func (e *Evaluation) terms(t *suite.Test) *quarantine.Terms {
	if t.Quarantine != nil {
		return t.Quarantine
	}
	if terms, ok := e.quarantines[result.Key{Suite: t.Suite, TestID: t.ID}]; ok {
		return &terms
	}
	return nil
}

// quarantined returns the terms of a test's quarantine while it holds, else nil.
func (e *Evaluation) quarantined(t *suite.Test) *quarantine.Terms {
	if terms := e.terms(t); terms != nil && terms.Active(e.setup.Now()) {
		return terms
	}
	return nil
}

// ranOut returns the tests of the plan whose quarantine has run out, each once.
func (e *Evaluation) ranOut() (out []result.RanOut) {
	seen := map[testKey]bool{}
	for u, err := range e.planned.units() {
		if err != nil {
			break
		}
		key := testKey{u.Test.Suite, u.Test.ID}
		terms := e.terms(u.Test)
		if seen[key] || terms == nil || terms.Active(e.setup.Now()) || len(out) == result.MaxNotRun {
			continue
		}
		seen[key] = true
		out = append(out, result.RanOut{Suite: key.suite, TestID: key.id, Terms: *terms})
	}
	return slices.Clip(out)
}

// sameTerms reports whether two quarantines are the same, or none both.
func sameTerms(a, b *quarantine.Terms) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
