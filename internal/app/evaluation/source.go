package evaluation

import (
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// sourceOf returns where a test was written, relative to the working folder or to the bundle; nil for a test that was
// made.
func (e *Evaluation) sourceOf(t *suite.Test) *result.Source {
	if t.At.Line == 0 {
		return nil
	}
	file := t.At.File
	if !e.setup.Files.Bounded() {
		file = fromHere(file)
	}
	turns := t.At.Turns
	if turns == nil {
		turns = []int{}
	}
	return &result.Source{File: filepath.ToSlash(file), Line: t.At.Line, Turns: turns}
}

// fromHere returns a path relative to the working folder, or the path itself where there is none, as on another drive.
func fromHere(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	near, err := filepath.Rel(here, whole)
	if err != nil {
		return path
	}
	return near
}
