package evaluation

import (
	"errors"
	"slices"
	"testing"
)

// A verdict cache that fails is told of once a run, however many verdicts it concerns.
func TestFailingCacheIsToldOnce(t *testing.T) {
	var told []string
	i := &index{warn: func(text string) { told = append(told, text) }}
	for range 3 {
		i.failing(errors.New("look up a verdict: locked"))
	}
	if want := []string{"look up a verdict: locked; verdicts count all the same, but may not be remembered"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
