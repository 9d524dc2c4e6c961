// Package suite reads suites of tests from files into one normal form.
// Other packages do not know which dialect or file format a test came from.
package suite

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
)

// Defaults that hold when nobody says otherwise.
const (
	DefaultThreshold = 0.8
	DefaultRetries   = 2
)

// Test is one conversation with its expectations.
// A single-turn test is a conversation of one turn. Tests are not changed after loading.
type Test struct {
	Suite string
	ID    string
	// Conversation is true for mode: conversation; it decides what Assertions look at.
	Conversation bool
	// Start is the state in which the conversation begins.
	Start Start
	// Sampling says how the target should choose its words; nil leaves it to the target.
	Sampling *Sampling
	// Criteria is shared by all turns. It is judged by itself only if the test has no assertion.
	Criteria string
	// Input stands before the first turn: the system prompt and earlier messages.
	Input []chat.Message
	Turns []Turn
	// User says what comes after the Turns; nil when nobody does.
	User *User `json:",omitempty"`
	// EveryTurn grades each turn that the User says. The Turns have it among their own assertions.
	EveryTurn []Assertion `json:",omitempty"`
	// Stubs answer in place of what a flow calls.
	Stubs Stubs `json:",omitempty"`
	// Assertions grade the whole transcript; a single-turn test has its assertions in the turn.
	Assertions    []Assertion
	Aggregation   Aggregation
	StopOnFailure bool
	// WindowSize is how many turns per-turn graders see, the graded one included; 0 means all.
	WindowSize int
	DependsOn  []string
	// OnDependencyFailure says after which outcomes of those tests this one is skipped.
	OnDependencyFailure OnDependencyFailure
	Tags                []string
	Vars                map[string]any
	Metadata            map[string]any
	Execution           Execution
	// Required is true where the fall of this test alone fails the regression gate.
	Required bool `json:",omitempty"`
	// Cluster names the tests of the suite whose outcomes may depend on each other; empty for a test that is a cluster
	// of its own.
	Cluster string `json:",omitempty"`
	// Quarantine has the terms on which the test's failure decides nothing; nil for a test that counts.
	Quarantine *quarantine.Terms `json:"-"`
	// At is where the test was written. It decides nothing.
	At Location `json:"-"`

	// entry is the number of the entry that the test was written as; users are those of which each makes a test.
	entry int
	users []namedUser
}

// Location is where a test was written: its file, the line on which it begins, and those of its turns. Lines count from
// 1; a test that was made has none.
type Location struct {
	File  string
	Line  int
	Turns []int
}

// LocationOfRow returns where a test was written that is a row of a file, with its one turn. A row without a line was
// made.
func LocationOfRow(file string, line int) Location {
	if line == 0 {
		return Location{}
	}
	return Location{File: file, Line: line, Turns: []int{line}}
}

// OnDependencyFailure says when a test is skipped because of a test that it depends on. The zero value skips it after a
// test that could not be run or graded, or was skipped itself; a low score does not.
type OnDependencyFailure string

// The other values: SkipUnlessPassed skips after anything but a pass, RunAnyway never skips.
const (
	SkipUnlessPassed OnDependencyFailure = "skip"
	RunAnyway        OnDependencyFailure = "run"
)

// Of returns a suite of valid tests that were not read from a suite file; origin says what they were made from, such as
// a dataset.
func Of(name, origin string, tests []*Test) *Suite {
	for i, t := range tests {
		t.entry = i
	}
	return &Suite{File: origin, Name: name, Count: len(tests), Needed: map[string]bool{}, made: tests}
}

// Start is the state in which a conversation begins. The zero value is the target's own beginning.
type Start struct {
	// Node is where a flow stands before the first turn.
	Node string
	at   source.Problem // where Node was written
	// Memory is what the agent remembers then: {turn_index, facts, summary} as JSON.
	Memory json.RawMessage
	// Fields are other parts of a chatbot's state, as a JSON object of StateFields.
	Fields json.RawMessage
	// History is what was said before, as it was recorded: a JSON list of rows {role, content, message_index}.
	// A target with a state rebuilds it from the History. Fields replace what it finds there.
	History json.RawMessage
	// CutAt is the message_index of the first turn in the History; nil finds the turn by its text, which must then
	// stand there once.
	CutAt *float64
	// Uncut is true for a History that ends before the first turn.
	Uncut bool
}

