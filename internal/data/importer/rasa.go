package importer

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
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
var entity = text.Regexp(`\[([^\]]*)\](\([^)]*\)|\{[^}]*\})`)

func readRasa(r *reader, root source.Value) {
	top := r.settings(root, "")
	top.keep("version")
	for _, v := range append(top.list("stories"), top.list("test_cases")...) {
		e := r.entry(v, "story")
		t := &test{id: e.text("story", "test_case")}
		for _, step := range e.list("steps") {
			r.step(t, step)
		}
		e.ignore("it describes the story", "metadata")
		e.drop("targets begin in a state of their own", "fixtures")
		e.rest()
		t.conversation = len(t.turns) > 1
		r.add(v, t)
	}
	top.rest()
}

func (r *reader) step(t *test, v source.Value) {
	e := r.entry(v, "step")
	if said := strings.TrimSpace(e.text("user")); said != "" {
		t.turns = append(t.turns, turn{text: entity().ReplaceAllString(said, "$1")})
		if marked := entity().FindAllString(said, -1); len(marked) > 0 {
			entities := source.Text(strings.Join(marked, ", "))
			entities.Line, entities.Column = e.lineOf("user"), e.part("user").Column
			r.unsupported(one("entities", entities), "step.entities",
				"a target does not report which entities it finds")
		}
		e.unsupported("a target does not report which intent it finds", "intent", "entities")
	}
	if said := e.text("bot"); strings.TrimSpace(said) != "" {
		r.expect(t, e.part("bot"), "bot", pairs{{"type", "contains"}, {"value", strings.TrimSpace(said)}})
	}
	for _, one := range e.list("assertions") {
		a := r.entry(one, "assertion")
		if uttered := r.entry(a.get("bot_uttered"), "bot_uttered"); has(uttered.Value, "text_matches") {
			r.expect(t, a.part("bot_uttered"), "bot_uttered", pairs{
				{"type", "regex"},
				{"value", uttered.text("text_matches")},
			})
			uttered.rest()
		} else {
			uttered.rest()
		}
		for _, f := range a.Fields { // also one that is null or empty, such as that no button is there
			a.unsupported("a target does not report it", f.Name)
		}
	}
	e.unsupported("a target does not report which action it takes", "action", "utter")
	e.unsupported("a target does not report its slots and forms", "slot_was_set", "slot_was_not_set", "active_loop")
	e.rest()
	if n := len(t.turns); n > 0 {
		t.turns[n-1].assertions = append(t.turns[n-1].assertions, r.taken()...)
	}
}

// expect adds an assertion to the last turn.
func (r *reader) expect(t *test, original source.Value, what string, assertion pairs) {
	if len(t.turns) == 0 {
		r.unsupported(original, what, "the bot speaks before the user")
		return
	}
	found, _ := r.check(original, what, assertion)
	last := &t.turns[len(t.turns)-1]
	last.assertions = append(last.assertions, found...)
}
