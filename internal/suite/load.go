package suite

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rehearse/internal/source"
)

// Suite is one loaded and validated suite.
// Tests are decoded whenever they are asked for. Those of JSON Lines and CSV files are read again, so that a million of them cost no memory;
// those of YAML and JSON files are kept in a form about as large as their text.
type Suite struct {
	File string
	// Name is the author's, or the file's.
	Name        string
	Description string
	Tags        []string
	Metadata    map[string]any
	Execution   Execution
	Judge       Judge
	// Count is the number of tests.
	Count int
	// Needed holds the ids that other tests depend on.
	Needed map[string]bool
	// NamesNodes is true when a test names a node of a flow (Test.NodeNames).
	NamesNodes bool
	// Warnings name what stands in the suite and has no effect, each kind once.
	Warnings source.Problems

	loader *loader
	// made are the tests of a suite that was not loaded.
	made []*Test
}

// Judge is what a suite says about its judge. The zero value leaves it to the configuration.
type Judge struct {
	Model, Secondary string
	// Panel are models that all judge every question, in place of Model and Secondary.
	Panel []string
	// Provider serves the Model when neither its name nor the configuration says who does. Empty means that one of them must.
	Provider   string
	Samples    int
	Complexity int
	// Canary is a criterion that no reply meets, asked beside others; "true" stands for the built-in one, "" and "false" for none.
	Canary string
}

// Kinds knows the types of assertions.
type Kinds interface {
	// Validate returns what is wrong with an assertion's type and parameters.
	Validate(a Assertion) source.Problems
	// Judged reports whether deciding the assertion asks a model.
	Judged(a Assertion) bool
}

// Options are what loading needs from outside. The zero value reads the process's environment and accepts every type of assertion.
type Options struct {
	Kinds Kinds
	// Files are where the suite and what it names are read from.
	Files source.Files
	// Getenv looks up the variables of ${{ NAME }}; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
	// Now is the clock by which quarantines are judged; nil means time.Now.
	Now func() time.Time
	// Seen gets each value that is read, before placeholders are filled: the suite, and one test after another. It may be nil.
	Seen func(source.Value)
}

// maxProblems bounds how many problems of one suite are kept.
const maxProblems = 1000

// Load reads and validates the suite in a file and every file that it refers to.
// The error of a faulty suite is a source.Problems with all of its faults.
func Load(path string, o Options) (*Suite, error) {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &loader{options: o, dir: filepath.Dir(path), reader: &source.Reader{File: path}, inList: map[string][]*testFile{}}
	s := &Suite{File: path, Name: baseName(path), loader: l, Needed: map[string]bool{}}
	if path == source.Stdin {
		s.Name = "stdin"
	}
	if err := l.open(s); err != nil {
		return nil, err
	}
	l.validate(s)
	faults, warnings := l.sorted(path).Split()
	if len(faults) > 0 {
		return nil, faults
	}
	s.Warnings = eachOnce(warnings)
	l.options.Kinds, l.options.Seen = nil, nil
	return s, nil
}

// Rename gives the suite another name, for a run with two suites of the same name. It must not be called while tests are yielded.
func (s *Suite) Rename(name string) { s.Name = name }

