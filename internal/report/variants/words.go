package variants

import (
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Limits of what is told in words.
const (
	maxReason     = 200 // characters of why a session was left out
	maxNoteText   = 300
	maxExamples   = 5
	maxMetricName = 28
)

// verdictPhrase is the verdict of one metric for people.
func verdictPhrase(name string) string {
	switch verdict(name) {
	case better:
		return "better"
	case worse:
		return "worse"
	case nonInferior:
		return "non-inferior"
	case undecided:
		return "left open"
	case verdict(replay.VerdictNotJudgeable):
		return "cannot be judged"
	}
	return text.OneLine(name, 20)
}

// modeMeans says how sessions were replayed.
func modeMeans(m replay.Mode) string {
	switch m {
	case replay.Recorded:
		return "the logged messages in their order"
	case replay.Forced:
		return "each message from the logged state"
	case replay.Simulated:
		return "the logged messages, then a simulated user"
	}
	return ""
}

// outcomeWord says how a session ended.
func outcomeWord(outcome string) string {
	switch outcome {
	case "completed":
		return "completed"
	case "dropped":
		return "dropped off"
	case "unknown", "":
		return "unknown end"
	}
	return text.OneLine(outcome, 20)
}

// outcomesOf counts how the sessions had ended.
func outcomesOf(r *replay.Report) string {
	var parts []string
	for _, o := range []struct {
		n    int
		word string
	}{{r.Completed, "completed"}, {r.Dropped, "dropped off"}, {r.Unknown, "with an unknown end"}} {
		if o.n > 0 {
			parts = append(parts, text.Count(o.n)+" "+o.word)
		}
	}
	return strings.Join(parts, ", ")
}

// period names the first and the last day.
func period(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	first, last := from.Format(time.DateOnly), to.Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " to " + last
}

// variantWords names a variant with what it is made of.
func variantWords(v *replay.Replayed) string {
	parts := []string{text.OneLine(v.ID, 60)}
	if v.Name != "" {
		parts = append(parts, text.OneLine(v.Name, 80))
	}
	for _, p := range []struct{ name, value string }{{"flow ", v.FlowID}, {"prompt ", v.Prompt}, {"model ", v.Model}} {
		if p.value != "" {
			parts = append(parts, p.name+text.OneLine(p.value, 60))
		}
	}
	return strings.Join(parts, " · ")
}

// divergenceBar is one turn of the histogram.
type divergenceBar struct {
	Label    string
	Sessions int
}

// maxDivergences is how many turns the histogram has room for; its last one stands for all beyond. So does the report's
// own, turn 20.
const maxDivergences = 12

// divergencesOf splits the report's divergences in those that never left the log's path and those that did, by turn and
// without gaps.
func divergencesOf(r *replay.Report) (never int, turns []divergenceBar, all int) {
	last := 0
	for _, d := range r.Divergences {
		last = max(last, d.Turn)
	}
	for turn := range min(last, maxDivergences) {
		turns = append(turns, divergenceBar{Label: text.Count(turn + 1)})
	}
	for _, d := range r.Divergences {
		all += d.Sessions
		if d.Turn <= 0 {
			never += d.Sessions
			continue
		}
		turns[min(d.Turn, maxDivergences)-1].Sessions += d.Sessions
	}
	if last > maxDivergences {
		turns[len(turns)-1].Label += "+"
	}
	return never, turns, all
}
