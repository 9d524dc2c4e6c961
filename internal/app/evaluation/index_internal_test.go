package evaluation

import (
	"errors"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
)

// A verdict cache that fails is told of once a run, however many verdicts it concerns.
func TestFailingCacheIsToldOnce(t *testing.T) {
	var told []string
	s, err := wire.Open(wire.Options{Warn: func(text string) { told = append(told, text) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	e := &Evaluation{setup: s}
	for range 3 {
		e.cacheFailing(errors.New("look up a verdict: locked"))
	}
	if want := []string{
		"look up a verdict: locked; verdicts count all the same, but may not be remembered",
	}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
