package pages

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// comparedConversation is one test in two runs, turn by turn.
type comparedConversation struct {
	frame.Page
	Test, Suite string
	A, B        held
	Pairs       []turnPair
	// Left counts the turns that are not shown.
	Left int
	// LeftFrom is the turn from which on others were left out to keep the page small, 0 without one; LeftAt is where
	// they are shown.
	LeftFrom int
	LeftAt   string
	// Conversation has the conversation-level grades; nil without any.
	Conversation *conversationPair
}

// conversationPair is what was found of two conversations as a whole.
type conversationPair struct{ A, B conversationSide }

// conversationSide is what was found of a conversation as a whole, and why it was skipped.
type conversationSide struct {
	Side, Address string
	There         bool
	Verdict       result.Verdict
	Items         []transcript.Item
	Failures      []result.Failure
	Reason        string
}

// held is a conversation of one of the two runs. Without one it says why.
type held struct {
	Side, Run, Target string
	Address           string
	Verdict           result.Verdict
	Score             string
	Trial             int
	None              string
	talk              transcript.Transcript
	turns             map[int]result.Turn
}

// turnPair are the turns of the same number.
type turnPair struct {
	N       int
	Differs bool
	A, B    turnSide
}

// turnSide is a turn of one of the two runs. User and Reply have the words marked that the other side lacks.
type turnSide struct {
	Side        string
	There       bool
	Verdict     result.Verdict
	Score       string
	User, Reply template.HTML
	Calls       []transcript.ToolCall
	Item        *transcript.Item
	Address     string
	// NoReply is true where the agent did not answer; Empty where it answered with nothing. Left counts the characters
	// of the reply that are not shown.
	NoReply, Empty bool
	Left           int
}

// compareConversation answers with the turns of a test in two runs.
func (p *Pages) compareConversation(w http.ResponseWriter, r *http.Request) {
	base := comparePage{Query: frame.QueryOf(r, "/compare", compareParameters...)}
	if !p.sides(w, r, &base) {
		return
	}
	id := frame.Part(r, "test")
	page := comparedConversation{
		Page: p.frame.Base(r, "compare-conversation", text.OneLine(id, 200)), Test: id, Suite: base.Query.Get("suite"),
	}
	if base.Empty != "" {
		p.frame.NotFound(w, r, base.Empty)
		return
	}
	up := base.Query
	up.Values = frame.Only(up.Values, "a", "b", "a_target", "b_target", "ignore_target")
	page.Trail = []frame.Link{
		{Label: "Runs", Address: "/runs"},
		{Label: "Compare", Address: frame.Address("/compare", up.Values), Up: true},
	}
	target := base.Query.Get("target")
	for _, s := range []struct {
		name string
		of   side
		into *held
	}{{"a", base.A, &page.A}, {"b", base.B, &page.B}} {
		entry := firstOf(s.of.Index, runindex.Test{Suite: page.Suite, ID: id, Target: cmp.Or(s.of.Target, target)})
		if err := s.into.read(s.name, s.of, entry); err != nil {
			p.unread(w, r, s.of.Found, err)
			return
		}
	}
	if page.A.None != "" && page.B.None != "" {
		p.frame.NotFound(w, r, "Neither of the runs has such a test.", frame.Link{
			Label: "Compare", Address: frame.Address("/compare", up.Values),
		})
		return
	}
	page.pair()
	page.bound(frame.Only(r.URL.Query(), "a", "b", "a_target", "b_target", "suite", "target", fromTurn))
	p.frame.Show(w, http.StatusOK, "compare-conversation", page)
}

// firstOf returns the first test of a name; nil if there is none.
func firstOf(index *runindex.Index, name runindex.Test) *runindex.Entry {
	if all := index.Named(name); len(all) > 0 {
		return all[0]
	}
	return nil
}

// recordedRow returns the record that tells most of a test: of several trials the first that ended as the test did.
func recordedRow(e *runindex.Entry) (*runindex.Row, bool) {
	for _, row := range e.Of {
		if row.Verdict == e.Verdict {
			return row, true
		}
	}
	rows, ok := shownRows(e, nil)
	if !ok {
		return nil, false
	}
	return rows[0], true
}

// read reads the conversation of a test.
func (h *held) read(name string, of side, e *runindex.Entry) error {
	h.Side, h.Run, h.None = name, of.ID, "This run has no such test."
	if e == nil {
		return nil
	}
	h.Target = e.Target
	row, ok := recordedRow(e)
	if !ok {
		h.None = "This run planned the test and did not run it."
		return nil
	}
	record, err := of.Read(row)
	if err != nil {
		return err
	}
	h.None, h.Verdict, h.Score, h.Trial = "", record.Verdict, scoreOf(record.Verdict, record.Score), record.Trial
	var trials []string
	if h.Trial > 0 {
		trials = []string{strconv.Itoa(h.Trial)}
	}
	h.Address = addressOfTest(of.ID, runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, trials, "")
	h.talk, h.turns = transcript.Of(record, "", transcript.Raw), map[int]result.Turn{}
	for _, x := range record.Turns {
		h.turns[x.Index] = x
	}
	return nil
}

// pair aligns the turns by their numbers.
func (p *comparedConversation) pair() {
	numbers := map[int]bool{} // they are what records say, and may be of any size
	sides := [2]map[int]transcript.Turn{{}, {}}
	for i, h := range []*held{&p.A, &p.B} {
		for _, t := range h.talk.Turns {
			sides[i][t.N], numbers[t.N] = t, true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		a, inA := sides[0][n]
		b, inB := sides[1][n]
		x, y := p.A.turns[n], p.B.turns[n]
		pair := turnPair{N: n, A: sideOf("a", a, inA, p.A.Address), B: sideOf("b", b, inB, p.B.Address)}
		pair.A.Empty, pair.B.Empty = strings.TrimSpace(x.Output) == "", strings.TrimSpace(y.Output) == ""
		_, pair.A.Left = text.Cut(x.Output, maxText)
		_, pair.B.Left = text.Cut(y.Output, maxText)
		pair.Differs = inA != inB || x.Input.String() != y.Input.String() || x.Output != y.Output ||
			callsOf(x) != callsOf(y)
		p.Pairs = append(p.Pairs, pair)
	}
	p.Left = max(p.A.talk.Left, p.B.talk.Left)
	whole := conversationPair{conversationSideOf("a", &p.A), conversationSideOf("b", &p.B)}
	if whole.A.says() || whole.B.says() {
		p.Conversation = &whole
	}
}

func conversationSideOf(name string, h *held) conversationSide {
	return conversationSide{
		name, h.Address + "#assertions", h.None == "", h.talk.ConversationVerdict, h.talk.ConversationItems,
		h.talk.Failures, h.talk.Reason,
	}
}

// says reports whether there is something to be said of a conversation as a whole.
func (s conversationSide) says() bool { return len(s.Items)+len(s.Failures) > 0 || s.Reason != "" }

func sideOf(name string, t transcript.Turn, there bool, address string) turnSide {
	return turnSide{
		Side: name, There: there, Verdict: t.Verdict, Score: t.Score, Calls: t.Calls, Item: t.Item,
		Address: address + "#" + t.ID, NoReply: t.NoReply,
	}
}

// callsOf returns the tool calls of a turn as a text that is the same for the same calls.
func callsOf(x result.Turn) string {
	var all strings.Builder
	for _, c := range x.ToolCalls {
		all.WriteString(c.Name + "\x00" + string(c.Args) + "\x00" + string(c.Result) + "\x01")
	}
	return all.String()
}
