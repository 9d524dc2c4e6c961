package importer

import (
	"regexp"
	"strings"

	"rehearse/internal/source"
)

// Rasa has test stories, and test cases of its newer form. What users say stands in both.

func fitsRasa(root source.Value) bool {
	if stories, ok := root.Get("stories"); ok {
		return stories.Kind == source.List
	}
	cases, _ := root.Get("test_cases")
	return has(first(cases), "test_case")
}

// entity is a part of what a user says that is marked as [value](entity), or as [value]{"entity": …}.
var entity = regexp.MustCompile(`\[([^\]]*)\](\([^)]*\)|\{[^}]*\})`)

func readRasa(r *reader, root source.Value) {
	top := r.entry(root, "")
	top.keep("version")
	for _, v := range append(top.list("stories"), top.list("test_cases")...) {
		e := r.entry(v, "story")
		t := &test{id: e.text("story", "test_case")}
		for _, step := range e.list("steps") {
			r.step(t, step)
		}
		e.rest()
		t.conversation = len(t.turns) > 1
		r.add(v.Line, t)
	}
	top.rest()
}

func (r *reader) step(t *test, v source.Value) {
	e := r.entry(v, "step")
	if said := strings.TrimSpace(e.text("user")); said != "" {
		for range entity.FindAllString(said, -1) {
			r.lose(e.lineOf("user"), "an entity", "a target does not say which entities it finds")
		}
		t.turns = append(t.turns, turn{text: entity.ReplaceAllString(said, "$1")})
		e.drop("a target does not say which intent it finds", "intent", "entities")
	}
	if said := e.text("bot"); strings.TrimSpace(said) != "" {
		r.expect(t, v.Line, "bot", pairs{{"type", "contains"}, {"value", strings.TrimSpace(said)}})
	}
	for _, one := range e.list("assertions") {
		a := r.entry(one, "assertion")
		if uttered := r.entry(a.get("bot_uttered"), "bot_uttered"); has(uttered.Value, "text_matches") {
			r.expect(t, one.Line, "bot_uttered", pairs{{"type", "regex"}, {"value", uttered.text("text_matches")}})
			uttered.rest()
		} else if len(uttered.Fields) > 0 {
			uttered.rest()
		}
		a.rest()
	}
	e.drop("a target does not say which action it takes", "action", "utter")
	e.drop("a target does not say what its slots and forms hold", "slot_was_set", "slot_was_not_set", "active_loop")
	e.rest()
}

// expect adds an assertion to the last turn.
func (r *reader) expect(t *test, line int, what string, assertion pairs) {
	if len(t.turns) == 0 {
		r.lose(line, what, "the bot speaks before the user")
		return
	}
	found, _ := r.check(line, what, assertion)
	last := &t.turns[len(t.turns)-1]
	last.assertions = append(last.assertions, found...)
}
