package importer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// asserted is one assertion being read.
type asserted struct {
	*entry
	p    *promptfoo
	c    *testCase
	vars source.Value
	// least is the lowest threshold among it and those inside of it.
	least float64
	// why says why it is not carried over.
	why string
}

// assertions returns the assertions of a test, and the lowest score with which one of them passes.
func (p *promptfoo) assertions(c *testCase, vars source.Value) (all []any, least float64) {
	least = 1
	home := *p
	home.reader = p.home
	for _, v := range c.defaults {
		if !p.knows(v) { // no test can have it
			if at := home.placeOf(v); !p.seenDefaults[at] {
				p.seenDefaults[at] = true
				found, _ := home.assertion(c, vars, v)
				*p.lostDefaults = append(*p.lostDefaults, found...)
			}
			continue
		}
		found, low := home.assertion(c, vars, v)
		all, least = append(all, found...), math.Min(least, low)
	}
	for _, v := range c.asserted {
		found, low := p.assertion(c, vars, v)
		all, least = append(all, found...), math.Min(least, low)
	}
	return all, least
}

// knows reports whether suites have assertions of this type at all.
func (p *promptfoo) knows(v source.Value) bool {
	kind, _ := v.Get("type")
	plain := strings.TrimPrefix(kind.Scalar, "not-")
	_, ok := assertKinds()[plain]
	return ok || v.Kind == source.String || p.kind == "agentv" &&
		slices.Contains(p.kinds.Types(), strings.ReplaceAll(plain, "-", "_")) || p.kind == "agentv" && plain == "script"
}

// assertion returns an assertion as a suite has it, or as an unsupported one, and the lowest score with which it
// passes.
func (p *promptfoo) assertion(c *testCase, vars source.Value, v source.Value) (found []any, least float64) {
	before := len(p.pending)
	found, least = p.supported(c, vars, v)
	return append(found, p.takenSince(before)...), least
}

func (p *promptfoo) supported(c *testCase, vars source.Value, v source.Value) (found []any, least float64) {
	if v.Kind == source.String { // a criterion in words, as AgentV has it
		if blank(v.Scalar) {
			return nil, 1
		}
		text, err := p.rendered(c, v, vars)
		switch {
		case p.kind != "agentv" || strings.HasPrefix(v.Scalar, "file://"):
			err = errors.New("it is not an assertion")
		case err == nil && blank(text):
			err = errors.New("it is empty")
		case err == nil && c.rubricPrompt:
			err = errRubricPrompt
		}
		if err != nil {
			p.unsupported(one("criterion", v), "a criterion", "%v", err)
			return nil, 1
		}
		p.carry(v)
		return []any{text}, 1
	}
	e := p.entry(v, "assert")
	if v.Kind != source.Map {
		return nil, 1 // listed as unsupported
	}
	kind := e.text("type")
	plainKind, negated := strings.CutPrefix(kind, "not-")
	known, ok := assertKinds()[plainKind]
	e.what = "assert " + kind
	if c.transform || has(v, "transform") || has(v, "contextTransform") {
		p.unsupported(v, e.what, "it looks at the result of a transform")
		return nil, 1
	}
	if p.kind == "agentv" && kind == "llm-rubric" {
		if found, ok := p.judged(e); ok {
			return found, 1
		}
	}
	if !ok && p.kind == "agentv" {
		return p.agentvAssertion(e, kind)
	}
	if !ok {
		p.unsupported(v, e.what, "suites have no such assertion")
		return nil, 1
	}
	a := &asserted{entry: e, p: p, c: c, vars: vars, least: 1}
	e.failed = &a.why
	if c.rubricPrompt && (known.name == "rubrics" || known.name == "conversation_relevance") {
		a.why = errRubricPrompt.Error()
	}
	keys := known.write(a)
	common := a.common(known.bound)
	if a.why == "" {
		if names := e.unread(); len(names) > 0 { // which may change what it means
			a.why = "suites have no counterpart of its key " + strings.Join(names, ", ")
		}
	}
	if a.why != "" {
		p.unsupported(v, e.what, "%s", a.why)
		return nil, 1
	}
	written := pairs{{"type", known.name}}
	if negated {
		written[0].value = "not_" + known.name
	}
	written = append(written, keys...)
	written = append(written, common...)
	found, ok = p.check(v, e.what, written)
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
	} else if ok {
		a.why = "its weight is negative"
	}
	if a.p.kind == "agentv" {
		keys = keys.with("required", a.get("required")).with("min_score", a.get("min_score")).
			with("negate", a.get("negate"))
	}
	if bound == ownThreshold {
		return keys
	}
	n, ok := a.number("threshold")
	switch {
	case !ok:
		n = bound
	case n < 0 || n > 1:
		a.why = fmt.Sprintf("its threshold %g is no score", n)
	}
	if n >= 0 && n <= 1 {
		keys = append(keys, pair{"threshold", n})
		a.least = math.Min(a.least, n)
	}
	return keys
}

var errRubricPrompt = errors.New("a rubricPrompt decides what the judge looks for")

// rendered returns a value as text, the variables of the test filled in.
func (p *promptfoo) rendered(c *testCase, v source.Value, vars source.Value) (any, error) {
	text, err := p.fileText(v.Scalar)
	if err != nil {
		return nil, err
	}
	filled, missing, err := render(text, vars, false)
	if err != nil {
		return nil, fmt.Errorf("%w, which is not filled in", err)
	}
	if p.kind == "agentv" && len(missing) > 0 { // promptfoo fills in nothing for it
		return nil, fmt.Errorf("the test has no variable %s", missing[0])
	}
	p.missing(c, missing)
	return filled, nil
}

// single returns the value as text.
func (a *asserted) single() any {
	v := a.get("value")
	switch v.Kind {
	case source.List, source.Map:
		a.why = "its value is no text"
		return ""
	case source.Null:
		a.why = "it has no value"
		return ""
	}
	text, err := a.p.rendered(a.c, v, a.vars)
	if err != nil {
		a.why = err.Error()
		return ""
	}
	return text
}

// several returns the value as texts; a single text is cut at its commas when cut is asked for.
func (a *asserted) several(cut bool) (all []any) {
	v := a.get("value")
	if v.Kind != source.List {
		text := a.single()
		if a.why != "" {
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
			a.why = "its value is no list of texts"
			return nil
		}
		text, err := a.p.rendered(a.c, item, a.vars)
		if err != nil {
			a.why = err.Error()
			return nil
		}
		all = append(all, text)
	}
	return all
}
