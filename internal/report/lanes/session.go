package lanes

import (
	"slices"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/report/page"
	"rehearse/internal/result"
	"rehearse/internal/stats"
	"rehearse/internal/text"
)

// Limits of a session side by side: turns, and what a narrow lane shows of one message at once.
const (
	maxPairRows = 80
	maxLaneOpen = 600
)

// pairHead is the line of a session on the page.
type pairHead struct {
	// Kind says in a word how the candidate did beside the log: same, path, end or out. Differs is whether the two replays differ.
	Kind    string
	Differs bool
	Open    bool
	Sign    result.Verdict
	Said    string // what the sign means
	ID      string
	About   string
	Lanes   []laneFact
	// Turn is where the candidate first left the log's path, or says that it did not.
	Turn    string
	Dropped string
}

// laneFact is a lane in the line of a session.
type laneFact struct {
	Name  string
	Sign  result.Verdict
	Ended string
	About string
}

func pairHeadOf(p *replay.Pair) pairHead {
	h := pairHead{ID: text.OneLine(p.SessionID, 120), About: outcomeWord(p.Outcome), Dropped: text.OneLine(p.Dropped, maxReason)}
	if !p.Started.IsZero() {
		h.About += " · " + p.Started.UTC().Format("2006-01-02 15:04")
	}
	lanes := lanesOf(p)
	logCompleted := p.Outcome == "completed"
	for _, l := range lanes {
		f := laneFact{Name: laneWord(l.Name), Sign: result.Pass, Ended: "completed", About: text.Plural(len(l.Turns), "turn")}
		if !l.Completed {
			if f.Sign, f.Ended = result.Skip, "not completed"; logCompleted {
				f.Sign = result.Fail
			}
		}
		if l.Metrics != nil && l.Metrics.StateProgression != nil {
			f.About += " · states " + quantity(*l.Metrics.StateProgression, replay.Share)
		}
		h.Lanes = append(h.Lanes, f)
	}
	h.Differs = lanesDiffer(p.Lane(replay.Baseline), p.Lane(replay.Candidate))
	h.kind(p)
	return h
}

// kind says how the candidate did beside the log.
func (h *pairHead) kind(p *replay.Pair) {
	observed, candidate := p.Lane(replay.Observed), p.Lane(replay.Candidate)
	if p.Dropped != "" || candidate == nil {
		h.Kind, h.Sign, h.Said, h.Turn, h.Differs = "out", result.Skip, "left out", "left out", false
		return
	}
	left := candidate.Metrics != nil && candidate.Metrics.FirstDivergence != nil
	known := p.Outcome != "unknown" && p.Outcome != ""
	h.Turn = "same path"
	if left {
		h.Turn = "other path from turn " + text.Count(*candidate.Metrics.FirstDivergence)
	}
	switch ended := observed != nil && known && observed.Completed != candidate.Completed; {
	case ended && observed.Completed:
		h.Kind, h.Sign, h.Said = "end", result.Fail, "the candidate did not complete what the log did"
	case ended:
		h.Kind, h.Sign, h.Said = "end", result.Error, "the candidate completed what the log did not"
	case left:
		h.Kind, h.Sign, h.Said = "path", result.Error, "another path than in the log"
	default:
		h.Kind, h.Sign, h.Said = "same", result.Pass, "as in the log"
	}
}

// lanesDiffer reports whether two replays of a session went through other states or ended otherwise.
func lanesDiffer(a, b *replay.Lane) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Completed != b.Completed || !slices.EqualFunc(a.Turns, b.Turns, func(x, y replay.LaneTurn) bool { return x.State == y.State })
}

// pairView is a session side by side.
type pairView struct {
	Dropped  string
	Lanes    []laneHead
	Steps    []step
	Left     int // turns left out
	Data     []dataField
	DataLeft int
	Marked   bool // whether a value differs from the log's
}

// laneHead is what stands above a lane.
type laneHead struct {
	Name, Ended string
	Facts       []string
}

// step is one row: what the user said and each lane's answer.
type step struct {
	Ask   *askView
	Cells []cell
}

// askView is what the user said in a turn.
type askView struct {
	Turn      int
	Simulated bool
	Said      page.Utterance
}

// cell is a lane's turn in a row.
type cell struct {
	Lane string
	// Gap says why there is no turn, empty when there is one.
	Gap string
	// Leaves is true where the lane first leaves the log's path.
	Leaves bool
	// Ask is what the user said in this lane, nil when it is what stands above the row.
	Ask *askView
	// Same names the lane whose reply this one repeats word by word.
	Same          string
	Bot           page.Utterance
	Before, State string
	Differs       bool
	Unsupported   bool
	Took          string
}

func pairViewOf(p *replay.Pair) pairView {
	lanes := lanesOf(p)
	v := pairView{Dropped: text.OneLine(p.Dropped, 2*maxReason)}
	for _, l := range lanes {
		v.Lanes = append(v.Lanes, laneHeadOf(p, l))
	}
	rows := rowsOf(lanes)
	leaves := make([]int, len(lanes))
	for i, l := range lanes {
		leaves[i] = divergesAt(rows, i, l)
	}
	for n, row := range rows[:min(len(rows), maxPairRows)] {
		s := stepOf(lanes, rows, n)
		for i := range row {
			s.Cells[i].Leaves = i > 0 && leaves[i] == n
		}
		v.Steps = append(v.Steps, s)
	}
	v.Left = len(rows) - len(v.Steps)
	v.Data, v.DataLeft = dataOf(lanes)
	for _, f := range v.Data {
		for _, c := range f.Cells {
			v.Marked = v.Marked || c.Mark != ""
		}
	}
	return v
}

