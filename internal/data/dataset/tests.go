package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Test is an item as a test: the chatbot of a site begins with the state of the item's history and is asked the item's
// query.
type Test struct {
	*suite.Test
	// Query is the message that is sent, Site the site on which it is.
	Query string
	Site  *site.Site
	// Rebuilt is the state that the history leads to.
	Rebuilt sitebot.Rebuilt
}

// TestsConfig says how items become tests. Site and Check are needed.
type TestsConfig struct {
	// Origin is where the items come from, as problems name it.
	Origin string
	// Judged is true where a judge compares the answer with the expected response. Without a judge only assertions
	// count.
	Judged bool
	// Site returns the site of a name, or the one that is meant by no name.
	Site func(name string) (*site.Site, error)
	// Check returns what is wrong with an assertion of a type.
	Check func(suite.Assertion) source.Problems
}

// TargetOf returns the name of the target that answers on a site.
func TargetOf(s *site.Site) string { return "sitebot:" + s.Name }

// Tests makes a test of each item, in their order. It asks and opens nothing but what Site does. An error is all
// source.Problems of the items.
func Tests(items []Record, c TestsConfig) ([]*Test, error) {
	r := &testReader{TestsConfig: c}
	tests := make([]*Test, 0, len(items))
	for i := range items {
		tests = append(tests, r.test(&items[i]))
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return tests, nil
}

// CheckAssertions returns what is wrong with the assertions that items expect of answers, as source.Problems; origin is
// where the items come from, check that of TestsConfig.
func CheckAssertions(origin string, items []Record, check func(suite.Assertion) source.Problems) error {
	r := &testReader{TestsConfig: TestsConfig{Origin: origin, Check: check}}
	for i := range items {
		var expected expectedAnswer
		if err := json.Unmarshal(items[i].Expected, &expected); err != nil {
			return fmt.Errorf("%s: the item %q: %w", origin, items[i].ID, err)
		}
		r.assertions(&items[i], "expected_output", expected.Assertions)
	}
	return r.problems.Err()
}

// SuiteOf returns tests as the suite of that name.
func SuiteOf(name, origin string, tests []*Test) *suite.Suite {
	all := make([]*suite.Test, 0, len(tests))
	for _, t := range tests {
		t.Suite = name
		all = append(all, t.Test)
	}
	return suite.Of(name, origin, all)
}

// testReader makes tests of items and gathers what is wrong with them.
type testReader struct {
	TestsConfig
	problems source.Problems
}

// queryInput, expectedAnswer and itemMetadata are the parts of an item. What else metadata has is the author's own.
type (
	queryInput struct {
		historyKeys
		Query   *string `json:"query"`
		Message *string `json:"message"`
	}
	expectedAnswer struct {
		Response   string          `json:"response"`
		Assertions json.RawMessage `json:"assertions"`
	}
	itemMetadata struct {
		historyKeys
		SiteName   string                     `json:"site_name"`
		State      map[string]json.RawMessage `json:"state"`
		Assertions json.RawMessage            `json:"assertions"`
		Interest   json.RawMessage            `json:"interest_signals_state"`
	}
)

func (r *testReader) report(item *Record, part, hint, format string, args ...any) {
	r.problems = append(r.problems, source.Problem{
		File: r.Origin, Line: item.Line, Column: min(1, item.Line), Path: item.ID + "." + part,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// test makes the test of an item.
func (r *testReader) test(item *Record) *Test {
	t := &Test{}
	var in queryInput
	if err := textOr(item.Input, &t.Query, &in); err != nil {
		r.report(item, "input", `write {"query": "…"}`, "the input cannot be read: %v", jsonFault(err))
	}
	for _, said := range []*string{in.Query, in.Message} {
		if said != nil && t.Query == "" {
			t.Query = *said
		}
	}
	if strings.TrimSpace(t.Query) == "" {
		r.report(item, "input", `write {"query": "…"}: what the user says last`, "the item has no query")
	}
	var expected expectedAnswer
	if err := textOr(item.Expected, &expected.Response, &expected); err != nil {
		r.report(item, "expected_output", `write {"response": "…"}`, "the expected output cannot be read: %v",
			jsonFault(err))
	}
	var meta itemMetadata
	if len(item.Metadata) > 0 {
		if err := json.Unmarshal(item.Metadata, &meta); err != nil {
			r.report(item, "metadata", `write {"site_name": "…", "history": [{"role", "content"}]}`,
				"the metadata cannot be read: %v", jsonFault(err))
		}
	}
	var err error
	if t.Site, err = r.Site(meta.SiteName); err != nil {
		r.report(item, "metadata.site_name", "write a site of --sites, or leave it out and say --site NAME", "%v", err)
		return t
	}
	keys, err := in.or(meta.historyKeys)
	if err != nil {
		r.report(item, "metadata", "remove one of them", "%v", err)
	}
	r.rebuild(item, t, &meta, &keys)
	r.grade(item, t, &meta, &expected)
	return t
}

// rebuild turns the history into a state, which the test begins with.
func (r *testReader) rebuild(item *Record, t *Test, meta *itemMetadata, keys *historyKeys) {
	history, err := keys.parse()
	if err != nil {
		at := "input.history"
		if len(meta.Rows) > 0 {
			at = "metadata.history"
		}
		r.report(item, at, `write [{"role": "user", "content": "…"}, …]`, "%v", err)
	}
	history.Query, history.FieldIDs = t.Query, t.Site.FieldIDs()
	const interest = "interest_signals_state"
	if meta.Interest != nil || meta.State[interest] != nil {
		r.report(item, "metadata", "remove it: the history shows the interest",
			"%s is never injected: the chatbot has to find the interest out itself, "+
				"or a demo would be proposed for the wrong reason", interest)
	}
	for _, name := range slices.Sorted(maps.Keys(meta.State)) {
		if name != interest && !slices.Contains(suite.StateFields, name) {
			r.report(item, "metadata.state", source.Suggest(name, suite.StateFields),
				"%q is no field that a session can begin with", name)
		}
	}
	t.Rebuilt = sitebot.Rebuild(history)
	t.Test = &suite.Test{
		ID: item.ID, At: suite.LocationOfRow(r.Origin, item.Line), Aggregation: suite.Mean,
		Start: suite.Start{
			History: keys.Rows, CutAt: (*float64)(keys.CutAt),
			Uncut: keys.QueryInHistory != nil && !*keys.QueryInHistory,
		},
	}
	t.Execution.Targets = []string{TargetOf(t.Site)}
	if len(keys.Rows) == 0 {
		t.Start.History = json.RawMessage("[]")
	}
	if len(meta.State) > 0 {
		t.Start.Fields, _ = json.Marshal(meta.State) // it was JSON before
	}
	t.Metadata = map[string]any{"site_name": t.Site.Name}
	if len(t.Rebuilt.Warnings) > 0 {
		t.Metadata[warningsKey] = t.Rebuilt.Warnings
	}
}

// grade says by what the answer is graded. It is good when the judge finds it good and every assertion holds.
func (r *testReader) grade(item *Record, t *Test, meta *itemMetadata, expected *expectedAnswer) {
	turn := suite.Turn{Input: chat.Content{Text: t.Query}, Expected: expected.Response, ReferenceOnly: !r.Judged}
	turn.Assertions = slices.Concat(r.assertions(item, "expected_output", expected.Assertions),
		r.assertions(item, "metadata", meta.Assertions))
	for i := range turn.Assertions {
		if turn.Assertions[i].Required == nil {
			turn.Assertions[i].Required = new(-1.0)
		}
	}
	if r.Judged && strings.TrimSpace(expected.Response) != "" {
		empty := (&source.Reader{File: r.Origin}).Node(source.Value{Kind: source.Map, Line: item.Line}, item.ID)
		turn.Assertions = append(turn.Assertions, suite.Assertion{
			Type: "answer_quality", Weight: 1, Threshold: -1, Params: empty,
		})
	}
	if len(turn.Assertions) == 0 {
		hint := `add {"response": "…"}, or {"assertions": [{"type", …}]}`
		if !r.Judged {
			hint = `add {"assertions": [{"type", …}]}, or name a --judge for the response`
		}
		r.report(item, "expected_output", hint, "there is nothing by which the answer could be graded")
	}
	t.Turns = []suite.Turn{turn}
}

// assertions reads a list of assertions as suites have them.
func (r *testReader) assertions(item *Record, part string, data json.RawMessage) []suite.Assertion {
	if len(data) == 0 {
		return nil
	}
	v, err := source.ParseJSON(r.Origin, data, item.Line)
	if err != nil {
		r.report(item, part+".assertions", "write a list of assertions", "the assertions cannot be read: %v", err)
		return nil
	}
	reader := &source.Reader{File: r.Origin}
	all := suite.Assertions(reader.Node(v, item.ID+"."+part+".assertions"), ".")
	for _, a := range all {
		if a.Type != "" {
			reader.Problems = append(reader.Problems, r.Check(a)...)
		}
	}
	r.problems = append(r.problems, reader.Problems...)
	return all
}
