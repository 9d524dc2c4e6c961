// Package importer turns files of other tools into a suite and the targets of a rehearse.yaml. What has no place there is a Loss with its line:
// nothing is dropped in silence.
//
// Adding a format is one file with a reader and one line in Formats.
package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rehearse/internal/grader"
	"rehearse/internal/source"
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

// Loss is something that was not carried over.
type Loss struct {
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// String returns "FILE:LINE: what: why".
func (l Loss) String() string { return fmt.Sprintf("%s:%d: %s: %s", l.File, l.Line, l.What, l.Why) }

// reader reads one file into what is imported.
type reader struct {
	*imported
	file string
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

// full reports whether no further test is to be read: the suite would be too large.
func (i *imported) full() bool { return len(i.tests) > maxTests || i.size > maxSuite }

// maxTests and maxSuite bound the tests of one import and their texts: variables can multiply.
const (
	maxTests = 200_000
	maxSuite = 32 << 20
)

// read reads files of a format. out is the folder of the suite to write. Every error is an input error.
func read(paths []string, format, out string) (*imported, error) {
	if !slices.Contains(Names(), format) {
		return nil, source.Invalid("unknown format %q: %s", format, source.Suggest(format, Names()))
	}
	all := &imported{ids: map[string]int{}, named: map[string]string{}, sent: map[string]bool{}}
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
		before := len(all.tests) + len(all.targets) + len(all.lost)
		r := &reader{imported: all, file: path, dir: filepath.Dir(path), out: out, kinds: kinds}
		kind.read(r, root)
		if len(all.tests)+len(all.targets)+len(all.lost) == before {
			return nil, source.Invalid("%s: nothing was found in this file of the format %s", path, kind.Name)
		}
		if all.full() {
			return nil, source.Invalid("%s: more than %d tests, or more than %d MB of texts: import fewer at once", path, maxTests, maxSuite>>20)
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

// lose notes that something on a line was not carried over.
func (r *reader) lose(line int, what, format string, args ...any) {
	r.lost = append(r.lost, Loss{r.file, max(line, 1), brief(what), brief(fmt.Sprintf(format, args...))})
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