// Sampling says how a model chooses its words. A nil field is left to the target.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Seed        *int     `json:"seed,omitempty"`
}

// Turn is one user message and what is expected of the reply.
type Turn struct {
	// ID is the author's name of the turn, if it has one.
	ID    string
	Input chat.Content
	// Expected is a reference answer for the judge; it never enters the conversation.
	Expected string
	// ReferenceOnly leaves Expected to assertions that compare with it; no judge is called for it.
	ReferenceOnly bool `json:",omitempty"`
	Assertions    []Assertion
	// Stubs go before those of the test.
	Stubs Stubs `json:",omitempty"`
}

// Aggregation says how the scores of a test become one.
type Aggregation string

// The aggregations; the zero value counts as Mean.
const (
	Mean Aggregation = "mean"
	Min  Aggregation = "min"
	Max  Aggregation = "max"
)

// Of returns the aggregate of scores; 0 for none.
func (a Aggregation) Of(scores []float64) float64 {
	if len(scores) == 0 {
		return 0
	}
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range scores {
		least, most, sum = math.Min(least, s), math.Max(most, s), sum+s
	}
	switch a {
	case Min:
		return least
	case Max:
		return most
	}
	return sum / float64(len(scores))
}

// JudgesExpected reports whether a judge grades the reply by the turn's expected output.
func (t *Turn) JudgesExpected() bool { return t.Expected != "" && !t.ReferenceOnly }

// GradesNothing reports whether no assertion, criterion or expected output grades the test.
func (t *Test) GradesNothing() bool {
	return len(t.Assertions)+len(t.EveryTurn) == 0 && t.Criteria == "" &&
		!slices.ContainsFunc(t.Turns, func(turn Turn) bool { return len(turn.Assertions) > 0 || turn.JudgesExpected() })
}

// Ungraded counts tests that grade nothing, each once. The zero value is ready to use.
type Ungraded struct {
	Count int
	// First are the ids of the first three.
	First []string
	last  string
}

// Add counts the test if it grades nothing. A test that comes several times in a row counts once.
func (u *Ungraded) Add(t *Test) {
	key := t.Suite + "\x00" + t.ID
	if !t.GradesNothing() || u.last == key {
		return
	}
	u.last = key
	if u.Count++; len(u.First) < 3 {
		u.First = append(u.First, t.ID)
	}
}

// String returns the warning about these tests; empty where there are none.
func (u *Ungraded) String() string {
	switch {
	case u.Count == 0:
		return ""
	case u.Count == 1:
		return "1 test grades nothing: " + u.First[0] + " (add assertions)"
	}
	more := ""
	if u.Count > len(u.First) {
		more = ", …"
	}
	return fmt.Sprintf("%d tests grade nothing: %s%s (add assertions)", u.Count, strings.Join(u.First, ", "), more)
}

// Assertion is one expectation as written.
// Strings of one list become a single assertion of type rubrics.
type Assertion struct {
	// Type is in snake case; a leading not_ has been turned into Negate.
	Type string
	// Name is the author's, or empty.
	Name   string
	Weight float64
	// Required is the score below which the whole turn scores 0; negative means the test's threshold, nil that there is
	// none.
	Required *float64
	// MinScore counts a lower score as 0.
	MinScore float64
	Negate   bool
	// Threshold is the score from which the assertion itself counts as passed; negative means the test's threshold.
	Threshold float64
	// Params holds the keys that belong to the type.
	Params source.Node
	// Dir is the folder of the suite, which relative paths start from.
	Dir string
	// Vars are the test's variables. They are filled into the parameters already; files that the assertion names need
	// them.
	Vars source.Value
	// written says where the author of a v1 suite wrote the parameters; nil elsewhere.
	written []param
}
