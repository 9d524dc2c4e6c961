package importer

import (
	"math"
	"strings"

	"rehearse/internal/source"
)

// asserted is one assertion being read.
type asserted struct {
	*entry
	p    *promptfoo
	c    *testCase
	vars source.Value
	// least is the lowest threshold among it and those inside of it.
	least float64
	// failed says why it is not carried over.
	failed string
}

// assertions returns the assertions of a test, and the lowest score with which one of them passes.
func (p *promptfoo) assertions(c *testCase, vars source.Value) (all []any, least float64) {
	least = 1
	for _, v := range c.asserted {
		found, low := p.assertion(c, vars, v)
		all, least = append(all, found...), math.Min(least, low)
	}
	return all, least
}

func (p *promptfoo) assertion(c *testCase, vars source.Value, v source.Value) (found []any, least float64) {
	if v.Kind == source.String { // a criterion in words, as AgentV has it
		text, ok := p.rendered(c, v, vars)
		if !ok || blank(text) {
			return nil, 1
		}
		return []any{text}, 1
	}
	e := p.entry(v, "assert")
	kind := e.text("type")
	plainKind, negated := strings.CutPrefix(kind, "not-")
	known, ok := assertKinds()[plainKind]
	e.what = "assert " + kind
	if p.kind == "agentv" && kind == "llm-rubric" {
		if found, ok := p.judged(e); ok {
			return found, 1
		}
	}
	if !ok && p.kind == "agentv" {
		return p.agentvAssertion(e, kind)
	}
	if !ok || has(v, "transform") || has(v, "contextTransform") {
		why := "suites have no such assertion"
		if ok {
			why = "it looks at the result of a transform"
		}
		p.lose(v.Line, e.what, "%s", why)
		return nil, 1
	}
	a := &asserted{entry: e, p: p, c: c, vars: vars, least: 1}
	keys := known.write(a)
	if a.failed != "" {
		p.lose(v.Line, e.what, "%s", a.failed)
		return nil, 1
	}
	written := pairs{{"type", known.name}}
	if negated {
		written[0].value = "not_" + known.name
	}
	written = append(written, keys...)
	written = append(written, a.common(known.bound)...)
	if names := e.unread(); len(names) > 0 { // which may change what it means
		p.lose(v.Line, e.what, "suites have no counterpart of its key %s", strings.Join(names, ", "))
		return nil, 1
	}
	found, ok = p.check(v.Line, e.what, written)
	if !ok {
		return nil, 1
	}
	if n, ok := keys.get("criteria").([]any); ok && len(written) == 2 && len(n) == 1 && !negated {
		return n, a.least // a criterion in words
	}
	return found, a.least
}

// common returns the keys that every assertion has.
func (a *asserted) common(bound float64) (keys pairs) {
	if name := a.text("metric"); name != "" {
		keys = append(keys, pair{"name", name})
	}
	if n, ok := a.number("weight"); ok && n >= 0 {
		keys = append(keys, pair{"weight", n})
	}
	if a.p.kind == "agentv" {
		keys = keys.with("required", a.get("required")).with("min_score", a.get("min_score")).with("negate", a.get("negate"))
	}
	if bound == ownThreshold {
		return keys
	}
	n, ok := a.number("threshold")
	if !ok {
		n = bound
	}
	if n >= 0 && n <= 1 {
		keys = append(keys, pair{"threshold", n})
		a.least = math.Min(a.least, n)
	}
	return keys
}

// rendered returns a value as text, the variables of the test filled in.
func (p *promptfoo) rendered(c *testCase, v source.Value, vars source.Value) (any, bool) {
	text, ok := p.fileText(v, "value")
	if !ok {
		return nil, false
	}
	filled, missing, err := render(text, vars, false)
	if err != nil {
		p.lose(v.Line, "value", "%v, which is not filled in", err)
		return nil, false
	}
	p.missing(c, missing)
	return filled, true
}

// single returns the value as text.
func (a *asserted) single() any {
	v := a.get("value")
	switch v.Kind {
	case source.List, source.Map:
		a.failed = "its value is no text"
		return ""
	case source.Null:
		a.failed = "it has no value"
		return ""
	}
	text, ok := a.p.rendered(a.c, v, a.vars)
	if !ok {
		a.failed = "its value cannot be written as a text"
	}
	return text
}

// several returns the value as texts; a single text is cut at its commas when cut is asked for.
func (a *asserted) several(cut bool) (all []any) {
	v := a.get("value")
	if v.Kind != source.List {
		text, ok := a.single(), a.failed == ""
		if !ok {
			return nil
		}
		if !cut {
			return []any{text}
		}
		w, _ := text.(written)
		for part := range strings.SplitSeq(string(w), ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, written(strings.Trim(part, `"`)))
			}
		}
		return all
	}
	for _, item := range v.Items {
		if item.Kind == source.Map && a.p.kind == "agentv" && !cut { // {id, outcome, …}
			all = append(all, item)
			continue
		}
		if item.Kind == source.List || item.Kind == source.Map {
			a.failed = "its value is no list of texts"
			return nil
		}
		text, ok := a.p.rendered(a.c, item, a.vars)
		if !ok {
			a.failed = "its value cannot be written as texts"
			return nil
		}
		all = append(all, text)
	}
	return all
}
