package importer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rehearse/internal/source"
)

// assertKind says how an assertion of promptfoo is written in a suite.
type assertKind struct {
	name string
	// bound is what a missing threshold counts as; below 0 for checks that pass or fail.
	bound float64
	write func(a *asserted) pairs
}

// ownThreshold is the bound of assertions whose threshold is no score.
const ownThreshold = -2

// assertKinds are the assertions that can be carried over, by their names without not-.
func assertKinds() map[string]assertKind {
	return map[string]assertKind{
		"equals": {"equals", -1, valueOf}, "contains": {"contains", -1, valueOf}, "icontains": {"icontains", -1, valueOf},
		"starts-with": {"starts_with", -1, valueOf}, "ends-with": {"ends_with", -1, valueOf}, "regex": {"regex", -1, valueOf},
		"contains-any": {"contains_any", -1, valuesOf}, "icontains-any": {"icontains_any", -1, valuesOf},
		"contains-all": {"contains_all", -1, valuesOf}, "icontains-all": {"icontains_all", -1, valuesOf},
		"is-json": {"is_json", -1, schemaOf}, "levenshtein": {"levenshtein", ownThreshold, distanceOf},
		"rouge-n": {"rouge", 0.75, rougeOf}, "bleu": {"bleu", 0.5, valueOf}, "similar": {"similar", 0.75, valueOf},
		"latency": {"latency", ownThreshold, latencyOf}, "cost": {"cost", ownThreshold, costOf},
		"llm-rubric": {"rubrics", -1, rubricOf("")}, "g-eval": {"rubrics", 0.7, rubricOf("")},
		"factuality":             {"rubrics", -1, rubricOf("The reply agrees in its facts with this reference: ")},
		"conversation-relevance": {"conversation_relevance", -1, windowOf}, "assert-set": {"composite", -1, setOf},
		"word-count": {"word_count", -1, wordsOf}, "finish-reason": {"expression", -1, finishOf},
	}
}

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
		return p.agentvAssertion(c, e, kind)
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

func valueOf(a *asserted) pairs { return pairs{{"value", a.single()}} }

func valuesOf(a *asserted) pairs {
	all := a.several(true)
	if a.failed == "" && len(all) == 0 {
		a.failed = "it has no value"
	}
	return pairs{{"value", all}}
}

func schemaOf(a *asserted) pairs {
	v := a.get("value")
	if v.Kind == source.String {
		v = a.p.included(v)
		if v.Kind == source.String {
			parsed, err := source.ParseYAML("", []byte(v.Scalar))
			if err != nil || parsed.Kind != source.Map {
				a.failed = "its schema is no mapping"
			}
			v = parsed
		}
	}
	return pairs{}.with("schema", v)
}

// distanceOf makes a share of a distance: levenshtein scores 1 − distance / length of the longer text.
func distanceOf(a *asserted) pairs {
	text := a.single()
	most, ok := a.number("threshold")
	if !ok {
		most = 5
	}
	length := float64(len([]rune(plain(text))))
	if most < 0 || most >= length {
		a.failed = fmt.Sprintf("a distance of %g is not less than the length of its value", most)
		return nil
	}
	share := 1 - most/length
	a.r.lose(a.lineOf("threshold"), a.name("threshold"), "the distance of %g is written as a similarity of %.2f, which depends on the length of the reply", most, share)
	a.least = math.Min(a.least, share)
	return pairs{{"value", text}, {"threshold", share}}
}

func rougeOf(a *asserted) pairs { return pairs{{"value", a.single()}, {"variant", "1"}} }

func latencyOf(a *asserted) pairs {
	most, ok := a.number("threshold")
	if !ok || most < 0 {
		a.failed = "it has no threshold"
	}
	return pairs{{"max_ms", most}}
}

func costOf(a *asserted) pairs {
	most, ok := a.number("threshold")
	if !ok || most < 0 {
		a.failed = "it has no threshold"
	}
	return pairs{{"max_usd", most}}
}

// rubricOf returns how criteria are written, with some words before each.
func rubricOf(words string) func(a *asserted) pairs {
	return func(a *asserted) pairs {
		a.drop("the judge is that of the configuration", "provider")
		a.drop("judges have prompts of their own", "rubricPrompt")
		all := a.several(false)
		for i, one := range all {
			if w, ok := one.(written); ok {
				all[i] = written(words) + w
			}
		}
		all = slices.DeleteFunc(all, func(v any) bool {
			_, isText := v.(written)
			return isText && blank(v)
		})
		if a.failed == "" && len(all) == 0 {
			a.failed = "it has no value"
		}
		return pairs{{"criteria", all}}
	}
}

func windowOf(a *asserted) pairs {
	a.drop("the judge is that of the configuration", "provider")
	config := a.entry.r.entry(a.get("config"), "config")
	config.drop("the whole conversation is judged", "windowSize")
	config.rest()
	return nil
}

func setOf(a *asserted) pairs {
	var members []any
	for _, v := range a.list("assert", "assertions") {
		found, low := a.p.assertion(a.c, a.vars, v)
		members, a.least = append(members, found...), math.Min(a.least, low)
	}
	if len(members) == 0 {
		a.failed = "nothing of it is left"
		return nil
	}
	if has(a.Value, "threshold") {
		return pairs{{"assertions", members}}
	}
	return pairs{{"mode", "all"}, {"assertions", members}}
}

func wordsOf(a *asserted) pairs {
	v := a.get("value")
	if v.Kind == source.Map {
		e := a.entry.r.entry(v, a.name("value"))
		keys := pairs{}.with("min", e.get("min")).with("max", e.get("max"))
		e.rest()
		return keys
	}
	n, ok := v.Float()
	if !ok {
		a.failed = "it has no number of words"
	}
	return pairs{{"value", n}}
}

func finishOf(a *asserted) pairs {
	text := a.single()
	quoted := toJSON(source.Text(plain(text)))
	return pairs{{"value", "finish_reason == " + quoted}}
}
