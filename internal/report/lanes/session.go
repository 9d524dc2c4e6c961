package lanes

import (
	"slices"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/report/page"
	"rehearse/internal/stats"
	"rehearse/internal/text"
)

// Limits of a session side by side: turns, and what a narrow lane shows of one message at once.
const (
	maxPairRows = 80
	maxLaneOpen = 600
)

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
