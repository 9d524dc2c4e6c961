package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// promptfoo's configurations have prompts, providers and tests; every prompt is rendered with the variables of every
// test.

func fitsPromptfoo(root source.Value) bool {
	return has(root, "tests") && (has(root, "prompts") || has(root, "providers") || has(root, "targets")) ||
		has(root, "prompts") && has(root, "providers")
}

func readPromptfoo(r *reader, root source.Value) {
	top := r.settings(root, "")
	top.keep("$schema")
	top.ignore("it cannot affect a verdict", "description", "tags", "metadata", "outputPath", "sharing",
		"writeLatestResults", "derivedMetrics")
	p := newPromptfoo(r, "promptfoo")
	p.simulated = r.providers(top.list("providers", "targets"))
	p.prompts = p.readPrompts(top.list("prompts"))
	p.defaults = r.entry(r.included(top.get("defaultTest", "default_test"), "defaultTest"), "defaultTest")
	from := len(r.tests)
	p.sharedChecks()
	p.readTests(top.list("tests"))
	for i, v := range top.list("scenarios") {
		r.placeholder(v, fmt.Sprintf("scenario-%d", i+1), "scenarios are not imported: write their tests out")
	}
	if len(r.tests) == from && !has(root, "tests") {
		p.readTests([]source.Value{{Kind: source.Map, Line: root.Line}}) // the prompts alone
	}
	p.defaults.rest()
	r.share(from, slices.Concat(*p.lostDefaults, r.taken()))
	top.rest()
}

func newPromptfoo(r *reader, kind string) *promptfoo {
	return &promptfoo{
		reader: r, home: r, kind: kind, read: new(int), lostDefaults: &[]any{}, seenDefaults: map[position]bool{},
	}
}

// sharedChecks takes the checks that reading the defaults left unsupported.
func (p *promptfoo) sharedChecks() { *p.lostDefaults = append(*p.lostDefaults, p.taken()...) }

// promptfoo reads the tests of one configuration.
type promptfoo struct {
	*reader
	// home reads the file of the configuration, reader the one that has the test.
	home     *reader
	kind     string
	prompts  []prompt
	defaults *entry
	// simulated is the provider that plays the user; nil without one.
	simulated *entry
	// last is the conversation of each prompt that the next test may go on with.
	last map[string]*test
	key  string
	// shared are assertions of every test.
	shared []source.Value
	// read counts the tests that were read.
	read *int
	// lostDefaults are the unsupported checks of every test, and seenDefaults the places of those that are there.
	lostDefaults *[]any
	seenDefaults map[position]bool
}

// prompt is one of several prompts.
type prompt struct {
	text  string
	label string
	line  int
	// lost says why the prompt cannot be used; its tests become placeholders.
	lost string
}

func (p *promptfoo) readPrompts(list []source.Value) (all []prompt) {
	for _, v := range list {
		line, label := v.Line, ""
		if v.Kind == source.Map && !isChat(source.Value{Kind: source.List, Items: []source.Value{v}}) {
			e := p.settings(v, "prompts")
			label = e.text("label")
			v = e.get("raw", "id", "file")
			e.keep("id")
			e.rest()
		} else if v.Kind == source.Map || v.Kind == source.List {
			v = source.Text(toJSON(v))
		}
		text, err := p.fileText(v.Scalar)
		if err != nil {
			all = append(all, prompt{label: label, line: line, lost: "the prompt: " + err.Error()})
			continue
		}
		for part := range strings.SplitSeq(text, "\n---\n") {
			if strings.TrimSpace(part) != "" {
				all = append(all, prompt{text: strings.TrimSpace(part), label: label, line: line})
			}
		}
	}
	return all
}

