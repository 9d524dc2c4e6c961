// Package transcript is a conversation as pages show it: what was said, called, changed and found, turn by turn, with
// the pieces marked on which graders decided. The pages of the browser and report.html are made of the same pieces.
package transcript

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Source has the templates talk, which precedes the turns, and end. They need Functions and those of the page.
//
//go:embed transcript.html.tmpl
var Source string

// Style is the style sheet of the templates, beside that of the page.
//
//go:embed transcript.css
var Style string

// rounded returns a score that an attribute has exactly, as people read it.
func rounded(exact string) string {
	score, err := strconv.ParseFloat(exact, 64)
	if err != nil { // there is none
		return exact
	}
	return text.Score(score, 2)
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
	Prefix      string
	Trial       int
	Verdict     result.Verdict
	Score       string
	Failures    []result.Failure // that belong to no turn
	Further     int              // failures of that kind that are left out
	Earlier     []Message
	EarlierLeft int // earlier messages left out, the first ones
	Turns       []Turn
	Left        int // turns left out
	// LeftFrom is the turn from which on others were left out to keep the page small, 0 without one; LeftAt is where
	// they are shown.
	LeftFrom            int
	LeftAt              string
	ConversationItems   []Item
	ConversationVerdict result.Verdict
	Reason              string // why it was skipped
	Facts               []Fact
	Metadata            string
	Judge               []Exchange // about the whole conversation
}

// Fact is a fact about a record or a turn, such as its latency.
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
	// CallsLeft, StateLeft and LearnedLeft count what is left out.
	CallsLeft, StateLeft, LearnedLeft int

	State     []Change
	Learned   []Change
	StateJSON string // the state after the turn
	Item      *Item
	Judge     []Exchange
}

// Exchange is the prompt and the answer of a judge, as far as the run stored them.
type Exchange struct{ Prompt, Reply string }

// ToolCall is a use of a tool.
type ToolCall struct{ Name, Args, Result, Took string }

// Limits of one transcript.
const (
	maxTurns   = 300
	maxCalls   = 100
	maxEarlier = 200
	maxJSON    = 20_000
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
			k.ConversationItems = append(k.ConversationItems, i)
			k.ConversationVerdict = worst(k.ConversationVerdict, i.Verdict)
			continue
		}
		items[n] = itemOf(s)
	}
	var before result.Turn
	told := decisiveTurns(t)
	for i, x := range t.Turns {
		of, graded := items[x.Index]
		delete(items, x.Index)
		if !told[i] {
			k.Left++
		} else {
			shown := turnOf(x, before, of, said)
			if graded {
				shown.Item, shown.Verdict, shown.Score = &of, of.Verdict, of.Score
			}
			shown.ID, shown.Row = k.id(x.Index), rowOf(x.Index)
			k.Turns = append(k.Turns, shown)
		}
		if len(x.State) > 0 { // a turn without a state has left the one before it
			before = x
		}
	}
	k.unheld(items)
	k.Failures, k.Further = unplaced(t)
	earlier := Earlier(t)
	k.EarlierLeft = max(0, len(earlier)-maxEarlier)
	for _, m := range earlier[k.EarlierLeft:] {
		k.Earlier = append(k.Earlier, MessageOf(string(m.Role), m.Content, nil, said))
	}
	return k
}

func (k *Transcript) id(turn int) string { return fmt.Sprintf("%sturn-%d", k.Prefix, turn) }

// rowOf returns the row of a turn beside other trials; 0, which has no style, lets the browser place it.
func rowOf(turn int) int {
	if turn > maxTurns {
		return 0
	}
	return turn + 1
}

// decisiveTurns reports of each turn whether it is shown: all of a conversation of usual length. Of a longer one the
// turns that did not pass come first, then those from the beginning on.
func decisiveTurns(t *result.Test) []bool {
	told := make([]bool, len(t.Turns))
	left := maxTurns
	choose := func(fits func(index int) bool) {
		for i, x := range t.Turns {
			if left > 0 && !told[i] && fits(x.Index) {
				told[i] = true
				left--
			}
		}
	}
	if len(t.Turns) > maxTurns {
		bad := map[int]bool{}
		for _, s := range t.Scores {
			bad[turnNumber(s.Name)] = s.Verdict == result.Fail || s.Verdict == result.Error
		}
		choose(func(n int) bool { return bad[n] })
	}
	choose(func(int) bool { return true })
	return told
}

// unheld adds the turns that have a grade and no exchange, as far as there is room: the agent did not answer, or they
// were skipped.
func (k *Transcript) unheld(items map[int]Item) {
	for _, n := range slices.Sorted(maps.Keys(items)) {
		i := items[n]
		if len(k.Turns) >= 2*maxTurns {
			k.Left++
			continue
		}
		k.Turns = append(k.Turns, Turn{
			N: n, Row: rowOf(n), ID: k.id(n), Verdict: i.Verdict, Score: i.Score, Item: &i,
			NoReply: i.Verdict == result.Error,
		})
	}
	slices.SortFunc(k.Turns, func(a, b Turn) int { return a.N - b.N })
}
