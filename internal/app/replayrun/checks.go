package replayrun

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// checkKeys are the keys of a file of assertions that is not a plain list.
type checkKeys struct {
	Assertions source.Node `key:"assertions" doc:"grade each whole conversation"`
	EveryTurn  source.Node `key:"every_turn" doc:"grade each turn"`
}

// assertFile is the key of the file of the assertions in run.json.
const assertFile = "assert"

// writtenChecks are the assertions of a file, as they were written and as they were read.
type writtenChecks struct {
	replay.Checks
	written map[string]any
}

// readChecks reads a file of assertions: a list for whole conversations, or a mapping with assertions and every_turn.
// The error is a source.Problems with all of its faults.
func readChecks(files source.Files, path string) (c writtenChecks, err error) {
	data, err := files.ReadFile(path)
	if err != nil {
		return c, source.Invalid("--assert: %w", err)
	}
	root, err := files.ParseYAML(path, data)
	if err != nil {
		return c, source.AsInvalid(err)
	}
	return decodeChecks(files, path, root)
}

func decodeChecks(files source.Files, path string, root source.Value) (c writtenChecks, err error) {
	reader, dir := &source.Reader{File: path}, filepath.Dir(path)
	n := reader.Node(root, "")
	keys := checkKeys{Assertions: n}
	if n.Kind == source.Map {
		keys = checkKeys{}
		source.Decode(n, &keys)
	}
	c.Assertions, c.EveryTurn = suite.Assertions(keys.Assertions, dir), suite.Assertions(keys.EveryTurn, dir)
	c.written = map[string]any{
		"assertions": keys.Assertions.Any(), "every_turn": keys.EveryTurn.Any(), assertFile: path,
	}
	kinds := grader.New(grader.Config{Files: files})
	for _, a := range slices.Concat(c.Assertions, c.EveryTurn) {
		n.Add(kinds.Validate(a))
	}
	if len(c.Assertions)+len(c.EveryTurn) == 0 {
		n.Report("write a list of assertions, such as `- {type: not_contains, value: PIN}`",
			"the file has no assertion")
	}
	return c, reader.Problems.Err()
}

// judged reports whether an assertion needs a judge.
func (c *writtenChecks) judged(files source.Files) bool {
	kinds := grader.New(grader.Config{Files: files})
	return slices.ContainsFunc(slices.Concat(c.Assertions, c.EveryTurn), kinds.Judged)
}

// open opens the graders, with a judge where an assertion needs one.
func (c *writtenChecks) open(s *wire.Setup, judge string) error {
	var j grader.Judge
	if c.judged(s.Files) {
		opened, err := s.Judge(wire.Judging{Name: judge})
		if err != nil {
			return err
		}
		j = opened
	}
	graders, err := s.Graders(j)
	c.Grading = graders
	return err
}

// fingerprint is a hash of the assertions, of the files that they name and of the judge.
func (c *writtenChecks) fingerprint(s *wire.Setup, path, judge string) (string, error) {
	definition := []any{c.written["assertions"], c.written["every_turn"]}
	if c.judged(s.Files) {
		of, err := s.JudgeDefinition(wire.Judging{Name: judge})
		if err != nil {
			return "", err
		}
		definition = append(definition, of)
	}
	return fingerprint.New(s.Files).Definition(s.Secrets(), definition, filepath.Dir(path))
}

// Suite returns the conversations of a variant's folder as a suite whose tests can be graded again: by the assertions
// of a file or, where it is empty, by those of the replay.
func Suite(dir string, files source.Files, assert string) (*suite.Suite, error) {
	run, err := runlog.ReadRun(dir)
	if err != nil {
		return nil, source.AsInvalid(err)
	}
	var c writtenChecks
	if written, _ := run.Config.(map[string]any); assert == "" && written == nil {
		return nil, source.Invalid("replay %s has no assertions: add --assert FILE", run.ID)
	} else if assert == "" {
		assert, _ = written[assertFile].(string)
		data, err := json.Marshal(map[string]any{
			"assertions": written["assertions"], "every_turn": written["every_turn"],
		})
		if err != nil {
			return nil, err
		}
		root, err := source.ParseJSON(assert, data, 1)
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		if c, err = decodeChecks(files, assert, root); err != nil {
			return nil, err
		}
	} else if c, err = readChecks(files, assert); err != nil {
		return nil, err
	}
	var tests []*suite.Test
	known := map[string]*suite.Test{}
	for t, err := range runlog.Briefs(runlog.ReadRecords(dir, run)) {
		if err != nil {
			return nil, err
		}
		test := known[t.TestID]
		if test == nil {
			test = c.Test(t.Suite, t.TestID, t.Cluster, 0)
			known[t.TestID] = test
			tests = append(tests, test)
		}
		test.User.MaxTurns = max(test.User.MaxTurns, len(t.Turns), len(t.Scores))
	}
	name := run.ID
	if len(tests) > 0 {
		name = tests[0].Suite
	}
	return suite.Of(name, dir, tests), nil
}
