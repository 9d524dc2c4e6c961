// Package result is the record of an evaluation: what was found about each turn, test and run.
// Its JSON form is versioned. Reports and later comparisons read nothing else.
package result

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
)

// Schema is the version of the JSON record.
const Schema = 1

// Verdict is the outcome of a turn or test.
type Verdict string

// The verdicts. Error is a test that could not be run or decided, Ungraded one that ran and has nothing that grades it.
const (
	Pass     Verdict = "pass"
	Fail     Verdict = "fail"
	Error    Verdict = "error"
	Skip     Verdict = "skip"
	Ungraded Verdict = "ungraded"
)

// Verdicts lists every verdict.
var Verdicts = []Verdict{Pass, Fail, Error, Skip, Ungraded}

// Graded reports whether the verdict is about the agent: pass or fail.
func (v Verdict) Graded() bool { return v == Pass || v == Fail }

// Status says whether a test ran and was graded.
type Status string

// The execution statuses.
const (
	OK             Status = "ok"
	QualityFailure Status = "quality_failure"
	ExecutionError Status = "execution_error"
)

// Assertion is one thing that a grader looked for: a criterion of a rubric, or a whole deterministic check.
type Assertion struct {
	Text     string `json:"text"`
	Passed   bool   `json:"passed"`
	Evidence string `json:"evidence,omitempty"`
	Grader   string `json:"grader,omitempty"`
	// Excused is true of a failed member of a composite that passed and does not need it: mode any, or a share of
	// members.
	Excused bool `json:"excused,omitempty"`
	// Spans are the pieces of the turn's output on which the assertion was decided: pairs of code points, the second
	// not in the piece.
	Spans [][2]int `json:"spans,omitempty"`
	// Score is between 0 and 1, nil when the grader only decides passed or not.
	Score *float64 `json:"score,omitempty"`
	// Votes are the scores, between 0 and 1 and before any negation, that a judge gave when it was asked several times
	// (judge.samples). A vote that is missing is nil.
	Votes []*float64 `json:"votes,omitempty"`
	// Voters say of each vote who gave it, and why.
	Voters []Voter `json:"voters,omitempty"`
}

// NotCalled is the evidence of an assertion on which a judge would have decided, had not a deterministic check failed
// before.
const NotCalled = "not asked: a deterministic check had already failed"

// Voter is one of several asks of a judge: a model of a panel, or the same model again.
type Voter struct {
	Model string `json:"model"`
	// Score is between 0 and 1, nil where the vote is missing; Missing says why.
	Score     *float64 `json:"score"`
	Reasoning string   `json:"reasoning,omitempty"`
	Missing   string   `json:"missing,omitempty"`
}

// JudgeUse is the usage of a judge: calls, cache hits, tokens and cost.
type JudgeUse struct {
	Calls     int        `json:"calls"`
	CacheHits int        `json:"cache_hits"`
	Usage     chat.Usage `json:"usage"`
	Cost      chat.Cost  `json:"cost_usd"`
	// Models has the use of each model where a judge has several; the numbers above are their sum.
	Models map[string]JudgeUse `json:"models,omitempty"`
}

// Add returns the sum of two uses.
func (j JudgeUse) Add(k JudgeUse) JudgeUse {
	sum := JudgeUse{
		Calls: j.Calls + k.Calls, CacheHits: j.CacheHits + k.CacheHits, Usage: j.Usage.Add(k.Usage),
		Cost: j.Cost.Add(k.Cost), Models: j.Models,
	}
	if len(k.Models) > 0 {
		sum.Models = maps.Clone(k.Models)
		for name, use := range j.Models {
			sum.Models[name] = use.Add(sum.Models[name])
		}
	}
	return sum
}

// By returns the use as that of one model of several.
func (j JudgeUse) By(model string) JudgeUse {
	j.Models = map[string]JudgeUse{model: j}
	return j
}

// Grade is what one grader found. Score is between 0 and 1.
type Grade struct {
	Score      float64
	Assertions []Assertion
	// Code and Source are recorded when the grade is a failure; Reason completes the message.
	Code   Code
	Source string
	Reason string
	// Zero makes the score of the turn, or of the composite that holds the grader, 0: a required criterion failed.
	Zero bool
	// Also are failures to be listed beside the grade's own, without their turn.
	Also  []Failure
	Judge JudgeUse
}

