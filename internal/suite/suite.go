// Package suite is what an author wrote: suites of tests, read from files into one normal form.
// Nothing past this package knows which dialect or file format a test came from.
package suite

import (
	"encoding/json"
	"math"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/source"
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
	// Sampling is nil, or how the target should choose its words; its own settings else.
	Sampling *Sampling
	// Criteria is shared by all turns and judged by itself only if the test has no assertion at all.
	Criteria string
	// Input stands before the first turn: the system prompt and earlier messages.
	Input []chat.Message
	Turns []Turn
	// Assertions grade the whole transcript; a single-turn test has its assertions in the turn.
	Assertions    []Assertion
	Aggregation   Aggregation
	StopOnFailure bool
	// WindowSize is how many turns per-turn graders see, the graded one included; 0 means all.
	WindowSize int
	DependsOn  []string
	// RunAnyway runs the test even if one that it depends on did not pass.
	RunAnyway bool
	Tags      []string
	Vars      map[string]any
	Metadata  map[string]any
	Execution Execution
}

// Of returns a suite of tests that were made elsewhere, such as from the items of a dataset; origin says from what. The tests are valid.
func Of(name, origin string, tests []*Test) *Suite {
	return &Suite{File: origin, Name: name, Count: len(tests), Needed: map[string]bool{}, made: tests}
}

// Start is the state in which a conversation begins. The zero value is the target's own beginning.
type Start struct {
	// Node is where a flow stands before the first turn.
	Node string
	// Memory is what the agent remembers then: {turn_index, facts, summary} as JSON.
	Memory json.RawMessage
	// Fields are other parts of a chatbot's state, as a JSON object of StateFields.
	Fields json.RawMessage
	// History is what was said before, as it was recorded: a JSON list of rows {role, content, message_index}. The target rebuilds its state
	// from it, as far as it has one, and takes Fields over what it finds.
	History json.RawMessage
	// CutAt is the message_index of the first turn in the history, where its text stands there more than once; nil finds it by its text.
	CutAt *float64
}

// Sampling says how a model chooses its words, as far as it can be told. What is nil is left to the target.
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
	Expected   string
	Assertions []Assertion
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

// Assertion is one expectation as written.
// Strings of one list become a single assertion of type rubrics.
type Assertion struct {
	// Type is in snake case; a leading not_ has been turned into Negate.
	Type string
	// Name is the author's, or empty.
	Name   string
	Weight float64
	// Required is nil, or the score below which the whole turn scores 0; negative means the test's threshold.
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
}

// Execution says how tests are run. Zero values mean "not said here".
type Execution struct {
	Targets   []string
	Workers   int
	Threshold *float64
	Trials    Trials
	// Retries is how often a failed call to the target is tried again.
	Retries *int
	// Timeout bounds one call to the target, ConversationTimeout the whole conversation.
	Timeout             time.Duration
	ConversationTimeout time.Duration
	BudgetUSD           float64
	// Cache false bypasses the judge's verdict cache.
	Cache        *bool
	SkipDefaults bool
	// ShortCircuit leaves the judge out once a deterministic grader has failed the turn.
	ShortCircuit *bool
}

// Strategy says how trials become one verdict.
type Strategy string

// The strategies.
const (
	PassAtK            Strategy = "pass_at_k"
	PassAll            Strategy = "pass_all"
	MeanScore          Strategy = "mean"
	ConfidenceInterval Strategy = "confidence_interval"
)

// Trials asks for repeats of a test. Count 0 means none were asked for.
type Trials struct {
	Count    int
	Strategy Strategy
}

// Over returns e with the gaps filled from base.
func (e Execution) Over(base Execution) Execution {
	if len(e.Targets) == 0 {
		e.Targets = base.Targets
	}
	if e.Workers == 0 {
		e.Workers = base.Workers
	}
	if e.Threshold == nil {
		e.Threshold = base.Threshold
	}
	if e.Trials.Count == 0 {
		e.Trials.Count = base.Trials.Count
	}
	if e.Trials.Strategy == "" {
		e.Trials.Strategy = base.Trials.Strategy
	}
	if e.Retries == nil {
		e.Retries = base.Retries
	}
	if e.Timeout == 0 {
		e.Timeout = base.Timeout
	}
	if e.ConversationTimeout == 0 {
		e.ConversationTimeout = base.ConversationTimeout
	}
	if e.BudgetUSD == 0 {
		e.BudgetUSD = base.BudgetUSD
	}
	if e.Cache == nil {
		e.Cache = base.Cache
	}
	if e.ShortCircuit == nil {
		e.ShortCircuit = base.ShortCircuit
	}
	return e
}
