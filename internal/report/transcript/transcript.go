// Package transcript is a conversation as pages show it: what was said, called, changed and found, turn by turn, with the pieces marked on which
// graders decided. The pages of the browser and report.html are made of the same pieces.
package transcript

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"rehearse/internal/result"
	"rehearse/internal/text"
)

// Source holds the templates: said, fault, graded, delta, talk, judged, exchange and end. They need Functions and those of the page.
//
//go:embed transcript.html.tmpl
var Source string

// Style is the style sheet of the templates, beside that of the page.
//
//go:embed transcript.css
var Style string

// Functions are what the templates call beside the page's own.
func Functions() template.FuncMap {
	return template.FuncMap{
		"delta": func(name string, rows []Change) changed { return changed{name, rows} }, "known": known,
	}
}

// changed is what a turn changed of something.
type changed struct {
	Name string
	Rows []Change
}

// known writes a number that may be unknown.
func known(x *float64) string {
	if x == nil {
		return ""
	}
	return number(*x)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Style of messages.
const (
	Rendered Messages = iota // as Markdown
	Raw                      // the characters
	Both                     // as Markdown, with the characters folded where they differ
)

// Messages says how messages are shown.
type Messages int

// Transcript is one record of a conversation.
type Transcript struct {
	// Prefix begins the ids of its turns, such as turn-1, and of the assertions about the whole.
	Prefix       string
	Trial        int
	Verdict      result.Verdict
	Score        string
	Failures     []result.Failure // that belong to no turn
	Earlier      []Message
	Turns        []Turn
	Left         int // turns left out
	Whole        []Item
	WholeVerdict result.Verdict
	Reason       string // why it was skipped
	Facts        []Fact
	Metadata     string
	Judge        []Exchange // about the whole conversation
}

// Fact is something that is known beside what was said.
type Fact struct{ Name, Value string }

// Turn is an exchange with its grades. ID is its anchor, Row its place beside other trials.
type Turn struct {
	N, Row  int
	ID      string
	Verdict result.Verdict
	Score   string
	User    Message
	Reply   Message
	NoReply bool
	Calls   []ToolCall
	Facts   []Fact
	State   []Change
	Learned []Change
	Whole   string // the state after the turn
	Item    *Item
	Judge   []Exchange
}

// Exchange is what a judge was sent and what it answered, as far as the run kept them.
type Exchange struct{ Prompt, Reply string }

// ToolCall is a use of a tool.
type ToolCall struct{ Name, Args, Result, Took string }

// Limits of one transcript.
const (
	maxTurns = 300
	maxCalls = 100
	maxJSON  = 20_000
)

// Of returns a record as pages show it; prefix begins its ids.
func Of(t *result.Test, prefix string, said Messages) Transcript {
	k := Transcript{
		Prefix: prefix, Trial: t.Trial, Verdict: t.Verdict, Score: scoreOf(t.Verdict, t.Score), Facts: factsOf(t),
		Metadata: Pretty(t.Metadata), Reason: text.OneLine(t.SkipReason, 600),
	}
	items := map[int]Item{}
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
		shown := turnOf(x, before, items[x.Index], said)
		if i, ok := items[x.Index]; ok {
			shown.Item, shown.Verdict, shown.Score = &i, i.Verdict, i.Score
			delete(items, x.Index)
		}
		shown.ID, shown.Row = k.id(x.Index), rowOf(x.Index)
		k.Turns = append(k.Turns, shown)
		before = x
	}
	k.Left = len(t.Turns) - len(k.Turns)
	k.unheld(items)
	k.Failures = unplaced(t)
	for _, m := range Earlier(t) {
		k.Earlier = append(k.Earlier, MessageOf(string(m.Role), m.Content, nil, said))
	}
	return k
}

func (k *Transcript) id(turn int) string { return fmt.Sprintf("%sturn-%d", k.Prefix, turn) }

func rowOf(turn int) int { return min(turn, maxTurns) + 1 }

// unheld adds the turns that have a grade and no exchange: the agent did not answer, or they were skipped.
func (k *Transcript) unheld(items map[int]Item) {
	for n, i := range items {
		k.Turns = append(k.Turns, Turn{
			N: n, Row: rowOf(n), ID: k.id(n), Verdict: i.Verdict, Score: i.Score, Item: &i, NoReply: i.Verdict == result.Error,
		})
	}
	slices.SortFunc(k.Turns, func(a, b Turn) int { return a.N - b.N })
}
