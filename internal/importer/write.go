package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"rehearse/internal/grader"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// Options say what is imported, and where to.
type Options struct {
	// Format is a name of Names.
	Format string
	Files  []string
	// Suite is the file to write; Config the rehearse.yaml for targets, beside the suite if it is empty.
	Suite, Config string
	// Force replaces files that are there.
	Force bool
}

// Result is what an import came to.
type Result struct {
	Tests int    `json:"tests"`
	Turns int    `json:"turns"`
	Lost  []Loss `json:"lost"`
	// Suite and Config are the files that were written; Config is nil when there was no target, Suite when there was no test.
	Suite  *string `json:"suite"`
	Config *string `json:"config"`
}

// Import reads files and writes a suite, and a configuration if there are targets. Nothing is written when a file cannot be read or one to be
// written is there already, which are input errors.
func Import(o Options) (*Result, error) {
	if o.Config == "" {
		o.Config = filepath.Join(filepath.Dir(o.Suite), "rehearse.yaml")
	}
	found, err := read(o.Files, o.Format, filepath.Dir(o.Suite))
	if err != nil {
		return nil, err
	}
	result := &Result{Tests: len(found.tests), Lost: eachOnce(found.lost)}
	for _, t := range found.tests {
		result.Turns += t.turnCount()
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

// eachOnce returns losses without repeats: what stands in defaults is read for every test.
func eachOnce(all []Loss) []Loss {
	seen := map[Loss]bool{}
	once := []Loss{}
	for _, l := range all {
		if !seen[l] {
			once, seen[l] = append(once, l), true
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
	trial, err := os.CreateTemp(filepath.Dir(path), ".import-*.yaml")
	if err != nil {
		return source.Invalid("%w", err)
	}
	defer func() { _ = os.Remove(trial.Name()) }() // a file of our own
	_, err = trial.Write(data)
	if err = errors.Join(err, trial.Close()); err != nil {
		return fmt.Errorf("write the suite: %w", err)
	}
	if _, err = suite.Load(trial.Name(), suite.Options{Kinds: grader.New(grader.Config{})}); err != nil {
		return fmt.Errorf("the suite that was made is not valid, and was not written: %v", err) // a fault of ours, not of the file's author
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
	if len(i.targets) > 1 {
		var names []any
		for _, t := range i.targets {
			names = append(names, t.name)
		}
		p = p.with("targets", names)
	}
	if len(i.input) > 0 {
		p = p.with("input", listed(i.input))
	}
	var tests []any
	for _, t := range i.tests {
		tests = append(tests, t.pairs())
	}
	return p.with("tests", tests)
}

// config returns the configuration as it is written.
func (i *imported) config() pairs {
	targets := pairs{}
	for _, t := range i.targets {
		targets = append(targets, pair{t.name, t.keys})
	}
	return pairs{{"target", i.targets[0].name}, {"targets", targets}}
}

// encode writes a document as YAML that reads back the same. escaped says that plain texts in it may not become placeholders.
func encode(document pairs, escaped bool) ([]byte, error) {
	for _, literal := range []bool{true, false} {
		e := encoder{escaped: escaped, literal: literal}
		tree := e.value(document)
		data, err := yaml.MarshalWithOptions(tree, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(literal))
		if err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		if back, err := source.ParseYAML("", data); err == nil && same(back, tree) {
			return data, nil
		}
	}
	return nil, source.Invalid("the suite would be larger than a suite may be: import fewer files at once")
}

// encoder makes values that the YAML encoder takes.
type encoder struct{ escaped, literal bool }

func (e encoder) value(v any) any {
	switch v := v.(type) {
	case pairs:
		m := yaml.MapSlice{}
		for _, one := range v {
			m = append(m, yaml.MapItem{Key: e.text(one.name), Value: e.value(one.value)})
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = e.value(one)
		}
		return list
	case source.Value:
		return e.parsed(v)
	case string:
		if e.escaped {
			v = string(escape(v))
		}
		return e.text(v)
	case written:
		return e.text(string(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
	}
	return v
}

// parsed returns a value of a file.
func (e encoder) parsed(v source.Value) any {
	switch v.Kind {
	case source.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = e.parsed(item)
		}
		return list
	case source.Map:
		m := yaml.MapSlice{}
		for _, f := range v.Fields {
			m = append(m, yaml.MapItem{Key: e.text(f.Name), Value: e.parsed(f.Value)})
		}
		return m
	case source.String:
		return e.value(v.Scalar)
	}
	return v.Any()
}

// quoted is a text that is written as JSON writes it, which is YAML too.
type quoted string

// MarshalYAML returns the text in quotes.
func (q quoted) MarshalYAML() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(strings.ToValidUTF8(string(q), "\ufffd")); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// text returns a text that the encoder may write as it is, or one in quotes.
func (e encoder) text(s string) any {
	if e.literal && isPlain(s) {
		return s
	}
	return quoted(s)
}

// isPlain reports whether a text needs no quotes in YAML, or can be written as a block of lines.
func isPlain(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\t\r:#{}[]&*!|>'\"%@`\\~,?") && !strings.Contains(s, "\n") || strings.Contains(s, " \n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && (r < ' ' || r > '~') && r < 0xa1 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return false
		}
	}
	first := s[0]
	return first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z'
}

// same reports whether what was read back is what was written.
func same(got source.Value, want any) bool {
	switch want := want.(type) {
	case yaml.MapSlice:
		if got.Kind != source.Map || len(got.Fields) != len(want) {
			return len(want) == 0 && got.Kind == source.Map
		}
		for i, item := range want {
			if got.Fields[i].Name != asText(item.Key) || !same(got.Fields[i].Value, item.Value) {
				return false
			}
		}
		return true
	case []any:
		if got.Kind != source.List || len(got.Items) != len(want) {
			return false
		}
		for i, item := range want {
			if !same(got.Items[i], item) {
				return false
			}
		}
		return true
	case string, quoted:
		return got.Kind == source.String && got.Scalar == asText(want)
	}
	return got.Kind == source.FromAny(want).Kind
}

func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case quoted:
		return strings.ToValidUTF8(string(v), "\ufffd")
	}
	return ""
}
