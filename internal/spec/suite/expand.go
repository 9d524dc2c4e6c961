package suite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// placeholder matches ${{ NAME }}, ${{ NAME:-fallback }} and {{ var.path }}. A backslash in front makes any {{ a plain
// text.
var placeholder = text.Regexp(`\\\{\{|(\$?)\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?::-([^}]*?))?\s*\}\}`)

// escaped writes a plain {{.
const escaped = `\{{`

// promptVariables are filled in when a judge is asked, not when the suite is read.
var promptVariables = []string{"input", "output", "criteria", "expected_output"}

// scope holds what placeholders can name.
type scope struct {
	getenv func(string) (string, bool)
	vars   source.Value
	// prompts leaves the judge's variables alone.
	prompts bool
	// kinds knows which parameters are prompts; it may be nil.
	kinds Kinds
	// known refuses names that are no variable, also where there are none.
	known bool
}

// expand returns the node's value with every placeholder replaced.
// A text that is nothing but one placeholder takes the type of what it names.
func (s scope) expand(n source.Node) source.Value {
	v := n.Value
	if !hasPlaceholder(&v) {
		return v
	}
	switch v.Kind {
	case source.String:
		return s.text(n)
	case source.List:
		v.Items = slices.Clone(v.Items)
		for i, item := range n.List() {
			v.Items[i] = s.expand(item)
		}
	case source.Map:
		v.Fields = slices.Clone(v.Fields)
		var prompts []string
		if s.prompts && s.kinds != nil && n.Has("type") {
			prompts = s.kinds.Prompts(typeName(n.Value))
		}
		for i, f := range v.Fields {
			of := s
			of.known = s.known || slices.Contains(prompts, f.Name)
			v.Fields[i].Value = of.expand(n.Field(f.Name))
		}
	}
	return v
}

// hasPlaceholder reports whether a text of the value may hold a placeholder. Most values hold none, and need no copy.
func hasPlaceholder(v *source.Value) bool {
	if v.Kind == source.String && strings.Contains(v.Scalar, "{{") {
		return true
	}
	for i := range v.Items {
		if hasPlaceholder(&v.Items[i]) {
			return true
		}
	}
	for i := range v.Fields {
		if hasPlaceholder(&v.Fields[i].Value) {
			return true
		}
	}
	return false
}

func (s scope) text(n source.Node) source.Value {
	v := n.Value
	if m := placeholder().FindStringSubmatch(v.Scalar); m != nil && m[0] == strings.TrimSpace(v.Scalar) &&
		m[0] != escaped {
		named, ok := s.lookup(n, m)
		if !ok {
			return v
		}
		named.Line, named.Column = v.Line, v.Column
		return named
	}
	v.Scalar = placeholder().ReplaceAllStringFunc(v.Scalar, func(found string) string {
		if found == escaped {
			return escaped[1:]
		}
		named, ok := s.lookup(n, placeholder().FindStringSubmatch(found))
		switch {
		case !ok:
			return found
		case named.Kind == source.List || named.Kind == source.Map:
			return asJSON(named)
		}
		return named.Scalar
	})
	return v
}

// lookup resolves one match of placeholder. A name that it cannot resolve stays as written, and is reported if it
// should be known.
func (s scope) lookup(n source.Node, match []string) (source.Value, bool) {
	name, fallback := match[2], match[3]
	if match[1] == "$" {
		if value, set := s.getenv(name); set {
			return source.Text(value), true
		}
		if strings.Contains(match[0], ":-") {
			return source.Text(fallback), true
		}
		n.Report("set it, or write ${{ "+name+":-fallback }}", "the environment variable %s is not set", name)
		return source.Value{}, false
	}
	if s.prompts && slices.Contains(promptVariables, name) {
		return source.Value{}, false
	}
	value, ok := s.vars, true
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "vars."), ".") {
		if value, ok = step(value, part); !ok {
			break
		}
	}
	if !ok && (s.known || len(s.vars.Fields) > 0) { // elsewhere, a test without variables may say what it likes
		known := varPaths(s.vars, "")
		if s.known {
			known = append(known, promptVariables...)
		}
		n.Report(source.Suggest(name, known), "unknown variable {{ %s }}", name)
	}
	return value, ok
}

// step returns an entry of a mapping by its name or an element of a list by its number, from 0.
func step(v source.Value, part string) (source.Value, bool) {
	if v.Kind != source.List {
		return v.Get(part)
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 0 || i >= len(v.Items) {
		return source.Value{}, false
	}
	return v.Items[i], true
}

func varPaths(v source.Value, prefix string) []string {
	var paths []string
	for _, f := range v.Fields {
		if f.Value.Kind == source.Map {
			paths = append(paths, varPaths(f.Value, prefix+f.Name+".")...)
			continue
		}
		paths = append(paths, prefix+f.Name)
	}
	return paths
}

// overlay returns base with the entries of top added or replaced.
func overlay(base, top source.Value) source.Value {
	merged := source.Value{Kind: source.Map, Line: top.Line, Column: top.Column, Fields: slices.Clone(base.Fields)}
	for _, f := range top.Fields {
		at := slices.IndexFunc(merged.Fields, func(old source.Field) bool { return old.Name == f.Name })
		if at >= 0 {
			merged.Fields[at] = f
		} else {
			merged.Fields = append(merged.Fields, f)
		}
	}
	return merged
}
