package view

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/report"
	"rehearse/internal/report/prose"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// talk is one record of a conversation as a page shows it.
type talk struct {
	// Column is the place of a trial among those that stand side by side, from 1.
	Column, Trial int
	Verdict       result.Verdict
	Score         string
	Failures      []result.Failure // that belong to no turn
	Earlier       []message
	Turns         []turn
	Left          int
	Whole         []item
	WholeVerdict  result.Verdict
	Reason        string
	Facts         []fact
	Metadata      string
	Judge         []exchange // about the whole conversation
}

type fact struct{ Name, Value string }

// message is what somebody said.
type message struct {
	Role   string
	Parts  []part
	Silent bool
}

// part is a text of a message: its beginning, and what is folded.
type part struct {
	Head, Folded template.HTML
	FoldedLen    int
	// Left counts the characters that are not on the page.
	Left  int
	Image template.URL
}

// turn is an exchange with its grades. ID is its anchor.
type turn struct {
	N, Row  int
	ID      string
	Verdict result.Verdict
	Score   string
	User    message
	Reply   message
	NoReply bool
	Calls   []toolCall
	Facts   []fact
	State   []deltaRow
	Learned []deltaRow
	Whole   string // the state after the turn
	Item    *item
	Judge   []exchange
}

// exchange is what a judge was sent and what it answered, as far as the run kept them.
type exchange struct{ Prompt, Reply string }

type toolCall struct{ Name, Args, Result, Took string }

// item is a scored part: what was asserted, and what was found.
type item struct {
	Name       string
	Verdict    result.Verdict
	Score      string
	Assertions []result.Assertion
	Failures   []result.Failure
	Left       int
	Partial    bool
}

// Limits of one page.
const (
	maxTurns      = 300
	maxCalls      = 100
	maxAssertions = 300
	maxJSON       = 20_000
)

// talkOf returns a record as a page shows it; column is its place from 0.
func talkOf(t *result.Test, column int, raw bool) talk {
	k := talk{
		Column: column + 1, Trial: t.Trial, Verdict: t.Verdict, Score: scoreOf(t.Verdict, t.Score), Facts: factsOf(t),
		Metadata: pretty(t.Metadata), Reason: text.OneLine(t.SkipReason, 600),
	}
	items := map[int]item{}
	for _, s := range t.Scores {
		n := turnNumber(s.Name)
		if n == 0 {
			i := itemOf(s)
			k.Whole = append(k.Whole, i)
			k.WholeVerdict = worst(k.WholeVerdict, i.Verdict)
			continue
		}
		items[n] = itemOf(s)
	}
	var before result.Turn
	for _, x := range t.Turns[:min(len(t.Turns), maxTurns)] {
		shown := turnOf(x, before, items[x.Index], raw)
		if i, ok := items[x.Index]; ok {
			shown.Item, shown.Verdict, shown.Score = &i, i.Verdict, i.Score
			delete(items, x.Index)
		}
		shown.ID = fmt.Sprintf("turn-%d", x.Index)
		if column > 0 {
			shown.ID = fmt.Sprintf("trial-%d-turn-%d", t.Trial, x.Index)
		}
		shown.Row = min(x.Index, maxTurns) + 1
		k.Turns = append(k.Turns, shown)
		before = x
	}
	k.Left = len(t.Turns) - len(k.Turns)
	k.unheld(items, column, t.Trial)
	k.Failures = unplaced(t)
	for _, m := range report.Earlier(t) {
		k.Earlier = append(k.Earlier, messageOf(string(m.Role), m.Content, nil, raw))
	}
	return k
}

// unheld adds the turns that have a grade and no exchange: the agent did not answer, or they were skipped.
func (k *talk) unheld(items map[int]item, column, trial int) {
	for n, i := range items {
		t := turn{N: n, Row: min(n, maxTurns) + 1, ID: fmt.Sprintf("turn-%d", n), Verdict: i.Verdict, Score: i.Score, Item: &i, NoReply: i.Verdict == result.Error}
		if column > 0 {
			t.ID = fmt.Sprintf("trial-%d-turn-%d", trial, n)
		}
		k.Turns = append(k.Turns, t)
	}
	slices.SortFunc(k.Turns, func(a, b turn) int { return a.N - b.N })
}

// worst returns the verdict of two items together.
func worst(a, b result.Verdict) result.Verdict {
	for _, v := range []result.Verdict{result.Error, result.Fail, result.Pass, result.Skip} {
		if a == v || b == v {
			return v
		}
	}
	return b
}

// turnNumber returns the turn of an item such as turn-3; 0 for the conversation's own.
func turnNumber(name string) (n int) {
	if _, err := fmt.Sscanf(name, "turn-%d", &n); err != nil || n < 1 {
		return 0
	}
	return n
}

// unplaced returns the failures that no item has.
func unplaced(t *result.Test) (failures []result.Failure) {
	for _, f := range t.Failures {
		same := func(g result.Failure) bool { return g.Code == f.Code && g.Source == f.Source && g.Message == f.Message }
		if !slices.ContainsFunc(t.Scores, func(s result.Score) bool { return slices.ContainsFunc(s.Failures, same) }) {
			failures = append(failures, shownFailure(f))
		}
	}
	return failures
}

func shownFailure(f result.Failure) result.Failure {
	f.Code, f.Source, f.Message = result.Code(text.OneLine(string(f.Code), 40)), text.OneLine(f.Source, 80), text.OneLine(f.Message, 2_000)
	return f
}

func turnOf(x, before result.Turn, of item, raw bool) turn {
	t := turn{
		N: x.Index, User: messageOf("user", x.Input, nil, raw), Reply: messageOf("assistant", chat.Content{Text: x.Output}, marksOf(of.Assertions), raw),
		State: deltaOf(before.State, x.State), Learned: factsDelta(before.State, x.State), Whole: pretty(x.State),
	}
	t.NoReply = strings.TrimSpace(x.Output) == "" && slices.ContainsFunc(of.Failures, func(f result.Failure) bool {
		return f.Code == result.EngineError || f.Code == result.Timeout
	})
	for _, c := range x.ToolCalls[:min(len(x.ToolCalls), maxCalls)] {
		call := toolCall{Name: text.OneLine(c.Name, 200), Args: pretty(c.Args), Result: pretty(c.Result)}
		if c.LatencyMS > 0 {
			call.Took = text.Milliseconds(c.LatencyMS)
		}
		t.Calls = append(t.Calls, call)
	}
	t.Facts = turnFacts(x)
	return t
}

func itemOf(s result.Score) item {
	i := item{Name: text.OneLine(s.Name, 100), Verdict: s.Verdict, Score: scoreOf(s.Verdict, s.Score), Partial: s.PartialTranscript, Left: max(0, len(s.Assertions)-maxAssertions)}
	for _, a := range s.Assertions[:len(s.Assertions)-i.Left] {
		a.Text, a.Grader = text.OneLine(a.Text, 1_000), text.OneLine(a.Grader, 80)
		i.Assertions = append(i.Assertions, a)
	}
	for _, f := range s.Failures {
		i.Failures = append(i.Failures, shownFailure(f))
	}
	return i
}

// marksOf are the pieces of a reply on which its assertions decided.
func marksOf(assertions []result.Assertion) (marks []prose.Mark) {
	for _, a := range assertions {
		for _, span := range a.Spans {
			marks = append(marks, prose.Mark{From: span[0], To: span[1], Grader: a.Grader})
		}
	}
	return marks
}
