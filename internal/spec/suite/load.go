package suite

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Suite is one loaded and validated suite. The tests of a small suite are decoded once. Those of others are decoded
// in each iteration: JSON Lines and CSV files are read again, so that a million tests cost no memory; YAML and JSON
// files are stored in a form about as large as their text.
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
	// Ungraded are the tests that grade nothing.
	Ungraded Ungraded
	// Needed holds the ids that other tests depend on.
	Needed map[string]bool
	// NamesNodes is true when a test names a node of a flow (Test.NodeNames).
	NamesNodes bool
	// Warnings name what stands in the suite and has no effect, each kind once.
	Warnings source.Problems

	loader *loader
	// made are the tests of a small suite, or of one that was not loaded; nil where each iteration decodes them.
	made []*Test
}

// Judge is the judge of a suite. The zero value leaves it to the configuration.
type Judge struct {
	Model     string `key:"model"`
	Secondary string `key:"secondary" doc:"the model for simple criteria"`
	// Panel are models that all judge every question, in place of Model and Secondary.
	Panel []string `key:"panel" doc:"models that all judge, in place of model and secondary"`
	// Provider serves the Model when neither its name nor the configuration names one. Empty means that one of them
	// must.
	Provider   string
	Samples    int `key:"samples" minimum:"1" doc:"how often each question is judged"`
	Complexity int `key:"complexity" minimum:"0" doc:"criteria, plus one per 4,000 characters, above which model judges"`
	// Canary is "on", "off" or "strict"; empty leaves it to the configuration.
	Canary string `key:"canary" enum:"on,off,strict" doc:"control criteria in each list (on)"`
}

// Kinds knows the types of assertions.
type Kinds interface {
	// Validate returns what is wrong with an assertion's type and parameters.
	Validate(a Assertion) source.Problems
	// Judged reports whether deciding the assertion asks a model.
	Judged(a Assertion) bool
	// Prompts returns the parameters of a type that are prompts of a judge.
	Prompts(typ string) []string
}

// Options are what loading needs from outside. The zero value reads the process's environment and accepts every type of
// assertion.
type Options struct {
	Kinds Kinds
	// Files are where the suite and what it names are read from.
	Files source.Files
	// Getenv looks up the variables of ${{ NAME }}; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
	// Now is the clock by which quarantines are judged; nil means time.Now.
	Now func() time.Time
	// Seen gets each value that is read, before placeholders are filled: the suite, and one test after another. It may
	// be nil.
	Seen func(source.Value)
}

// maxSmall is the size of the packed tests, in bytes, up to which a suite is small. Decoded they take some ten times as
// much.
const maxSmall = 256 << 10

// isSmall reports whether the decoded tests of a suite may stay in memory: they stand in the suite itself, and no file
// that they name makes them larger.
func (l *loader) isSmall() bool {
	return l.external == nil && len(l.inList) == 0 && !l.readsFiles && l.list.Within(maxSmall)
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
	l := &loader{
		options: o, dir: filepath.Dir(path), reader: &source.Reader{File: path}, inList: map[string][]*testFile{},
		warned: map[string]bool{},
	}
	s := &Suite{File: path, Name: baseName(path), loader: l, Needed: map[string]bool{}}
	if path == source.Stdin {
		s.Name = "stdin"
	}
	if err := l.open(s); err != nil {
		return nil, err
	}
	tests := l.validate(s)
	faults, warnings := l.sorted(path).Split()
	if len(faults) > 0 {
		return nil, faults
	}
	s.Warnings = eachOnce(warnings)
	if l.isSmall() {
		s.made = tests
	}
	l.options.Kinds, l.options.Seen = nil, nil
	return s, nil
}

// Rename gives the suite another name, for a run with two suites of the same name. It must not be called while tests
// are yielded.
func (s *Suite) Rename(name string) { s.Name = name }

// Tests yields the suite's tests in their order. The fields of a test may be set; the values that they point to are
// shared. An error means that a file has changed since it was validated.
func (s *Suite) Tests() iter.Seq2[*Test, error] {
	return func(yield func(*Test, error) bool) {
		for _, t := range s.made {
			own := *t
			own.Suite = s.Name
			if !yield(&own, nil) {
				return
			}
		}
		if s.loader == nil || s.made != nil {
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

// Problems returns the problems that an error holds; ok is false when it holds none.
func Problems(err error) (problems source.Problems, ok bool) {
	return problems, errors.As(err, &problems)
}
