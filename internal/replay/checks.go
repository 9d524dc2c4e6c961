package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Checks are the assertions that each variant's conversations must meet: all of them, since a replay is strict. The
// zero value has none; then a conversation must end as the logged one did.
type Checks struct {
	// Assertions grade a whole conversation, EveryTurn each of its turns.
	Assertions, EveryTurn []suite.Assertion
	// Grading makes the graders; nil only without assertions.
	Grading runner.Grading
}

// any reports whether there is an assertion.
func (c *Checks) any() bool { return len(c.Assertions)+len(c.EveryTurn) > 0 }

// Test returns a session as a test whose user sends up to turns messages.
func (c *Checks) Test(flow, session, unit string, turns int) *suite.Test {
	return &suite.Test{
		Suite: flow, ID: session, Conversation: true, User: &suite.User{MaxTurns: turns}, Cluster: unit,
		Assertions: c.Assertions, EveryTurn: c.EveryTurn, Execution: suite.Execution{Strict: new(true)},
	}
}

// conclude completes the records of a pair's variants, in the order of the variants and with their names as targets,
// and notes in each variant how its conversation met the assertions. A variant that failed has a record without a
// grade. A record that is missing is made of the variant's turns.
func (c *Checks) conclude(p *Pair, records []*result.Test) []*result.Test {
	all := make([]*result.Test, 0, len(p.Variations)-1)
	for i := range p.Variations[1:] {
		v := &p.Variations[i+1]
		var t *result.Test
		if i < len(records) && records[i] != nil {
			t = records[i]
		} else {
			t = v.remade(p)
		}
		t.Target, t.Trial, t.Cluster = v.Name, p.Repeat, p.UnitID
		t.SessionID = p.SessionID // the logged one, by which a session is erased
		switch {
		case v.Error != "":
			t.Score, t.GradedScore, t.Verdict, t.ExecutionStatus = 0, nil, result.Error, result.ExecutionError
			if len(t.Failures) == 0 {
				t.Failures = []result.Failure{{
					Code: result.EngineError, Source: "orchestrator", Message: cmp.Or(p.Dropped, v.Error),
				}}
			}
		case !c.any() && t.Verdict == result.Ungraded:
			endsAsLogged(t, p, v)
		}
		if c.any() {
			v.Verdict = t.Verdict
		}
		all = append(all, t)
	}
	return all
}

// stored returns the records of a session that an earlier part of the run replayed.
func (c *Checks) stored(p *Pair, o *Outcome) []*result.Test {
	d := detail{Pair: &Pair{}}
	if err := json.Unmarshal(o.Detail, &d); err == nil && d.Records != nil {
		return d.Records
	}
	var all []*result.Test
	for _, time := range p.Times() {
		all = append(all, c.conclude(time, nil)...)
	}
	return all
}

// remade is the record of a variant's conversation as far as its turns have it.
func (v *Variation) remade(p *Pair) *result.Test {
	t := &result.Test{
		Schema: result.Schema, Suite: p.FlowID, TestID: p.SessionID, StartedAt: p.Started.UTC(), Strict: true,
		Threshold: suite.DefaultThreshold, Score: 1, Scores: []result.Score{}, Output: []chat.Message{},
		Turns: []result.Turn{}, Failures: []result.Failure{}, Verdict: cmp.Or(v.Verdict, result.Ungraded),
		ExecutionStatus: result.OK,
	}
	for i := range v.Turns {
		turn := &v.Turns[i]
		if turn.Untaken {
			continue
		}
		of := result.Turn{
			Index: len(t.Turns) + 1, Input: chat.Content{Text: turn.User}, Output: turn.Bot, Attempts: 1,
			Node: turn.State, Cost: turn.Cost, LatencyMS: result.Milliseconds(orNaN(turn.LatencyMS)),
		}
		t.Turns, t.Cost = append(t.Turns, of), t.Cost.Add(turn.Cost)
		t.Output = append(t.Output, chat.NewMessage(chat.User, turn.User), chat.NewMessage(chat.Assistant, turn.Bot))
		t.Scores = append(t.Scores, result.Score{
			Name: fmt.Sprintf("turn-%d", of.Index), Type: suite.Rubrics, Score: 1, Verdict: result.Pass,
			Assertions: []result.Assertion{},
		})
	}
	return t
}

// endsAsLogged grades a conversation without assertions by its end. It stays ungraded where one of the ends is not
// known.
func endsAsLogged(t *result.Test, p *Pair, v *Variation) {
	if v.Metrics == nil || v.Metrics.CompletionMatch == nil {
		return
	}
	match := *v.Metrics.CompletionMatch
	t.Scores = append(t.Scores, result.Score{
		Name: "assertions", Type: CompletionMatch, Score: match, Verdict: result.Pass,
		Assertions: []result.Assertion{{
			Text: "ends as the log did: " + p.Outcome, Passed: match == 1, Grader: CompletionMatch,
		}},
	})
	t.Score, t.GradedScore, t.Verdict, t.ExecutionStatus = match, new(match), result.Pass, result.OK
	if match < 1 {
		f := result.Failure{
			Code: result.NodeMismatch, Source: "structured",
			Message: "expected the conversation to end as logged (" + p.Outcome + "), and it ended otherwise",
		}
		last := &t.Scores[len(t.Scores)-1]
		last.Verdict, last.Failures = result.Fail, []result.Failure{f}
		t.Failures, t.Verdict, t.ExecutionStatus = append(t.Failures, f), result.Fail, result.QualityFailure
	}
}

