package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// rows is the name of the format of data files, whose rows a map makes tests of. It is never found out.
const rows = "rows"

// importRows writes the tests that a map makes of the rows of data files: as lines to a .jsonl file, else as YAML. They
// are the tests of a suite with `tests: {file, map}`.
func importRows(o Options) (*Result, error) {
	if len(o.Map.Fields) == 0 {
		return nil, source.Invalid("rows need a map: add --map id=PATH --map input=PATH, such as input=$.question")
	}
	lines := strings.HasSuffix(o.Suite, ".jsonl")
	result, all, text := &Result{Lost: []Loss{}, Suite: &o.Suite}, source.Value{Kind: source.List}, bytes.Buffer{}
	size := 0
	add := func(test source.Value) {
		data, err := json.Marshal(test.Any())
		if size += len(data); err != nil || size > maxSuite {
			return
		}
		if lines {
			text.Write(append(data, '\n'))
		} else {
			all.Items = append(all.Items, test)
		}
	}
	for _, file := range o.Files {
		s, err := mapped(file, o.Map, add)
		if err != nil {
			return nil, err
		}
		for _, w := range s.Warnings {
			result.Lost = append(result.Lost, Loss{
				File: file, Line: w.Line, What: w.Message, Why: w.Hint, Status: Setting,
			})
			result.Settings++
		}
		for t, err := range s.Tests() {
			if err != nil {
				return nil, err
			}
			result.Tests++
			result.Turns += len(t.Turns)
			result.Carried += len(t.Assertions)
			for _, turn := range t.Turns {
				result.Carried += len(turn.Assertions)
				if turn.Expected != "" {
					result.Carried++
				}
			}
		}
	}
	if size > maxSuite {
		return nil, source.Invalid(
			"the suite would be larger than %d MB: write `tests: {file: …, map: …}` in a suite, which reads row by row",
			maxSuite>>20)
	}
	if !lines {
		text.Write(source.Value{Kind: source.Map, Fields: []source.Field{{Name: "tests", Value: all}}}.YAML())
	}
	return result, write(map[string][]byte{o.Suite: text.Bytes()}, o)
}

// mapped loads a suite of the rows of a file. seen gets the tests as a suite has them.
func mapped(file string, paths source.Value, seen func(source.Value)) (s *suite.Suite, err error) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	trial, err := os.CreateTemp("", "rehearse-import-*.yaml")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(trial.Name())) }()
	document := source.FromAny(map[string]any{"tests": map[string]any{"file": whole, "map": paths.Any()}})
	_, err = trial.Write(document.YAML())
	if err = errors.Join(err, trial.Close()); err != nil {
		return nil, fmt.Errorf("map %s: %w", file, err)
	}
	suites := 0
	s, err = suite.Load(trial.Name(), suite.Options{Kinds: grader.New(grader.Config{}), Seen: func(v source.Value) {
		if suites++; suites > 1 && v.Kind != source.Null { // the first is the suite itself
			seen(v)
		}
	}})
	problems, ok := suite.Problems(err)
	if !ok {
		return s, err
	}
	problems = slices.Clone(problems)
	for i, p := range problems {
		switch p.File {
		case trial.Name():
			problems[i].File, problems[i].Line = "--map", 0
			problems[i].Path = strings.TrimPrefix(p.Path, "tests.map.")
		case whole:
			problems[i].File = file
		}
	}
	return nil, problems
}
