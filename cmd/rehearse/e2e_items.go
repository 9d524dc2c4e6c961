package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
	"rehearse/internal/grader"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// e2eItem is an item of a dataset as it is evaluated.
type e2eItem struct {
	id, query string
	site      *site.Site
	history   sitebot.History
	rebuilt   sitebot.Rebuilt
	test      *suite.Test
}

// e2eReader makes items of records and gathers what is wrong with them.
type e2eReader struct {
	origin string
	judged bool
	kinds  *grader.Set
	// find returns the site of a name, or of no name.
	find     func(name string) (*site.Site, error)
	problems source.Problems
}

// itemInput, itemExpected and itemMetadata are the parts of an item. What else metadata has is the author's own.
type (
	itemInput struct {
		Query   *string `json:"query"`
		Message *string `json:"message"`
	}
	itemExpected struct {
		Response   string          `json:"response"`
		Assertions json.RawMessage `json:"assertions"`
	}
	itemMetadata struct {
		SiteName   string                     `json:"site_name"`
		History    json.RawMessage            `json:"history"`
		QueryAt    *float64                   `json:"query_message_index"`
		State      map[string]json.RawMessage `json:"state"`
		Assertions json.RawMessage            `json:"assertions"`
		Interest   json.RawMessage            `json:"interest_signals_state"`
	}
)

// all reads every record; the error names all faults.
func (r *e2eReader) all(records []dataset.Record) ([]*e2eItem, error) {
	items := make([]*e2eItem, 0, len(records))
	for i := range records {
		items = append(items, r.item(&records[i]))
	}
	if err := r.problems.Err(); err != nil {
		return nil, outcome(source.AsInvalid(err))
	}
	return items, nil
}