// Score is one scored item of a test: a turn, or the conversation's own assertions.
type Score struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Score is between 0 and 1. An item with the verdict Error has none: its JSON has null.
	Score      float64     `json:"score"`
	Verdict    Verdict     `json:"verdict"`
	Weight     float64     `json:"weight,omitempty"`
	Assertions []Assertion `json:"assertions"`
	Failures   []Failure   `json:"failures,omitempty"`
	// PartialTranscript is true when conversation assertions saw a conversation that on_turn_failure: stop had cut
	// short.
	PartialTranscript bool `json:"partial_transcript,omitempty"`
}

// MarshalJSON writes null for the score of an item that was not graded.
func (s Score) MarshalJSON() ([]byte, error) {
	type plain Score
	if s.Verdict != Error {
		return json.Marshal(plain(s))
	}
	return json.Marshal(struct {
		plain
		Score *float64 `json:"score"`
	}{plain: plain(s)})
}

// Milliseconds is a time; NaN, and null in JSON, is one that is unknown.
type Milliseconds float64

// Known reports whether the time is known.
func (m Milliseconds) Known() bool { return !math.IsNaN(float64(m)) }

// MarshalJSON writes a number, or null for a time that is unknown.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	if !m.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(m))
}

// UnmarshalJSON reads a number, or null for a time that is unknown.
func (m *Milliseconds) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = Milliseconds(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(m))
}

// Turn is what happened in one exchange. Index counts from 1.
type Turn struct {
	Index int `json:"index"`
	// TurnID is the author's name of the turn, if it has one.
	TurnID    string          `json:"turn_id,omitempty"`
	Input     chat.Content    `json:"input"`
	Output    string          `json:"output"`
	LatencyMS Milliseconds    `json:"latency_ms"`
	Attempts  int             `json:"attempts"`
	ToolCalls []chat.ToolCall `json:"tool_calls,omitempty"`
	Node      string          `json:"node,omitempty"`
	State     json.RawMessage `json:"state,omitempty"`
	Usage     chat.Usage      `json:"usage"`
	Cost      chat.Cost       `json:"cost_usd"`
	TraceID   string          `json:"trace_id,omitempty"`
	// FinishReason says why the model stopped: stop, length, tool_calls, content_filter or other; empty when it did not
	// say.
	FinishReason string `json:"finish_reason,omitempty"`
	// FirstTextMS is the time to the first text of a streamed answer.
	FirstTextMS float64 `json:"first_text_ms,omitempty"`
	// Requests counts the requests to a model that used tools.
	Requests int `json:"requests,omitempty"`
}

// Sampling has the sampling parameters of the target's model.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Seed        *int     `json:"seed,omitempty"`
}