// AssertionReport counts the conversations that met the run's assertions. Conversations of lost pairs count, too.
type AssertionReport struct {
	Candidate AssertionCounts  `json:"candidate"`
	Baseline  *AssertionCounts `json:"baseline"`
	// NewlyFailed are the sessions in which the baseline passed and the candidate did not, NewlyPassed the reverse.
	NewlyFailed []string `json:"newly_failed"`
	NewlyPassed []string `json:"newly_passed"`
}

// AssertionCounts are the conversations of one variant: Errors are those that could not be graded.
type AssertionCounts struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Errors int `json:"errors"`
}

func (c *AssertionCounts) add(v result.Verdict) {
	switch v {
	case result.Pass:
		c.Passed++
	case result.Fail:
		c.Failed++
	default:
		c.Errors++
	}
}

// severity orders verdicts: of several times that a session was replayed, the worst one counts.
var severity = map[result.Verdict]int{result.Pass: 1, result.Error: 2, result.Fail: 3}

// check counts how the conversations of a session met the assertions. One that failed in any of several times failed.
func (t *Tally) check(pairs []*Pair) {
	verdicts := map[string]result.Verdict{}
	for _, p := range pairs {
		for i := range p.Variations {
			v := &p.Variations[i]
			if severity[v.Verdict] > severity[verdicts[v.Name]] {
				verdicts[v.Name] = v.Verdict
			}
		}
	}
	candidate, baseline := verdicts[Candidate], verdicts[Baseline]
	if candidate == "" {
		return
	}
	if t.assertions == nil {
		t.assertions = &AssertionReport{NewlyFailed: []string{}, NewlyPassed: []string{}}
	}
	a, id := t.assertions, pairs[0].SessionID
	a.Candidate.add(candidate)
	if baseline == "" {
		return
	}
	if a.Baseline == nil {
		a.Baseline = &AssertionCounts{}
	}
	a.Baseline.add(baseline)
	switch {
	case baseline == result.Pass && candidate == result.Fail:
		a.NewlyFailed = append(a.NewlyFailed, id)
	case baseline == result.Fail && candidate == result.Pass:
		a.NewlyPassed = append(a.NewlyPassed, id)
	}
}

// words describe how the candidate's conversations met the assertions.
func (a *AssertionReport) words() string {
	n := a.Candidate.Passed + a.Candidate.Failed + a.Candidate.Errors
	if a.Candidate.Failed == 0 {
		return fmt.Sprintf("%d of %s of the candidate could not be graded by the assertions", a.Candidate.Errors,
			text.Plural(n, "conversation"))
	}
	words := fmt.Sprintf("%d of %s of the candidate fail an assertion", a.Candidate.Failed,
		text.Plural(n, "conversation"))
	if a.Baseline != nil {
		words += fmt.Sprintf(" (the baseline: %d), %d newly", a.Baseline.Failed, len(a.NewlyFailed))
	}
	return words
}

// decide applies the assertions to a gate's outcome: NotPassed where a conversation of the candidate fails one, and
// Underpowered where one could not be graded.
func (a *AssertionReport) decide(g *Gate) {
	outcome, begin := NotPassed, "Not passed: "
	switch {
	case a.Candidate.Failed > 0:
	case a.Candidate.Errors > 0 && (g.Outcome == Passed || g.Outcome == Underpowered):
		outcome, begin = Underpowered, "Cannot say: "
	default:
		return
	}
	headline := begin + a.words()
	if rest, same := strings.CutPrefix(g.Headline, begin); same {
		headline += "; " + rest
	}
	g.Reasons = append([]Reason{{"assertions", "", a.words()}}, g.Reasons...)
	if g.Outcome == Passed { // its reasons to pass are none
		g.Reasons = g.Reasons[:1]
	}
	g.Outcome, g.ExitCode, g.Headline = outcome, outcome.ExitCode(), headline
	switch {
	case len(a.NewlyFailed) > len(a.NewlyPassed):
		g.Verdict = stats.Worse
	case g.Verdict == stats.Better || g.Verdict == stats.NonInferior:
		g.Verdict = stats.Inconclusive
	}
}

// Regressed reports whether the candidate did worse than the baseline at any of the times that the session was
// replayed: it did not end as logged where the baseline did, did not complete what the baseline completed, failed
// assertions that the baseline met, or failed altogether. Without a baseline the log is what it is compared with.
func (p *Pair) Regressed() bool {
	for _, time := range p.Times() {
		candidate, baseline := time.Variation(Candidate), time.Variation(Baseline)
		if candidate == nil {
			continue
		}
		was := Variation{Verdict: result.Pass, Metrics: &Metrics{CompletionMatch: new(1.0), Completed: new(1.0)}}
		if p.Outcome != EndCompleted {
			was.Metrics.Completed = nil
		}
		if baseline != nil {
			was = *baseline
		}
		switch {
		case was.Error != "":
			continue
		case candidate.Error != "", candidate.Verdict == result.Fail && was.Verdict == result.Pass:
			return true
		}
		if was.Metrics == nil || candidate.Metrics == nil {
			continue
		}
		for _, of := range []func(*Metrics) *float64{
			func(m *Metrics) *float64 { return m.CompletionMatch }, func(m *Metrics) *float64 { return m.Completed },
		} {
			if before, now := of(was.Metrics), of(candidate.Metrics); before != nil && now != nil && *now < *before {
				return true
			}
		}
	}
	return false
}
