package importer_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestPeers imports every file below the folder PEERS, such as a checkout of examples of other tools, and checks that
// each file either is refused or becomes a valid suite in which every test that lost a check has an unsupported one.
func TestPeers(t *testing.T) {
	root := os.Getenv("PEERS")
	if root == "" {
		root = "testdata"
	}
	var tests, carried, unsupported, ignored, ungraded int
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		readable := slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv"}, filepath.Ext(path))
		if err != nil || d.IsDir() || !readable {
			return err
		}
		o := importer.Options{
			Format: importer.Auto, Files: []string{path}, Suite: filepath.Join(t.TempDir(), "suite.yaml"),
		}
		found, err := importer.Import(o)
		if err != nil {
			if !source.IsInvalid(err) {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		}
		inSuite, without := unsupportedIn(t, found)
		if lost := found.Unsupported > 0; lost != (inSuite > 0) {
			t.Errorf("%s: %d unsupported checks are listed, and the suite has %d", path, found.Unsupported, inSuite)
		}
		t.Logf("%s: %d tests, %d carried, %d unsupported, %d ignored, %d without a check",
			path, found.Tests, found.Carried, found.Unsupported, found.Ignored, without)
		tests, carried, unsupported = tests+found.Tests, carried+found.Carried, unsupported+found.Unsupported
		ignored, ungraded = ignored+found.Ignored, ungraded+without
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tests, %d carried, %d unsupported, %d ignored, %d tests without a check",
		tests, carried, unsupported, ignored, ungraded)
	if tests == 0 || unsupported == 0 {
		t.Errorf("%d tests and %d unsupported checks in %s", tests, unsupported, root)
	}
}

// unsupportedIn counts the unsupported checks of the suite that an import has written, and the tests without any check.
func unsupportedIn(t *testing.T, found *importer.Result) (unsupported, ungraded int) {
	t.Helper()
	if found.Suite == nil {
		return 0, 0
	}
	s, err := suite.Load(*found.Suite, suite.Options{Kinds: grader.New(grader.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	for one, err := range s.Tests() {
		if err != nil {
			t.Fatal(err)
		}
		checks := len(one.Assertions)
		for _, turn := range one.Turns {
			if checks += len(turn.Assertions); turn.Expected != "" {
				checks++
			}
		}
		if checks == 0 {
			ungraded++
		}
	}
	for _, w := range s.Warnings {
		if w.Each {
			unsupported++
		}
	}
	return unsupported, ungraded
}
