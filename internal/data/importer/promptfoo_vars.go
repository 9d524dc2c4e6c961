package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxCombinations bounds the tests that lists of values make of one.
const maxCombinations = 10_000

// variables returns variables with the content of the files that they name.
func (p *promptfoo) variables(v source.Value) source.Value {
	v = p.included(v, "vars")
	if v.Kind != source.Map {
		if v.Kind != source.Null {
			p.unsupported(one("vars", v), "vars", "expected a mapping, got %s", v.Kind)
		}
		return source.Value{Kind: source.Map}
	}
	v.Fields = slices.Clone(v.Fields)
	for i, f := range v.Fields {
		if f.Value.Kind == source.String && strings.HasPrefix(f.Value.Scalar, "file://") {
			text, err := p.fileText(f.Value.Scalar)
			if err != nil {
				p.unsupported(one(f.Name, f.Value), "vars."+f.Name, "%v", err)
			}
			v.Fields[i].Value.Scalar = text
		}
	}
	return v
}

// over returns a mapping with the entries of another on top.
func over(base, top source.Value) source.Value {
	base.Fields = slices.Clone(base.Fields)
	for _, f := range top.Fields {
		if at := slices.IndexFunc(base.Fields, func(g source.Field) bool { return g.Name == f.Name }); at >= 0 {
			base.Fields[at] = f
		} else {
			base.Fields = append(base.Fields, f)
		}
	}
	return source.Value{Kind: source.Map, Line: max(base.Line, top.Line), Fields: base.Fields}
}

// combinations returns the variables once for each combination of the elements of lists. Lists of messages and
// conversations stay whole. It is nil when there are too many.
func combinations(vars source.Value) []source.Value {
	all := []source.Value{vars}
	for i, f := range vars.Fields {
		if f.Value.Kind != source.List || f.Name == "_conversation" || isChat(f.Value) || len(f.Value.Items) == 0 {
			continue
		}
		var more []source.Value
		if len(all)*len(f.Value.Items) > maxCombinations {
			return nil
		}
		for _, one := range all {
			for _, item := range f.Value.Items {
				chosen := one
				chosen.Fields = slices.Clone(one.Fields)
				chosen.Fields[i].Value = item
				more = append(more, chosen)
			}
		}
		all = more
	}
	return all
}

func scalarText(v source.Value) string {
	if v.Kind == source.List || v.Kind == source.Map {
		return toJSON(v)
	}
	return v.Scalar
}

// unused returns the variables that neither the prompt nor an assertion names; they are kept as metadata.
func (p *promptfoo) unused(vars source.Value, template string, c *testCase) source.Value {
	used := append(names(template), "_conversation", "instructions")
	for _, v := range c.asserted {
		used = append(used, names(toJSON(v))...)
	}
	v := source.Value{Kind: source.Map}
	for _, f := range vars.Fields {
		if !slices.Contains(used, f.Name) && !p.sent[f.Name] {
			v.Fields = append(v.Fields, f)
		}
	}
	return v
}

// sentVars returns the variables that a target sends. One that the test does not have is empty, as in the tool.
func (p *promptfoo) sentVars(vars source.Value) (sent pairs) {
	for _, name := range slices.Sorted(maps.Keys(p.sent)) {
		v, ok := vars.Get(name)
		if !ok {
			v = source.Text("")
		}
		sent = append(sent, pair{name, v})
	}
	return sent
}
