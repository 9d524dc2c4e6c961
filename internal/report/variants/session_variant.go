package variants

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// variantHead is what stands above a lane.
type variantHead struct {
	Name, Ended, Error string
	Facts              []string
	// Spent are latency, tokens and cost of the whole lane. What is not known says so.
	Spent []spentFact
}

type spentFact struct{ Name, Value string }

// unknown stands where a figure is not known.
const unknown = "unknown"

func variantHeadOf(p *replay.Pair, l *replay.Variation) variantHead {
	h := variantHead{Name: variantWord(l.Name), Ended: variantSummary(p, l), Error: text.OneLine(l.Error, maxReason),
		Spent: costsOf(l)}
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
	if p.Mode == replay.Forced {
		share("turns taken", m.SupportCoverage)
	} else {
		share("supported", m.SupportCoverage)
	}
	if m.DataMatch != nil {
		h.Facts = append(h.Facts, dataWords(m.DataMatch))
	}
	for _, f := range []struct {
		share *float64
		words string
	}{{m.EndedEarly, "ended early"}, {m.CompletedOffPath, "completed off the path"}} {
		if f.share != nil && *f.share > 0 {
			h.Facts = append(h.Facts, f.words)
		}
	}
	if m.Answered != nil && *m.Answered < 1 {
		h.Facts = append(h.Facts, "a message got no answer")
	}
	if m.Exhausted && !l.Completed {
		h.Facts = append(h.Facts, "the messages ran out")
	}
	return h
}

// costsOf are latency, tokens and cost of a lane.
func costsOf(l *replay.Variation) []spentFact {
	latency, tokens, cost := unknown, unknown, unknown
	if ms := latencyOf(l); ms != nil {
		latency = latencyWords(*ms) + " a turn"
	}
	if l.Name != replay.Observed && len(l.Turns) > 0 { // the log's own are not read
		n, known, spent := 0, true, chat.Cost{}
		for i := range l.Turns {
			t := &l.Turns[i]
			n, known, spent = n+t.Tokens, known && !t.Uncounted, spent.Add(t.Cost)
		}
		if known {
			tokens = text.Count(n)
		}
		if !spent.Unknown {
			cost = text.Dollars(spent.USD)
		}
	}
	return []spentFact{{"Latency", latency}, {"Tokens", tokens}, {"Cost", cost}}
}

// latencyWords writes a latency; one as long as people take to answer is in seconds.
func latencyWords(ms float64) string {
	if ms >= 10_000 {
		return text.Milliseconds(ms)
	}
	return quantity(ms, replay.Milliseconds)
}

// latencyOf is the mean over the turns of which it is known, nil without any.
func latencyOf(l *replay.Variation) *float64 {
	sum, n := 0.0, 0
	for i := range l.Turns {
		if ms := l.Turns[i].LatencyMS; ms != nil && finite(*ms) {
			sum, n = sum+*ms, n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// spentInTurn are latency, tokens and cost of a turn. Where a model was asked and did not tell, that is said.
func spentInTurn(l *replay.Variation, t *replay.VariationTurn) (spent []string) {
	if t.LatencyMS != nil && finite(*t.LatencyMS) {
		spent = append(spent, latencyWords(*t.LatencyMS))
	}
	if l.Name == replay.Observed {
		return spent
	}
	switch {
	case t.Uncounted:
		spent = append(spent, "tokens unknown")
	case t.Tokens > 0:
		spent = append(spent, text.Plural(t.Tokens, "token"))
	}
	switch {
	case t.Cost.Unknown:
		spent = append(spent, "cost unknown")
	case t.Cost.USD > 0:
		spent = append(spent, text.Dollars(t.Cost.USD))
	}
	if t.ToolCalls > 0 {
		spent = append(spent, text.Plural(t.ToolCalls, "tool call"))
	}
	return spent
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
