package variants

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Limits of a session side by side: turns, and what a narrow lane shows of one message at once.
const (
	maxPairRows = 80
	maxLaneOpen = 600
)

// pairView is a session side by side.
type pairView struct {
	Dropped  string
	Repeat   string // which of several replays it is; empty when there was one
	Variants []variantHead
	Steps    []step
	Left     int // turns left out
	Data     []dataField
	DataLeft int
	Marked   bool // whether a value differs from the log's
}

// step is one turn: what the user said and each lane's answer.
type step struct {
	Turn  int
	User  *userMessage
	Cells []cell
}

// userMessage is what the user said in a turn.
type userMessage struct {
	Turn      int
	Simulated bool
	Text      utterance
}

// cell is a lane's turn in a row.
type cell struct {
	// Key is the variant's name in JSON, Variant its name in the report.
	Key, Variant string
	// Gap says why there is no turn, empty when there is one.
	Gap string
	// Leaves says that the lane first leaves the log's path here; empty where it does not.
	Leaves string
	// User is what the user said in this lane, nil when it is what stands above the row.
	User *userMessage
	// Same names the lane whose reply this one repeats word by word.
	Same string
	Bot  utterance
	// Before and State are the states around the turn; NoState says why there is none.
	Before, State, NoState string
	Differs                bool
	// Support says whether the turn is supported; empty of what was logged.
	Support     string
	Unsupported bool
	// Spent are latency, tokens and cost, as far as they are known.
	Spent []string
}

func pairViewOf(r *replay.Report, p *replay.Pair) pairView {
	lanes := variationsOf(p)
	v := pairView{Dropped: text.OneLine(p.Dropped, 2*maxReason)}
	if r.Repeats != nil && p.Repeat > 0 {
		v.Repeat = fmt.Sprintf("Replay %d of %d of this session. The figures of the report are means over all of them.",
			p.Repeat, r.Repeats.K)
	}
	for _, l := range lanes {
		v.Variants = append(v.Variants, variantHeadOf(p, l))
	}
	turns := turnsOf(lanes)
	for n := range min(turns, maxPairRows) {
		v.Steps = append(v.Steps, stepOf(p, lanes, n))
	}
	v.Left = turns - len(v.Steps)
	v.Data, v.DataLeft = dataOf(lanes)
	for _, f := range v.Data {
		for _, c := range f.Cells {
			v.Marked = v.Marked || c.Mark != ""
		}
	}
	return v
}

// stepOf is turn n of all lanes. What the user said stands above it once, as far as the lanes heard the same.
func stepOf(p *replay.Pair, lanes []*replay.Variation, n int) step {
	s := step{Turn: n + 1}
	var shared, logged *replay.VariationTurn
	for i, l := range lanes {
		t := turnOf(l, n)
		if t == nil {
			continue
		}
		if shared == nil && !t.Invented {
			shared = t
			s.User = userMessageOf(t, n)
		}
		if i == 0 && l.Name == replay.Observed {
			logged = t
		}
	}
	for i, l := range lanes {
		c := cell{Key: text.OneLine(l.Name, 20), Variant: variantWord(l.Name)}
		if l.Name != replay.Observed && leavesAt(l) == n {
			c.Leaves = leavesWords(p.Mode)
		}
		if t := turnOf(l, n); t == nil {
			c.Gap = gapWords(l)
		} else {
			c.fill(p, l, t, logged)
			if t.Invented || shared == nil || shared.User != t.User {
				c.User = userMessageOf(t, n)
			}
			if c.Same = sameReply(lanes, n, i); c.Same == "" {
				c.Bot.add(t.Bot, maxLaneOpen)
			}
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

// fill says where a turn led, whether the log carries it, and what it took.
func (c *cell) fill(p *replay.Pair, l *replay.Variation, t, logged *replay.VariationTurn) {
	replayed := l.Name != replay.Observed
	c.State = text.OneLine(t.State, 80)
	if t.Transition && t.Before != t.State {
		c.Before = text.OneLine(t.Before, 80)
	}
	switch {
	case t.State != "":
		c.Differs = replayed && logged != nil && logged.State != "" && logged.State != t.State
	case l.NoStates:
		c.NoState = "tells no state"
	default:
		c.NoState = "no state"
	}
	if replayed {
		c.Unsupported, c.Support = !t.Supported, supportWord(p, t)
	}
	c.Spent = spentInTurn(l, t)
}

// supportWord says of a replayed turn whether its message answers what was asked, in the words of the mode.
func supportWord(p *replay.Pair, t *replay.VariationTurn) string {
	switch {
	case p.Mode == replay.Forced && t.Supported:
		return "taken"
	case p.Mode == replay.Forced:
		return "not supported: it could not be taken"
	case t.Supported:
		return "supported"
	case t.Invented:
		return "not supported: a simulated user speaks"
	}
	return "not supported"
}

// leavesWords marks the first divergence.
func leavesWords(mode replay.Mode) string {
	if mode == replay.Forced {
		return "first misses the logged state here"
	}
	return "leaves the log’s path here"
}

func userMessageOf(t *replay.VariationTurn, n int) *userMessage {
	a := &userMessage{Turn: n + 1, Simulated: t.Invented}
	a.Text.add(t.User, maxLaneOpen)
	return a
}

// sameReply names the lane further to the left that gives the same reply.
func sameReply(lanes []*replay.Variation, n, lane int) string {
	reply := lanes[lane].Turns[n].Bot
	for _, other := range lanes[:lane] {
		if t := turnOf(other, n); t != nil && reply != "" && t.Bot == reply {
			return variantWord(other.Name)
		}
	}
	return ""
}

// gapWords says why a lane has no such turn.
func gapWords(l *replay.Variation) string {
	switch {
	case l.Name == replay.Observed:
		return "not in the log"
	case l.Error != "":
		return "the lane had failed"
	case l.Completed:
		return "had completed"
	}
	return "had ended"
}
