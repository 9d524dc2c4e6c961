package report

import (
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/report/page"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// head is the line of a test, or of a trial, on the page.
type head struct {
	Verdict result.Verdict
	Name    string
	From    []string // suite and target
	Tags    []string
	// Score is empty for what could not be graded.
	Score string
	Codes []result.Code
	Took  string
	// Dots are the verdicts of its turns, or of its trials.
	Dots     []result.Verdict
	Trials   *result.Trials
	Bar      page.Bar
	Repeats  []repeat
	Failures []result.Failure
	Open     bool
}

// repeat is a column of the table of pass^k and pass@k.
type repeat struct {
	K       int
	Hat, At float64
}

// maxDots is how many turns a line shows as dots.
const maxDots = 24

// headOf returns the line of a test of which only the entry is at hand.
func headOf(e *entry) head {
	h := head{Verdict: e.verdict, Name: text.OneLine(e.test, 300), Codes: e.codes, Trials: e.trials, Failures: e.failures}
	for _, part := range []string{e.suite, e.target} {
		if part != "" {
			h.From = append(h.From, text.OneLine(part, 300))
		}
	}
	switch {
	case e.verdict.Graded():
		h.Score = score(e.score)
	case e.notRun:
		h.Score = word(e)
	}
	if e.durationMS > 0 {
		h.Took = text.Milliseconds(e.durationMS)
	}
	if t := e.trials; t != nil {
		if t.Count > 0 {
			h.Bar = page.BarOf(float64(t.Passed)/float64(t.Count), t.Interval)
		}
		for k := range min(len(t.PassHatK), len(t.PassAtK)) {
			// The first few, and the last: k trials are what was held.
			if k < 8 || k == len(t.PassHatK)-1 {
				h.Repeats = append(h.Repeats, repeat{k + 1, t.PassHatK[k], t.PassAtK[k]})
			}
		}
	}
	return h
}

// headOfRecord returns the line of a record: of the test, or of one of its trials.
func headOfRecord(t *result.Test) head {
	h := headOf(glance(t))
	if t.Trial > 0 {
		h.Name, h.From = fmt.Sprintf("Trial %d", t.Trial), nil
	}
	h.Failures = nil // they stand in the conversation
	for _, tag := range t.Tags {
		h.Tags = append(h.Tags, text.OneLine(tag, 40))
	}
	for _, s := range t.Scores[:min(len(t.Scores), maxDots)] {
		h.Dots = append(h.Dots, verdictOf(s))
	}
	return h
}

// conversation is one conversation on the page.
type conversation struct {
	Failures []result.Failure // that belong to no turn
	Earlier  []page.Utterance
	Turns    []turn
	Left     int // turns left out
	Whole    []item
	// Reason says why the test was skipped.
	Reason string
	// NotReached names the parts that were skipped.
	NotReached string
	Facts      []page.Fact
	Metadata   string
}

// turn is one exchange with its grades.
type turn struct {
	N       int
	Verdict result.Verdict
	User    page.Utterance
	Calls   []call
	Reply   page.Utterance
	NoReply bool
	Facts   []string
	State   string
	Item    *item
}

// item is a score with what it is made of.
type item struct {
	Name    string
	Verdict result.Verdict
	// Score is a number, or a word where there is none.
	Score      string
	Assertions []result.Assertion
	Failures   []result.Failure
	Left       int // assertions left out
	Partial    bool
}

// Limits of one conversation.
const (
	maxTurns      = 200
	maxAssertions = 200
)

func conversationOf(t *result.Test) conversation {
	c := conversation{
		Reason: text.OneLine(t.SkipReason, maxSentence), Metadata: pretty(t.Metadata), Facts: conversationFacts(t), NotReached: strings.Join(notReached(t), ", "),
	}
	turns := map[int]*turn{}
	of := func(n int) *turn {
		if turns[n] == nil {
			turns[n] = &turn{N: n, Verdict: result.Skip}
		}
		return turns[n]
	}
	for _, x := range t.Turns {
		of(x.Index).hold(x)
	}
	for _, s := range t.Scores {
		i, n := itemOf(s), turnOf(s.Name)
		switch {
		case s.Verdict == result.Skip && turns[n] == nil: // named by NotReached
		case n > 0:
			of(n).Item, of(n).Verdict = &i, i.Verdict
			of(n).NoReply = of(n).Reply.Empty() && slices.ContainsFunc(s.Failures, broke)
		default:
			c.Whole = append(c.Whole, i)
		}
	}
	for _, f := range t.Failures {
		if !slices.ContainsFunc(t.Scores, func(s result.Score) bool { return slices.ContainsFunc(s.Failures, sameAs(f)) }) {
			c.Failures = append(c.Failures, shown(f))
		}
	}
	for _, x := range turns {
		c.Turns = append(c.Turns, *x)
	}
	slices.SortFunc(c.Turns, func(a, b turn) int { return a.N - b.N })
	if c.Left = len(c.Turns) - maxTurns; c.Left > 0 {
		c.Turns = c.Turns[:maxTurns]
	}
	for _, m := range earlier(t) {
		c.Earlier = append(c.Earlier, page.UtteranceOf(string(m.Role), m.Content))
	}
	return c
}

func (t *turn) hold(x result.Turn) {
	t.User, t.Reply = page.UtteranceOf("user", x.Input), page.UtteranceOf("assistant", chat.Content{Text: x.Output})
	for _, c := range x.ToolCalls[:min(len(x.ToolCalls), 100)] {
		t.Calls = append(t.Calls, callOf(c))
	}
	t.State = pretty(x.State)
	if x.TurnID != "" {
		t.Facts = append(t.Facts, "id "+text.OneLine(x.TurnID, 100))
	}
	if cut := cutShort(x.FinishReason); cut != "" {
		t.Facts = append(t.Facts, cut)
	}
	if x.LatencyMS > 0 {
		t.Facts = append(t.Facts, text.Milliseconds(x.LatencyMS))
	}
	if x.Attempts > 1 {
		t.Facts = append(t.Facts, text.Plural(x.Attempts, "attempt"))
	}
	if n := x.Usage.Total(); n > 0 {
		t.Facts = append(t.Facts, text.Plural(n, "token"))
	}
	if cost := dollars(x.Cost); cost != "" && !x.Cost.Unknown {
		t.Facts = append(t.Facts, cost)
	}
	if x.Node != "" {
		t.Facts = append(t.Facts, "node "+text.OneLine(x.Node, 100))
	}
	if x.TraceID != "" {
		t.Facts = append(t.Facts, "trace "+text.OneLine(x.TraceID, 100))
	}
}

func itemOf(s result.Score) item {
	i := item{
		Name: text.Capital(text.OneLine(placeName(s.Name), 100)), Verdict: verdictOf(s), Score: score(s.Score), Partial: s.PartialTranscript,
		Left: max(len(s.Assertions)-maxAssertions, 0),
	}
	if !i.Verdict.Graded() {
		i.Score = page.VerdictWord(i.Verdict)
	}
	for _, a := range s.Assertions[:min(len(s.Assertions), maxAssertions)] {
		a.Text, a.Evidence, a.Grader = text.OneLine(a.Text, 600), text.OneLine(a.Evidence, 1_200), text.OneLine(a.Grader, 80)
		i.Assertions = append(i.Assertions, a)
	}
	for _, f := range s.Failures {
		if told(f, s.Assertions) {
			f.Message = ""
		}
		i.Failures = append(i.Failures, shown(f))
	}
	return i
}

func shown(f result.Failure) result.Failure {
	f.Code, f.Source, f.Message = result.Code(text.OneLine(string(f.Code), 40)), text.OneLine(f.Source, 80), text.OneLine(f.Message, 1_200)
	return f
}

func conversationFacts(t *result.Test) []page.Fact {
	var facts []page.Fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, page.Fact{Name: name, Value: value})
		}
	}
	if !t.StartedAt.IsZero() {
		add("started", t.StartedAt.UTC().Format("15:04:05 UTC"))
	}
	if t.DurationMS > 0 {
		add("took", text.Milliseconds(t.DurationMS))
	}
	add("tokens", inAndOut(t.Usage))
	add("cost", dollars(t.Cost))
	add("judge", judged(result.Totals{Judge: t.Judge}))
	add("user", userLine(t.User))
	add("threshold", score(t.Threshold))
	add("sampling", sampling(t.Sampling))
	return facts
}

// sampling says how the target was asked to choose its words.
func sampling(s *result.Sampling) string {
	if s == nil {
		return ""
	}
	var parts []string
	if s.Temperature != nil {
		parts = append(parts, fmt.Sprintf("temperature %g", *s.Temperature))
	}
	if s.TopP != nil {
		parts = append(parts, fmt.Sprintf("top_p %g", *s.TopP))
	}
	if s.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed %d", *s.Seed))
	}
	return strings.Join(parts, ", ")
}

// earlier returns the messages before the first turn: what the test puts into the history.
func earlier(t *result.Test) []chat.Message {
	end := len(t.Output)
	for _, v := range slices.Backward(t.Turns) {
		want := v.Input.String()
		for j := end - 1; j >= 0; j-- {
			if m := t.Output[j]; m.Role == chat.User && m.Content.String() == want {
				end = j
				break
			}
		}
	}
	return t.Output[:min(end, 200)]
}