func (r *e2eReader) report(d *dataset.Record, part, hint, format string, args ...any) {
	r.problems = append(r.problems, source.Problem{
		File: r.origin, Line: d.Line, Column: min(1, d.Line), Path: d.ID + "." + part, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// inWordsOf says what is wrong with the JSON of a part.
func inWordsOf(err error) string {
	typed, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	where := "it"
	if typed.Field != "" {
		where = typed.Field
	}
	kind, _, _ := strings.Cut(typed.Value, " ") // "number 5"
	is := map[string]string{"array": "a list", "object": "an object", "string": "a text", "number": "a number", "bool": "true or false"}[kind]
	return fmt.Sprintf("%s is %s where %s belongs", where, cmp.Or(is, typed.Value), source.KindOf(typed.Type))
}

// textOr reads a part that is a text, or an object.
func textOr(data json.RawMessage, text *string, object any) error {
	if json.Unmarshal(data, text) == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, object)
}

func (r *e2eReader) item(d *dataset.Record) *e2eItem {
	item := &e2eItem{id: d.ID}
	var in itemInput
	if err := textOr(d.Input, &item.query, &in); err != nil {
		r.report(d, "input", `write {"query": "…"}`, "the input cannot be read: %v", inWordsOf(err))
	}
	for _, said := range []*string{in.Query, in.Message} {
		if said != nil && item.query == "" {
			item.query = *said
		}
	}
	if strings.TrimSpace(item.query) == "" {
		r.report(d, "input", `write {"query": "…"}: what the user says last`, "the item has no query")
	}
	var expected itemExpected
	if err := textOr(d.Expected, &expected.Response, &expected); err != nil {
		r.report(d, "expected_output", `write {"response": "…"}`, "the expected output cannot be read: %v", inWordsOf(err))
	}
	var meta itemMetadata
	if len(d.Metadata) > 0 {
		if err := json.Unmarshal(d.Metadata, &meta); err != nil {
			r.report(d, "metadata", `write {"site_name": "…", "history": [{"role", "content"}]}`, "the metadata cannot be read: %v", inWordsOf(err))
		}
	}
	var err error
	if item.site, err = r.find(meta.SiteName); err != nil {
		r.report(d, "metadata.site_name", "write a site of --sites, or leave it out and say --site NAME", "%v", err)
		return item
	}
	r.rebuild(d, item, &meta)
	r.makeTest(d, item, &meta, &expected)
	return item
}

// rebuild turns the history into a state.
func (r *e2eReader) rebuild(d *dataset.Record, item *e2eItem, meta *itemMetadata) {
	item.history = sitebot.History{Query: item.query, FieldIDs: item.site.FieldIDs(), CutAt: meta.QueryAt}
	if len(meta.History) > 0 {
		var objects []*struct{} // rebuild takes any rows, but here somebody has written them
		if err := errors.Join(json.Unmarshal(meta.History, &objects), json.Unmarshal(meta.History, &item.history.Rows)); err != nil {
			r.report(d, "metadata.history", `write [{"role": "user", "content": "…"}, …]`, "the history cannot be read: %v", inWordsOf(err))
		}
	}
	if meta.Interest != nil || meta.State["interest_signals_state"] != nil {
		r.report(d, "metadata", "remove it: the history shows the interest",
			"interest_signals_state is never injected: the chatbot has to find the interest out itself, or a demo would be proposed for the wrong reason")
	}
	for _, name := range slices.Sorted(maps.Keys(meta.State)) {
		if name != "interest_signals_state" && !slices.Contains(suite.StateFields, name) {
			r.report(d, "metadata.state", source.Suggest(name, suite.StateFields), "%q is no field that a session can begin with", name)
		}
	}
	item.rebuilt = sitebot.Rebuild(item.history)
}

// makeTest makes the test that holds the item.
func (r *e2eReader) makeTest(d *dataset.Record, item *e2eItem, meta *itemMetadata, expected *itemExpected) {
	t := &suite.Test{ID: d.ID, Aggregation: suite.Mean, Start: suite.Start{History: meta.History, CutAt: meta.QueryAt}}
	if len(meta.History) == 0 {
		t.Start.History = json.RawMessage("[]")
	}
	if len(meta.State) > 0 {
		t.Start.Fields, _ = json.Marshal(meta.State) // it was JSON before
	}
	turn := suite.Turn{Input: chat.Content{Text: item.query}, Expected: expected.Response}
	turn.Assertions = slices.Concat(r.assertions(d, "expected_output", expected.Assertions), r.assertions(d, "metadata", meta.Assertions))
	for i := range turn.Assertions { // an answer is good when it is good and everything that was asserted holds
		if turn.Assertions[i].Required == nil {
			turn.Assertions[i].Required = new(-1.0)
		}
	}
	if r.judged && strings.TrimSpace(expected.Response) != "" {
		empty := (&source.Reader{File: r.origin}).Node(source.Value{Kind: source.Map, Line: d.Line}, d.ID)
		turn.Assertions = append(turn.Assertions, suite.Assertion{Type: "answer_quality", Weight: 1, Threshold: -1, Params: empty})
	}
	if len(turn.Assertions) == 0 {
		hint := `add {"response": "…"}, or {"assertions": [{"type", …}]}`
		if !r.judged {
			hint = `add {"assertions": [{"type", …}]}, or name a --judge for the response`
		}
		r.report(d, "expected_output", hint, "there is nothing by which the answer could be graded")
	}
	t.Turns = []suite.Turn{turn}
	t.Metadata = map[string]any{"site_name": item.site.Name}
	if len(item.rebuilt.Warnings) > 0 {
		t.Metadata["warnings"] = item.rebuilt.Warnings
	}
	item.test = t
}

// assertions reads a list of assertions as suites have them.
func (r *e2eReader) assertions(d *dataset.Record, part string, data json.RawMessage) []suite.Assertion {
	if len(data) == 0 {
		return nil
	}
	v, err := source.ParseJSON(r.origin, data, d.Line)
	if err != nil {
		r.report(d, part+".assertions", "write a list of assertions", "the assertions cannot be read: %v", err)
		return nil
	}
	reader := &source.Reader{File: r.origin}
	all := suite.Assertions(reader.Node(v, d.ID+"."+part+".assertions"), ".")
	for _, a := range all {
		if a.Type != "" {
			reader.Problems = append(reader.Problems, r.kinds.Validate(a)...)
		}
	}
	r.problems = append(r.problems, reader.Problems...)
	return all
}