// Test is the record of one conversation, or the aggregate over its trials when Trials is set.
type Test struct {
	Schema int    `json:"schema"`
	RunID  string `json:"run_id"`
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	// Trial counts from 1; 0 on a test without trials and on an aggregate.
	Trial  int    `json:"trial,omitempty"`
	Target string `json:"target"`
	// ConversationID is the conversation's own, new for each trial. SessionID is the one that the agent knows it by.
	ConversationID string `json:"conversation_id,omitempty"`
	SessionID      string `json:"session_id,omitempty"`
	// EndedByAgent is true when the agent ended the conversation; the turns that were left are skipped.
	EndedByAgent bool    `json:"ended_by_agent,omitempty"`
	Score        float64 `json:"score"`
	// GradedScore aggregates, as Score does, only the items that graded something; nil when none did, and in records of
	// earlier versions.
	GradedScore *float64 `json:"graded_score"`
	Verdict     Verdict  `json:"verdict"`
	// SkipReason is why a skipped test was not run, or how its simulated user spoiled it.
	SkipReason string `json:"skip_reason,omitempty"`
	// Threshold is the score that Score and GradedScore must both reach for the verdict pass.
	Threshold float64 `json:"threshold"`
	// Strict is true where one failed check fails the test.
	Strict bool `json:"strict,omitempty"`
	// Required is true where the fall of this test alone fails the regression gate.
	Required bool `json:"required,omitempty"`
	// Cluster names the tests whose outcomes may depend on each other, within the suite; empty for a test that is a
	// cluster of its own.
	Cluster string `json:"cluster,omitempty"`
	// Definition is a hash of what the author wrote: turns, input, state, assertions and the files they name. It does
	// not depend on threshold, strictness, trials, target or judge. Empty in records of earlier versions.
	Definition      string         `json:"definition,omitempty"`
	ExecutionStatus Status         `json:"execution_status"`
	Scores          []Score        `json:"scores"`
	Output          []chat.Message `json:"output"`
	Turns           []Turn         `json:"turns"`
	Failures        []Failure      `json:"failures"`
	Usage           chat.Usage     `json:"usage"`
	Cost            chat.Cost      `json:"cost_usd"`
	DurationMS      float64        `json:"duration_ms"`
	StartedAt       time.Time      `json:"started_at"`
	Judge           JudgeUse       `json:"judge"`
	// Attempts are there when the conversation was held more than once, because workers were lost; the last one counts.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Artifacts is what was kept of the conversation, where it was asked for.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// User is there when a model wrote messages of the user. Neither Usage nor Cost has its part in it.
	User     *User     `json:"user,omitempty"`
	Trials   *Trials   `json:"trials,omitempty"`
	Sampling *Sampling `json:"sampling,omitempty"`
	// Fingerprint is a hash of everything that decided the record. A resumed run keeps the record while the hash is the
	// plan's.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Source is where the test was written; nil for a test that was made by the program.
	Source *Source `json:"source,omitempty"`
	// Quarantined has the terms of the test's quarantine while it holds: the verdict then decides nothing.
	Quarantined *quarantine.Terms `json:"quarantined,omitempty"`
	// Position is the place of the test in the run, from 1, the same with every target: suites as given, tests as in
	// their file. 0 is not known.
	Position int            `json:"position,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Trials summarises the trials of one test.
type Trials struct {
	Count int `json:"count"`
	// Planned is how many the run set out to run; 0 in records of earlier versions. Early stopping and a cost limit
	// leave Count below it.
	Planned  int    `json:"planned,omitempty"`
	Passed   int    `json:"passed"`
	Strategy string `json:"strategy"`
	// Scores are those of the trials that no simulated user spoiled.
	Scores []float64 `json:"scores"`
	// Interval is the 95 % Wilson interval of the pass rate. It, PassHatK and PassAtK are over the trials that could be
	// graded.
	Interval [2]float64 `json:"interval"`
	// PassHatK[k-1] estimates the chance that k trials all pass, PassAtK[k-1] the chance that at least one of k passes;
	// nil where trials stop at the first pass.
	PassHatK []float64 `json:"pass_hat_k"`
	PassAtK  []float64 `json:"pass_at_k"`
	// Class is stable_pass, stable_fail or flaky; empty, and null in JSON, when trials stop at the first pass, and when
	// a trial could not be graded and the others do not differ.
	Class Class `json:"class"`
	// Attribution says what varies; nil where nothing does, or nobody asked.
	Attribution *Attribution `json:"attribution,omitempty"`
}

// EarlyStrategy is the strategy whose trials stop at the first pass.
const EarlyStrategy = "pass_at_k"

// Early reports whether the trials stop at the first pass.
func (t *Trials) Early() bool { return t.Strategy == EarlyStrategy }

// Class says how stable the outcome of a test is.
type Class string

// MarshalJSON writes null for an empty class.
func (c Class) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(c))
}

// Attempt is one time that a conversation was held.
type Attempt struct {
	// N counts from 1.
	N int `json:"n"`
	// Code is why it does not count; empty for the one that does.
	Code    Code   `json:"code"`
	Message string `json:"message,omitempty"`
	// StartedAt and DurationMS are nil where they are not known.
	StartedAt  *time.Time `json:"started_at"`
	DurationMS *float64   `json:"duration_ms"`
}

// WorkerLost is the code of an attempt whose worker was not heard of again, or gave the conversation back before its
// end.
const WorkerLost Code = "WORKER_LOST"

// Key identifies a record within a run. A later record with the same key replaces it.
type Key struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
	Trial  int    `json:"trial,omitempty"`
}

// Key returns the record's key.
func (t *Test) Key() Key { return Key{t.Suite, t.TestID, t.Target, t.Trial} }
