package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Options say what is imported, and where to.
type Options struct {
	// Format is a name of Names.
	Format string
	Files  []string
	// Suite is the file to write; Config the rehearse.yaml for targets, beside the suite if it is empty.
	Suite, Config string
	// Map locates the parts of a test in a row; it is for the format rows only.
	Map source.Value
	// Force replaces files that are there.
	Force bool
}

// Result is what an import came to.
type Result struct {
	// Tests are those that were imported, without placeholders of others; Turns are theirs.
	Tests int `json:"tests"`
	Turns int `json:"turns"`
	// Carried counts the checks of the files that the suite has, each once however many tests have it. Unsupported,
	// Ignored and Settings count what is lost by its status.
	Carried     int    `json:"carried"`
	Unsupported int    `json:"unsupported"`
	Ignored     int    `json:"ignored"`
	Settings    int    `json:"settings"`
	Lost        []Loss `json:"lost"`
	// Suite and Config are the files that were written; Config is nil when there was no target, Suite when there was no
	// test.
	Suite  *string `json:"suite"`
	Config *string `json:"config"`
}

// Import reads files and writes a suite, and a configuration if there are targets. Nothing is written when a file
// cannot be read or holds nothing that can be imported, or when a file to be written exists, which are input errors.
// The result is not nil as soon as files were read.
func Import(o Options) (*Result, error) {
	if o.Config == "" {
		o.Config = filepath.Join(filepath.Dir(o.Suite), "rehearse.yaml")
	}
	if o.Format == rows {
		return importRows(o)
	}
	found, err := read(o.Files, o.Format, filepath.Dir(o.Suite))
	if found == nil {
		return nil, err
	}
	result := found.result()
	if err != nil {
		return result, err
	}
	outputs := map[string][]byte{}
	if len(found.tests) > 0 {
		if outputs[o.Suite], err = encode(found.suite(), true); err != nil {
			return nil, err
		}
		result.Suite = &o.Suite
	}
	if len(found.targets) > 0 {
		if outputs[o.Config], err = encode(found.config(), false); err != nil {
			return nil, err
		}
		result.Config = &o.Config
	}
	return result, write(outputs, o)
}

// result counts what was found.
func (i *imported) result() *Result {
	r := &Result{Tests: len(i.tests) - i.placeholders, Turns: -i.placeholders, Lost: eachOnce(i.lost)}
	for _, t := range i.tests {
		r.Turns += t.turnCount()
	}
	for _, l := range r.Lost {
		switch l.Status {
		case Unsupported:
			r.Unsupported++
			delete(i.carried, position{l.File, l.Line, l.Column}) // carried for some values of its variables only
		case Ignored:
			r.Ignored++
		case Setting:
			r.Settings++
		}
	}
	r.Carried = len(i.carried)
	return r
}

// eachOnce returns losses without repeats: a part of the defaults is read for every test.
func eachOnce(all []Loss) []Loss {
	seen := map[Loss]bool{}
	once := []Loss{}
	for _, l := range all {
		key := l
		if l.Status == Unsupported {
			key.Why, key.Substitute = "", "" // which may differ with the variables of tests
		}
		if !seen[key] {
			once, seen[key] = append(once, l), true
		}
	}
	return once
}

// write writes the files, the suite once it is known to be valid.
func write(outputs map[string][]byte, o Options) error {
	for path := range outputs {
		if _, err := os.Lstat(path); err == nil && !o.Force {
			return source.Invalid("%s is there already: name another file, or add --force", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return source.Invalid("%w", err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return source.Invalid("%w", err)
		}
	}
	if data, ok := outputs[o.Suite]; ok {
		if err := valid(o.Suite, data); err != nil {
			return err
		}
	}
	for path, data := range outputs {
		if err := replace(path, data); err != nil {
			return err
		}
	}
	return nil
}

// valid loads the suite from a file beside the one to be written, so that paths in it mean the same.
func valid(path string, data []byte) error {
	trial, err := os.CreateTemp(filepath.Dir(path), ".import-*"+filepath.Ext(path))
	if err != nil {
		return source.Invalid("%w", err)
	}
	defer func() { _ = os.Remove(trial.Name()) }() // a file of our own
	_, err = trial.Write(data)
	if err = errors.Join(err, trial.Close()); err != nil {
		return fmt.Errorf("write the suite: %w", err)
	}
	if _, err = suite.Load(trial.Name(), suite.Options{Kinds: grader.New(grader.Config{})}); err != nil {
		// a fault of ours, not of the file's author
		return fmt.Errorf("the suite that was made is not valid, and was not written: %w", err)
	}
	return nil
}

// replace puts a whole file in the place of another.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".import-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// suite returns the suite as it is written.
func (i *imported) suite() pairs {
	p := pairs{}
	var names []any
	for _, t := range i.targets {
		if t.listed {
			names = append(names, t.name)
		}
	}
	if len(names) > 1 { // one alone is the default of the configuration
		p = p.with("targets", names)
	}
	if len(i.input) > 0 {
		p = p.with("input", listed(i.input))
	}
	p = p.with("assertions", i.assertions)
	var tests []any
	for _, t := range i.tests {
		tests = append(tests, t.pairs())
	}
	return p.with("tests", tests)
}

// config returns the configuration as it is written.
func (i *imported) config() pairs {
	targets, chosen := pairs{}, ""
	for _, t := range i.targets {
		targets = append(targets, pair{t.name, t.keys})
		if t.listed && chosen == "" {
			chosen = t.name
		}
	}
	return pairs{{"target", cmp.Or(chosen, i.targets[0].name)}, {"targets", targets}}
}