// fileText returns a text, or the content of the file that a text file://PATH names.
func (r *reader) fileText(text string) (string, error) {
	path, named := strings.CutPrefix(text, "file://")
	extension := strings.ToLower(filepath.Ext(path))
	if !named && (strings.ContainsAny(path, "\n {") || !slices.Contains([]string{
		".txt", ".md", ".json", ".yaml", ".yml", ".j2", ".py", ".js", ".ts", ".mjs", ".cjs",
	}, extension)) {
		return text, nil
	}
	if slices.Contains([]string{".py", ".js", ".ts", ".mjs", ".cjs"}, extension) || strings.Contains(path, ":") ||
		strings.HasPrefix(text, "exec:") {
		return "", fmt.Errorf("%s is a program, which is not run", text)
	}
	data, err := readFile(r.beside(path))
	if err != nil || !utf8.Valid(data) {
		return "", fmt.Errorf("the file %s cannot be read", path)
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}

// included returns a value, or the content of the file that a text file://PATH names. One that cannot be read is an
// unsupported check.
func (r *reader) included(v source.Value, what string) source.Value {
	path, named := strings.CutPrefix(v.Scalar, "file://")
	if v.Kind != source.String || !named {
		return v
	}
	found, err := Load(r.beside(path))
	if err != nil {
		r.unsupported(one(what, v), what, "the file %s cannot be read", path)
		return source.Value{Line: v.Line}
	}
	return found
}

// beside returns the place of a file that the one being read names.
func (r *reader) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

func (p *promptfoo) readTests(list []source.Value) {
	for _, v := range list {
		if v.Kind != source.String {
			p.readTest(v)
			continue
		}
		extension := strings.ToLower(filepath.Ext(v.Scalar))
		if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv"}, extension) {
			p.placeholder(one("tests", v), v.Scalar, "%s is not a file of tests that can be read", v.Scalar)
			continue
		}
		path := p.beside(strings.TrimPrefix(v.Scalar, "file://"))
		found, err := Load(path)
		if err != nil {
			p.placeholder(one("tests", v), v.Scalar, "the file %s cannot be read",
				strings.TrimPrefix(v.Scalar, "file://"))
			continue
		}
		inner := *p
		own := *p.reader
		own.file, own.dir = path, filepath.Dir(path)
		inner.reader = &own
		items := []source.Value{found}
		if found.Kind == source.List {
			items = found.Items
		}
		for _, item := range items {
			if extension == ".csv" {
				item = own.row(item)
			}
			inner.readTest(item) // takes what row found, too
		}
		p.last, p.key = inner.last, inner.key
	}
}

// row returns a row of a table as a test: columns are variables but for those whose name begins with two underscores.
func (r *reader) row(v source.Value) source.Value {
	vars := source.Value{Kind: source.Map, Line: v.Line}
	asserted := source.Value{Kind: source.List, Line: v.Line}
	t := source.Value{Kind: source.Map, Line: v.Line}
	for _, f := range v.Fields {
		switch name := f.Name; {
		case strings.HasPrefix(name, "__expected"):
			kind, value, ok := strings.Cut(f.Value.Scalar, ":")
			if !ok || strings.ContainsAny(kind, " \n") {
				kind, value = "equals", f.Value.Scalar
			}
			kind, bound, _ := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
			expected := source.Value{Kind: source.Map, Line: f.Line, Column: f.Column, Fields: []source.Field{
				{Name: "type", Value: source.Text(kind), Line: f.Line},
				{Name: "value", Value: source.Text(strings.TrimSpace(value)), Line: f.Line},
			}}
			if bound != "" {
				expected.Fields = append(expected.Fields, source.Field{
					Name: "threshold", Value: source.Value{Kind: source.Number, Scalar: bound}, Line: f.Line,
				})
			}
			asserted.Items = append(asserted.Items, expected)
		case name == "__description" || name == "__threshold":
			f.Name = name[2:]
			t.Fields = append(t.Fields, f)
		case strings.HasPrefix(name, "__metadata:"):
			f.Name = strings.TrimPrefix(name, "__metadata:")
			t.Fields = append(t.Fields, source.Field{
				Name: "metadata", Line: f.Line, Value: source.Value{Kind: source.Map, Fields: []source.Field{f}},
			})
		case slices.Contains([]string{"__prefix", "__suffix", "__provider"}, name):
			r.lose(f.Line, name, "it has no counterpart in a suite")
		case name == "__metric":
			r.ignore(f.Line, name, "it names the metric of the row's checks")
		case strings.HasPrefix(name, "__"):
			v := f.Value
			v.Line, v.Column = f.Line, f.Column
			r.unsupported(one(name, v), name, "it has no counterpart in a suite")
		default:
			vars.Fields = append(vars.Fields, f)
		}
	}
	t.Fields = append(t.Fields, source.Field{Name: "vars", Value: vars, Line: v.Line}, source.Field{
		Name: "assert", Value: asserted, Line: v.Line,
	})
	return mergedFields(t)
}

// mergedFields joins mappings that stand under one name.
func mergedFields(v source.Value) source.Value {
	var all []source.Field
	for _, f := range v.Fields {
		at := slices.IndexFunc(all, func(g source.Field) bool { return g.Name == f.Name })
		if at < 0 {
			all = append(all, f)
		} else {
			all[at].Value.Fields = slices.Concat(all[at].Value.Fields, f.Value.Fields)
		}
	}
	v.Fields = all
	return v
}

// named returns the name of the test for losses and ids.
func (p *promptfoo) named(e *entry) string {
	if name := e.text("id", "description"); strings.TrimSpace(name) != "" {
		return name
	}
	return fmt.Sprintf("test-%d", *p.read)
}
