package suite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// loader reads one suite and its tests.
type loader struct {
	options Options
	dir     string
	reader  *source.Reader
	// what the suite says once for all tests
	vars       source.Value
	stubs      Stubs
	input      source.Node
	inputFiles source.Node
	assertions source.Node
	// tests is the place of the tests, and says what stands there; list are those that stand in the suite itself.
	tests source.Node
	list  source.Packed
	// v1 is set in a v1 suite.
	v1 *defaultsV1
	// inList are the files of tests that the list of tests names, by what is written there.
	inList map[string][]*testFile
	// external are the files that hold the tests; without any they stand in the suite.
	external []*testFile
	// rows makes tests of the rows of data files; nil for a suite without a map.
	rows *rowMap
	// readsFiles is true once a test has got the content of another file.
	readsFiles bool
	problems   source.Problems
	// faults counts the faults among the problems, and warned has a key for each warning there.
	faults int
	warned map[string]bool
}

func (l *loader) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.dir, name)
}

// open reads the suite file itself, up to its tests.
func (l *loader) open(s *Suite) error {
	switch format(s.File) {
	case ".jsonl", ".csv":
		l.external = []*testFile{{files: l.options.Files, name: s.File}}
		if _, err := l.options.Files.Stat(s.File); err != nil {
			return fileProblem(s.File, plainError(err))
		}
		return nil
	}
	data, err := readBounded(l.options.Files, s.File, source.MaxBytes)
	if err != nil {
		return fileProblem(s.File, err)
	}
	root, list, err := parse(l.options.Files, s.File, data)
	if err != nil {
		return err
	}
	l.list = list
	if l.options.Seen != nil {
		l.options.Seen(root)
	}
	l.suite(l.reader.Node(root, ""), s)
	return nil
}

func fileProblem(path string, err error) error {
	return source.Problems{{
		File: path, Message: "cannot read the file: " + err.Error(), Hint: "check the path and its permissions",
	}}
}

// suiteKeys are the keys of a suite. Nodes are read for each test, whose variables they may use.
type suiteKeys struct {
	ineffective
	Name        string         `key:"name" notblank:"true" doc:"the suite's name in results (the file's)"`
	Description string         `key:"description"`
	Tags        []string       `key:"tags" doc:"tags of every test, for --tag"`
	Metadata    mapping        `key:"metadata" doc:"free data about the suite"`
	Vars        variables      `key:"vars" doc:"values for {{ name }}; a test's own vars replace them"`
	Input       source.Node    `key:"input" schema:"messages" doc:"messages before every test's own"`
	InputFiles  source.Node    `key:"input_files" schema:"texts" doc:"files before the text of every first message"`
	Assertions  source.Node    `key:"assertions" schema:"assertions" doc:"added to every test without skip_defaults"`
	Tests       source.Node    `key:"tests" schema:"tests"`
	Stubs       Stubs          `key:"stubs"`
	Target      string         `key:"target" notblank:"true" doc:"a name from rehearse.yaml, or PROVIDER:MODEL"`
	Targets     []string       `key:"targets" notblank:"true" doc:"several targets; every test runs with each"`
	Execution   suiteExecution `key:"execution"`
	Judge       Judge          `key:"judge" schema:"judge"`
}

// mapping is plain data.
type mapping map[string]any

// DecodeNode reads a mapping.
func (m *mapping) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		n.Report("write `key: value` pairs", "expected a mapping, got %s", n.Kind)
		return
	}
	*m, _ = n.Any().(map[string]any)
}

// variables are the values of placeholders.
type variables struct{ value source.Value }

// DecodeNode reads a mapping.
func (v *variables) DecodeNode(n source.Node) {
	new(mapping).DecodeNode(n)
	v.value = n.Value
}

