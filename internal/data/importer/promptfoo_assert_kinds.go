package importer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
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
		"equals": {"equals", -1, valueOf}, "contains": {"contains", -1, valueOf},
		"icontains":   {"icontains", -1, valueOf},
		"starts-with": {"starts_with", -1, valueOf}, "ends-with": {"ends_with", -1, valueOf},
		"regex":        {"regex", -1, valueOf},
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

func valueOf(a *asserted) pairs { return pairs{{"value", a.single()}} }

func valuesOf(a *asserted) pairs {
	all := a.several(true)
	if a.why == "" && len(all) == 0 {
		a.why = "it has no value"
	}
	return pairs{{"value", all}}
}

func schemaOf(a *asserted) pairs {
	v := a.get("value")
	if v.Kind == source.String {
		if path, named := strings.CutPrefix(v.Scalar, "file://"); named {
			var err error
			if v, err = Load(a.p.beside(path)); err != nil {
				a.why = fmt.Sprintf("the file %s cannot be read", path)
				return nil
			}
		}
		if v.Kind == source.String {
			parsed, err := source.ParseYAML("", []byte(v.Scalar))
			if err != nil || parsed.Kind != source.Map {
				a.why = "its schema is no mapping"
			}
			v = parsed
		}
	}
	return pairs{}.with("schema", v)
}

// distanceOf writes the greatest edit distance, which is a number of characters in both.
func distanceOf(a *asserted) pairs {
	text := a.single()
	most, ok := a.number("threshold")
	if !ok {
		most = 5
	}
	if most < 0 {
		a.why = fmt.Sprintf("its threshold %g is no distance", most)
	}
	return pairs{{"value", text}, {"max_distance", int(most)}}
}

func rougeOf(a *asserted) pairs { return pairs{{"value", a.single()}, {"variant", "1"}} }

func latencyOf(a *asserted) pairs {
	most, ok := a.number("threshold")
	if !ok || most < 0 {
		a.why = "it has no threshold"
	}
	return pairs{{"max_ms", most}}
}

func costOf(a *asserted) pairs {
	most, ok := a.number("threshold")
	if !ok || most < 0 {
		a.why = "it has no threshold"
	}
	return pairs{{"max_usd", most}}
}

// rubricOf returns how criteria are written, with some words before each.
func rubricOf(words string) func(a *asserted) pairs {
	return func(a *asserted) pairs {
		a.drop("the judge is that of the configuration", "provider")
		all := a.several(false)
		for i, one := range all {
			if w, ok := one.(written); ok {
				all[i] = written(words) + w
			}
		}
		if slices.ContainsFunc(all, func(v any) bool {
			_, isText := v.(written)
			return isText && blank(v)
		}) {
			a.why = "a criterion is empty"
		}
		if a.why == "" && len(all) == 0 {
			a.why = "it has no value"
		}
		return pairs{{"criteria", all}}
	}
}

func windowOf(a *asserted) pairs {
	a.drop("the judge is that of the configuration", "provider")
	config := a.entry.r.settings(a.get("config"), "config")
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
		a.why = "nothing of it is left"
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
		e.failed = &a.why
		keys := pairs{}.with("min", e.get("min")).with("max", e.get("max"))
		e.rest()
		return keys
	}
	n, ok := v.Float()
	if !ok {
		a.why = "it has no number of words"
	}
	return pairs{{"value", n}}
}

func finishOf(a *asserted) pairs {
	text := a.single()
	quoted := toJSON(source.Text(plain(text)))
	return pairs{{"value", "finish_reason == " + quoted}}
}
