// Package importer turns files of other tools into a suite and the targets of a rehearse.yaml. A check that a suite
// cannot carry stays there as an unsupported one, which cannot pass. Each part that is not carried over is a Loss with
// its line.
//
// Adding a format is one file with a reader and one line in Formats.
package importer

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Auto is the name that has the format of each file found out.
const Auto = "auto"

// Format is a kind of file of another tool.
type Format struct {
	Name string
	// fits reports whether a document is of the format.
	fits func(root source.Value) bool
	read func(r *reader, root source.Value)
}

// Formats returns every format that can be read. The first one that fits a file is taken for Auto.
func Formats() []Format {
	return []Format{
		{"adk", fitsADK, readADK},
		{"rasa", fitsRasa, readRasa},
		{"agent-evaluation", fitsAgentEvaluation, readAgentEvaluation},
		{"tau-bench", fitsTauBench, readTauBench},
		{"otel", fitsOTel, readOTel},
		{"agentv", fitsAgentV, readAgentV}, // before promptfoo, whose files have the same parts
		{"promptfoo", fitsPromptfoo, readPromptfoo},
		{"deepeval", fitsDeepEval, readDeepEval},
		{rows, func(source.Value) bool { return false }, nil},
	}
}

// Names returns the names of all formats and Auto.
func Names() []string {
	names := []string{Auto}
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// reader reads one file into what is imported.
type reader struct {
	*imported
	file, format string
	// dir is the folder of the file, out that of the suite to write.
	dir, out string
	kinds    *grader.Set
}

// imported is what was found in all files.
type imported struct {
	tests   []*test
	targets []target
	// input is put before every test.
	input []message
	lost  []Loss
	// carried are the places of the checks that the suite carries.
	carried map[position]bool
	// pending are unsupported checks that the turn or test being read takes.
	pending []any
	// assertions are unsupported checks of every test. single is true of an import of one file, whose tests all have
	// its defaults.
	assertions []any
	single     bool
	// placeholders counts the tests that stand for tests which could not be read.
	placeholders int
	// ids are those that are taken, each with the number that its last repeat has.
	ids map[string]int
	// named are targets by what the file calls them; sent are the variables of tests that targets send.
	named map[string]string
	sent  map[string]bool
	// wanted are targets that files name and others define.
	wanted []Loss
	// size is that of the texts of all tests.
	size int
}

// found returns how many tests and targets were imported.
func (i *imported) found() int { return len(i.tests) - i.placeholders + len(i.targets) }

// full reports whether no further test is to be read: the suite would be too large.
func (i *imported) full() bool { return len(i.tests) > maxTests || i.size > maxSuite }

// maxTests and maxSuite bound the tests of one import and their texts: variables can multiply.
const (
	maxTests = 200_000
	maxSuite = 32 << 20
)

// read reads files of a format. out is the folder of the suite to write. Every error is an input error; if a file holds
// nothing that can be imported, what was found until then is returned too.
func read(paths []string, format, out string) (*imported, error) {
	if !slices.Contains(Names(), format) {
		return nil, source.Invalid("unknown format %q: %s", format, source.Suggest(format, Names()))
	}
	all := &imported{
		ids: map[string]int{}, named: map[string]string{}, sent: map[string]bool{}, carried: map[position]bool{},
		single: len(paths) == 1,
	}
	kinds := grader.New(grader.Config{})
	for _, path := range paths {
		root, err := Load(path)
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		kind, err := formatOf(path, format, root)
		if err != nil {
			return nil, err
		}
		before, tests := all.found(), len(all.tests)
		r := &reader{imported: all, file: path, format: kind.Name, dir: filepath.Dir(path), out: out, kinds: kinds}
		kind.read(r, root)
		r.share(tests, r.taken())
		if all.found() == before {
			return all, source.Invalid("%s: nothing in this file of the format %s can be imported", path, kind.Name)
		}
		if all.full() {
			return nil, source.Invalid("%s: more than %d tests, or more than %d MB of texts: import fewer at once",
				path, maxTests, maxSuite>>20)
		}
	}
	all.useTargets()
	return all, nil
}

// useTargets finds the targets that files name among those that others define.
func (i *imported) useTargets() {
	for _, want := range i.wanted {
		name := targetName(want.What)
		at := slices.IndexFunc(i.targets, func(t target) bool { return t.name == name })
		if at >= 0 {
			i.targets[at].listed = true
			continue
		}
		want.What = "provider " + want.What
		i.lost = append(i.lost, want)
	}
}

func formatOf(path, name string, root source.Value) (Format, error) {
	for _, f := range Formats() {
		if (name == Auto || name == f.Name) && f.fits(root) {
			return f, nil
		}
	}
	if name != Auto {
		return Format{}, source.Invalid("%s is no file of the format %s: try `rehearse import auto`", path, name)
	}
	return Format{}, source.Invalid("%s is of no known format: wanted one of %s", path, strings.Join(Names()[1:], ", "))
}

// brief makes one line of at most 200 characters of a text.
func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 200
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return s
}