// suite reads the top level of a suite file.
func (l *loader) suite(n source.Node, s *Suite) {
	if l.isV1(n) {
		l.suiteV1(n, s)
		return
	}
	if n.Kind == source.Null {
		n.Report("a suite starts with `tests:` and a list of tests", "the file is empty")
		return
	}
	n = n.With(withoutRefused(n))
	n = n.With(l.expandTop(n))
	keys := suiteKeys{Name: s.Name}
	source.Decode(n, &keys)
	s.Name, s.Description, s.Tags, s.Judge = keys.Name, keys.Description, keys.Tags, keys.Judge
	s.Metadata = keys.Metadata
	for _, name := range ineffectiveKeys {
		if n.Has(name) {
			s.Metadata = withMetadata(s.Metadata, name, n.Field(name))
		}
	}
	s.Execution = keys.Execution.Execution
	if len(s.Execution.Targets) == 0 {
		s.Execution.Targets = uniqueTargets(keys.Target, keys.Targets)
	}
	l.vars, l.stubs = keys.Vars.value, keys.Stubs
	l.input, l.inputFiles, l.assertions, l.tests = keys.Input, keys.InputFiles, keys.Assertions, keys.Tests
	switch {
	case n.Kind != source.Map:
	case l.tests.Kind == source.Null:
		n.Report("add `tests:` with a list of tests, or a path to them", "a suite needs tests")
	case l.tests.Kind == source.String:
		l.findExternal(l.tests)
	case l.tests.Kind == source.Map:
		l.mapped(l.tests)
	case l.tests.Kind != source.List:
		l.tests.Report("write a list of tests, a path, or {file, map}", "expected tests, got %s",
			l.tests.Kind)
	case l.list.Len() == 0:
		l.tests.Report("add a test: `- id: hello`", "the list of tests is empty")
	}
}

// expandTop fills the environment variables of a suite, except in the values that are filled for each test.
func (l *loader) expandTop(n source.Node) source.Value {
	v := n.Value
	v.Fields = slices.Clone(v.Fields)
	s := scope{getenv: l.options.Getenv, prompts: true}
	for i, f := range v.Fields {
		perTest := f.Name == "input" || f.Name == "input_files" || f.Name == "assertions" ||
			f.Name == "tests" && (f.Value.Kind == source.List || f.Value.Kind == source.Map)
		if !perTest {
			v.Fields[i].Value = s.expand(n.Field(f.Name))
		}
	}
	return v
}

func (l *loader) findExternal(n source.Node) {
	files, err := l.testFiles(n.Scalar)
	if err != nil {
		n.Report(hintTestFiles, "cannot read the tests: %v", err)
	}
	l.external = append(l.external, files...)
}

const hintTestFiles = "name a .yaml, .jsonl or .csv file, a folder of them, or a glob, from the suite's folder"

// testFiles returns the files of tests that a path names, from the suite's folder.
func (l *loader) testFiles(path string) (files []*testFile, err error) {
	names, err := listTests(l.options.Files, l.resolve(strings.TrimPrefix(path, "file://")))
	for _, name := range names {
		files = append(files, &testFile{files: l.options.Files, name: name})
	}
	return files, err
}

// eachOnce returns the first of the warnings that say the same.
func eachOnce(warnings source.Problems) (first source.Problems) {
	said := map[string]bool{}
	for _, w := range warnings {
		if key := warningKey(w); !said[key] {
			first, said[key] = append(first, w), true
		}
	}
	return first
}

// warningKey is equal for warnings of which one is enough: one per message and file, or one per place
// (source.Problem.Each).
func warningKey(w source.Problem) string {
	if w.Each {
		return fmt.Sprintf("%s:%d:%d %s %s", w.File, w.Line, w.Column, w.Path, w.Message)
	}
	return w.File + w.Message
}

// DecodeNode reads a model, or {model, secondary, …}.
func (j *Judge) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		j.Model = n.Text()
		return
	}
	type plain Judge
	source.Decode(n, (*plain)(j))
	if n.Has("panel") && len(j.Panel) == 0 {
		n.Field("panel").Report("name the models that judge", "the panel is empty")
	}
	if n.Has("panel") && (n.Has("model") || n.Has("secondary")) {
		n.Field("panel").Report("keep one of the two: every model of a panel judges every question",
			"a judge has a panel, or a model and a secondary")
	}
}

// sorted returns the problems file by file (the suite's own first) and by place, without repeats.
func (l *loader) sorted(first string) source.Problems {
	problems := append(l.problems, l.reader.Problems...)
	slices.SortStableFunc(problems, func(a, b source.Problem) int {
		if a.File != b.File {
			if a.File == first || b.File != first && a.File < b.File {
				return -1
			}
			return 1
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(problems)
}