// Tests yields the suite's tests in their order. The fields of a test may be set; the values that they point to are shared.
// An error means that a file has changed since it was validated.
func (s *Suite) Tests() iter.Seq2[*Test, error] {
	return func(yield func(*Test, error) bool) {
		for i, t := range s.made {
			own := *t
			own.Suite, own.entry = s.Name, i
			if !yield(&own, nil) {
				return
			}
		}
		if s.loader == nil {
			return
		}
		entry := -1
		for node, err := range s.loader.nodes() {
			if err != nil {
				yield(nil, err)
				return
			}
			entry++
			reader := &source.Reader{File: node.File()}
			tests := s.loader.entry(node.To(reader), s)
			if err := reader.Problems.Err(); err != nil {
				yield(nil, fmt.Errorf("the suite has changed since it was read: %w", err))
				return
			}
			for _, t := range tests {
				if t.entry = entry; !yield(t, nil) {
					return
				}
			}
		}
	}
}

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
	problems source.Problems
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
	root, list, err := parse(s.File, data)
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
	return source.Problems{{File: path, Message: "cannot read the file: " + err.Error(), Hint: "check the path and its permissions"}}
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
	keys := map[string]func(source.Node){
		"name": func(n source.Node) {
			if s.Name = n.Text(); blank(s.Name) {
				n.Report("write a name, or leave the key out", "the name is empty")
			}
		},
		"description": func(n source.Node) { s.Description = n.Text() },
		"tags":        func(n source.Node) { s.Tags = n.Texts() },
		"metadata":    func(n source.Node) { s.Metadata = merged(s.Metadata, mapping(n)) },
		"vars":        func(n source.Node) { mapping(n); l.vars = n.Value },
		"input":       func(n source.Node) { l.input = n },
		"input_files": func(n source.Node) { l.inputFiles = n },
		"assertions":  func(n source.Node) { l.assertions = n },
		"tests":       func(n source.Node) { l.tests = n },
		"stubs":       func(n source.Node) { l.stubs = readStubs(n) },
		"target":      func(n source.Node) { s.Execution.Targets = addTargets(s.Execution.Targets, n.Text()) },
		"targets":     func(n source.Node) { s.Execution.Targets = addTargets(s.Execution.Targets, n.Texts()...) },
		"execution":   func(n source.Node) { s.Execution = suiteExecution(n).Over(s.Execution) },
		"judge":       func(n source.Node) { s.Judge = readJudge(n) },
	}
	for _, name := range keptKeys {
		keys[name] = func(n source.Node) { s.Metadata = kept(s.Metadata, name, n) }
	}
	n.Read(keys)
	switch {
	case n.Kind != source.Map:
	case l.tests.Kind == source.Null:
		n.Report("add `tests:` with a list of tests, or a path to them", "a suite needs tests")
	case l.tests.Kind == source.String:
		l.findExternal(l.tests)
	case l.tests.Kind != source.List:
		l.tests.Report("write a list of tests, or the path of a file, folder or glob", "expected tests, got %s", l.tests.Kind)
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
		perTest := f.Name == "input" || f.Name == "input_files" || f.Name == "assertions" || f.Name == "tests" && f.Value.Kind == source.List
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
		if key := w.File + w.Message; !said[key] {
			first, said[key] = append(first, w), true
		}
	}
	return first
}

// mapping returns a mapping as plain data; anything else is a problem.
func mapping(n source.Node) map[string]any {
	if n.Kind != source.Map {
		n.Report("write `key: value` pairs", "expected a mapping, got %s", n.Kind)
		return nil
	}
	m, _ := n.Any().(map[string]any)
	return m
}

func readJudge(n source.Node) Judge {
	if n.Kind != source.Map {
		return Judge{Model: n.Text()}
	}
	j := Judge{}
	n.Read(map[string]func(source.Node){
		"model":      func(n source.Node) { j.Model = n.Text() },
		"secondary":  func(n source.Node) { j.Secondary = n.Text() },
		"panel":      func(n source.Node) { j.Panel = n.Texts() },
		"canary":     func(n source.Node) { j.Canary = n.Text() },
		"samples":    func(n source.Node) { j.Samples = n.Int(1) },
		"complexity": func(n source.Node) { j.Complexity = n.Int(0) },
	})
	if n.Has("panel") && len(j.Panel) == 0 {
		n.Field("panel").Report("name the models that judge", "the panel is empty")
	}
	if n.Has("panel") && (n.Has("model") || n.Has("secondary")) {
		n.Field("panel").Report("keep one of the two: every model of a panel judges every question", "a judge has a panel, or a model and a secondary")
	}
	return j
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

// Problems returns the problems that an error holds; ok is false when it holds none.
func Problems(err error) (problems source.Problems, ok bool) {
	return problems, errors.As(err, &problems)
}