func laneHeadOf(p *replay.Pair, l *replay.Lane) laneHead {
	h := laneHead{Name: laneWord(l.Name), Ended: laneSummary(p, l)}
	m := l.Metrics
	if m == nil {
		return h
	}
	share := func(name string, v *float64) {
		if v != nil {
			h.Facts = append(h.Facts, name+" "+quantity(*v, replay.Share))
		}
	}
	share("states alike", m.StateProgression)
	share("supported", m.SupportCoverage)
	if m.AvgLatencyMS != nil {
		h.Facts = append(h.Facts, quantity(*m.AvgLatencyMS, replay.Milliseconds)+" a turn")
	}
	if m.DataMatch != nil {
		h.Facts = append(h.Facts, dataWords(m.DataMatch))
	}
	if m.Exhausted && !l.Completed {
		h.Facts = append(h.Facts, "the messages ran out")
	}
	return h
}

// dataWords counts the fields of a lane beside those of the log.
func dataWords(d *replay.DataMatch) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{d.Equal, "equal"}, {d.Wrong, "wrong"}, {d.Missing, "missing"}, {d.Extra, "extra"}} {
		if p.n > 0 {
			parts = append(parts, text.Count(p.n)+" "+p.word)
		}
	}
	if len(parts) == 0 {
		return "no data"
	}
	return "data: " + strings.Join(parts, ", ")
}

// stepOf is one row of the alignment. What the user said stands above it once, as far as the lanes heard the same.
func stepOf(lanes []*replay.Lane, rows []alignedRow, n int) step {
	row := rows[n]
	var s step
	var shared, logged *replay.LaneTurn
	for i, l := range lanes {
		if row[i] == stats.Gap {
			continue
		}
		t := &l.Turns[row[i]]
		if shared == nil && !t.Invented {
			shared = t
			s.Ask = askOf(t)
		}
		if i == 0 && l.Name == replay.Observed {
			logged = t
		}
	}
	for i, l := range lanes {
		if row[i] == stats.Gap {
			s.Cells = append(s.Cells, cell{Lane: laneWord(l.Name), Gap: gapWords(l, rows[n:], i)})
			continue
		}
		t := &l.Turns[row[i]]
		c := cell{
			Lane: laneWord(l.Name), State: text.OneLine(t.State, 80), Unsupported: !t.Supported && l.Name != replay.Observed,
			Differs: i > 0 && logged != nil && logged.State != t.State,
		}
		if t.Transition && t.Before != t.State {
			c.Before = text.OneLine(t.Before, 80)
		}
		if t.LatencyMS != nil {
			c.Took = quantity(*t.LatencyMS, replay.Milliseconds)
		}
		if t.Invented || shared != nil && shared.User != t.User {
			c.Ask = askOf(t)
		}
		if c.Same = sameReply(lanes, row, i); c.Same == "" {
			c.Bot.SayOpen(t.Bot, maxLaneOpen)
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

func askOf(t *replay.LaneTurn) *askView {
	a := &askView{Turn: t.Number, Simulated: t.Invented}
	a.Said.SayOpen(t.User, maxLaneOpen)
	return a
}

// sameReply names the lane further to the left that gives the same reply.
func sameReply(lanes []*replay.Lane, row alignedRow, lane int) string {
	reply := lanes[lane].Turns[row[lane]].Bot
	for i := range lane {
		if row[i] != stats.Gap && reply != "" && lanes[i].Turns[row[i]].Bot == reply {
			return laneWord(lanes[i].Name)
		}
	}
	return ""
}

// gapWords says why a lane has no turn in the first of the rows.
func gapWords(l *replay.Lane, rows []alignedRow, lane int) string {
	ended := !slices.ContainsFunc(rows, func(r alignedRow) bool { return r[lane] != stats.Gap })
	switch {
	case ended:
		return "had ended"
	case l.Name == replay.Observed:
		return "not in the log"
	}
	return "no such turn"
}

// filtersOf counts the sessions of each kind. All of one kind need no filter.
func filtersOf(heads []pairHead) (filters []page.Filter) {
	counts := map[string]int{}
	for i := range heads {
		counts[heads[i].Kind]++
		if heads[i].Differs {
			counts["differ"]++
		}
	}
	filters = append(filters, page.Filter{ID: "all", Label: "All", Count: len(heads)})
	for _, f := range []page.Filter{
		{ID: "differ", Label: "Candidate and baseline differ", Count: counts["differ"]},
		{ID: "end", Label: "Ended otherwise", Count: counts["end"]},
		{ID: "path", Label: "Other path, same end", Count: counts["path"]},
		{ID: "same", Label: "As in the log", Count: counts["same"]},
		{ID: "out", Label: "Left out", Count: counts["out"]},
	} {
		if f.Count > 0 {
			filters = append(filters, f)
		}
	}
	if len(filters) <= 2 {
		return nil
	}
	return filters
}
