package runindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Row is what the index keeps of one record: all that lists, filters and figures need, and where the record stands in
// the log.
type Row struct {
	result.Key
	Verdict   result.Verdict
	Score     float64
	Threshold float64
	// Graded is the graded score. It, Strict, Definition, Cluster and Required decide how the test is compared.
	Graded *float64
	// CheckFailed is true where a check failed.
	CheckFailed bool
	Strict      bool
	Required    bool
	Cluster     string
	Definition  string
	DurationMS  float64
	StartedAt   time.Time
	Turns       int
	// Placed is true where a turn says at which node of a flow it was.
	Placed bool
	// LatencyMS is the sum over the turns; NaN if that of one is unknown.
	LatencyMS float64
	// Print tells what decided the record from anything else; 0 where the record does not say.
	Print  uint64
	Usage  chat.Usage
	Cost   chat.Cost
	Judge  result.JudgeUse
	User   *result.User
	Trials *result.Trials
	// Failures has the code of each failure of the record, Codes each code once with those of its items, in their order
	// of precedence.
	Failures []result.Code
	Codes    []result.Code
	Tags     []string
	// Quarantined has the terms of the test's quarantine; nil for a test that counts.
	Quarantined *quarantine.Terms
	// Position is the place of the test in the run, from 1; 0 is not known.
	Position int
	// Graders are those that decided something, each once.
	Graders []string
	// Reason is the first failure, or why the test was skipped, in a line; empty where nothing went wrong.
	Reason string

	// inOrder is true of a record whose fields stand in their order, each once, as this program writes them.
	inOrder bool
	start   int64
	length  int
	// sum is that of the line's bytes.
	sum uint64
	// number is the row's in the lexicon.
	number int
}

// maxReason bounds what the index keeps of a failure's message, in characters.
const maxReason = 240

// rowOf returns the row of a record whose line begins at start.
func rowOf(t *result.Test, start int64, length int) Row {
	r := Row{
		Key: t.Key(), Verdict: t.Verdict, Score: t.Score, Threshold: t.Threshold,
		Graded: t.GradedScore, CheckFailed: t.FailedChecks().Failed > 0, Strict: t.Strict, Required: t.Required,
		Cluster: t.Cluster, Definition: t.Definition, DurationMS: t.DurationMS, StartedAt: t.StartedAt,
		Turns: len(t.Turns), Usage: t.Usage, Cost: t.Cost, Judge: t.Judge, User: t.User, Trials: t.Trials,
		Codes: t.Codes(), Tags: t.Tags, Position: t.Position, Quarantined: t.Quarantined, Reason: reasonOf(t),
		start: start, length: length,
	}
	for _, f := range t.Failures {
		r.Failures = append(r.Failures, f.Code)
	}
	for i := range t.Turns {
		r.LatencyMS += float64(t.Turns[i].LatencyMS)
		r.Placed = r.Placed || t.Turns[i].Node != "" || bytes.Contains(t.Turns[i].State, []byte(`"current_node_id"`))
	}
	if t.Fingerprint != "" {
		sum := sha256.Sum256([]byte(t.Fingerprint))
		r.Print = binary.BigEndian.Uint64(sum[:])
	}
	for _, s := range t.Scores {
		for _, a := range s.Assertions {
			if a.Grader != "" && !slices.Contains(r.Graders, a.Grader) {
				r.Graders = append(r.Graders, a.Grader)
			}
		}
	}
	return r
}

// reasonOf says in a line what went wrong.
func reasonOf(t *result.Test) string {
	if t.Verdict == result.Skip {
		return strings.Clone(text.OneLine(t.SkipReason, maxReason))
	}
	for _, f := range t.Failures {
		if f.Message != "" {
			return strings.Clone(text.OneLine(f.Message, maxReason))
		}
	}
	return ""
}

// Class says how the trials of a test came out: stable_pass, stable_fail or flaky; empty without trials.
func (r *Row) Class() string {
	if r.Trials == nil {
		return ""
	}
	return string(r.Trials.Class)
}

// Tokens are those of the target and of the judge.
func (r *Row) Tokens() chat.Usage { return r.Usage.Add(r.Judge.Usage) }

// counted returns a record with what counts of a row, for result.Tallies.
func (r *Row) counted(turns []result.Turn) *result.Test {
	t := &result.Test{
		Suite: r.Suite, TestID: r.TestID, Target: r.Target, Trial: r.Trial, Verdict: r.Verdict, Score: r.Score,
		Usage: r.Usage, Cost: r.Cost, Judge: r.Judge, User: r.User, Trials: r.Trials, Turns: turns[:r.Turns],
		Quarantined: r.Quarantined, Tags: r.Tags, Cluster: r.Cluster,
	}
	if r.CheckFailed {
		t.Scores = []result.Score{{Assertions: []result.Assertion{{}}}}
	}
	for _, code := range r.Failures {
		t.Failures = append(t.Failures, result.Failure{Code: code})
	}
	return t
}

// words keeps one copy of each text that many rows have in common.
type words map[string]string

// of returns the copy of a text.
func (w words) of(s string) string {
	if kept, ok := w[s]; ok {
		return kept
	}
	s = strings.Clone(s)
	w[s] = s
	return s
}

// intern makes a row use shared copies.
func (w words) intern(r *Row) {
	r.Suite, r.Target, r.Verdict = w.of(r.Suite), w.of(r.Target), result.Verdict(w.of(string(r.Verdict)))
	for _, list := range [][]string{r.Tags, r.Graders} {
		for i := range list {
			list[i] = w.of(list[i])
		}
	}
	for _, list := range [][]result.Code{r.Failures, r.Codes} {
		for i := range list {
			list[i] = result.Code(w.of(string(list[i])))
		}
	}
}
