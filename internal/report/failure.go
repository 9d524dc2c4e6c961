package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// finding is what went wrong at one place of a conversation.
type finding struct {
	// positionFindings is "turn 2", "the whole conversation", or a score's own name.
	positionFindings string
	turn             int
	verdict          result.Verdict
	score            float64
	scored           bool // false for failures that belong to no score
	partial          bool
	// cut says how the reply was cut short, if it was.
	cut string
	// failures come first, in their order of precedence; unmet holds the criteria that they do not repeat.
	failures []result.Failure
	unmet    []result.Assertion
}

// findings returns what went wrong in a test, in the order of the conversation. A test that passed has none.
func findings(t *result.Test) []finding {
	if t.Verdict == result.Pass {
		return nil
	}
	found := scoreFindings(t, func(s result.Score) bool { return s.Verdict == result.Fail || len(s.Failures) > 0 })
	if len(found) == 0 {
		// Every item passed on its own, and yet the test did not: then what is short of full marks explains it.
		found = scoreFindings(t, func(s result.Score) bool { return s.Score < 1 && s.Verdict != result.Skip })
	}
	for i := range found {
		if n := found[i].turn; n >= 1 && n <= len(t.Turns) {
			found[i].cut = cutShort(t.Turns[n-1].FinishReason)
		}
	}
	// Whatever no score has filed: errors of the target, broken seeds, budgets.
	var rest []result.Failure
	for _, f := range t.Failures {
		if !slices.ContainsFunc(t.Scores, func(s result.Score) bool {
			return slices.ContainsFunc(s.Failures,
				sameAs(f))
		}) {
			rest = append(rest, f)
		}
	}
	for len(rest) > 0 {
		turn := rest[0].Turn
		same := slices.Clone(rest[:1])
		rest = slices.DeleteFunc(rest[1:], func(f result.Failure) bool {
			if f.Turn == turn {
				same = append(same, f)
			}
			return f.Turn == turn
		})
		found = positionFindings(found, turn, same)
	}
	return found
}

// cutTurns names the turns whose replies ended before their model had finished, up to three; "" for none.
func cutTurns(t *result.Test) string {
	var cut []string
	for _, x := range t.Turns {
		if how := cutShort(x.FinishReason); how != "" && x.Output != "" {
			cut = append(cut, fmt.Sprintf("turn %d: %s", x.Index, how))
		}
	}
	if len(cut) > maxCut {
		cut = append(cut[:maxCut], fmt.Sprintf("and %d more", len(cut)-maxCut))
	}
	return strings.Join(cut, "; ")
}

const maxCut = 3

// endsEarly reports whether the model had not finished one of the replies.
func endsEarly(t *result.Test) bool {
	return slices.ContainsFunc(t.Turns, func(x result.Turn) bool { return cutShort(x.FinishReason) != "" })
}

// cutShort says that a reply ended before its model had finished, or "".
func cutShort(finishReason string) string {
	switch chat.FinishReason(finishReason) {
	case "length":
		return "reply cut off: length"
	case "content_filter":
		return "reply stopped: content_filter"
	}
	return ""
}

// about says how the place was scored, to stand after its name.
func (f finding) about() string {
	switch {
	case !f.scored, f.verdict == result.Error:
		return ""
	case f.cut != "":
		return " scored " + score(f.score) + " (" + f.cut + ")"
	case f.partial:
		return " scored " + score(f.score) + " on a transcript that was cut short"
	}
	return " scored " + score(f.score)
}

// broke tells the failures after which there is no reply.
func broke(f result.Failure) bool { return f.Code == result.EngineError || f.Code == result.Timeout }

// verdictOf returns the verdict of a score: Error where its number means nothing, because there was no reply or no
// verdict.
func verdictOf(s result.Score) result.Verdict {
	undecided := func(f result.Failure) bool {
		return broke(f) || f.Code == result.JudgeError || f.Code == result.SpecInvalid || f.Code == result.SeedMismatch
	}
	if s.Verdict == result.Fail && slices.ContainsFunc(s.Failures, undecided) {
		return result.Error
	}
	return s.Verdict
}

// notReached names the parts of a conversation that were skipped, runs of turns together.
func notReached(t *result.Test) []string {
	var names []string
	first, last := 0, 0
	flush := func() {
		switch {
		case first == 0:
		case first == last:
			names = append(names, fmt.Sprintf("turn %d", first))
		default:
			names = append(names, fmt.Sprintf("turns %d to %d", first, last))
		}
		first, last = 0, 0
	}
	for _, s := range t.Scores {
		n := turnOf(s.Name)
		switch {
		case s.Verdict != result.Skip:
		case n == 0:
			flush()
			names = append(names, text.OneLine(positionName(s.Name), 60))
		case first > 0 && n == last+1:
			last = n
		default:
			flush()
			first, last = n, n
		}
	}
	flush()
	return names
}

// sameAs tells a failure that is filed both with its score and with the test; only one of them may carry the turn.
func sameAs(f result.Failure) func(result.Failure) bool {
	return func(g result.Failure) bool { return f.Code == g.Code && f.Source == g.Source && f.Message == g.Message }
}

func scoreFindings(t *result.Test, wanted func(result.Score) bool) []finding {
	var found []finding
	for _, s := range t.Scores {
		if !wanted(s) {
			continue
		}
		f := finding{
			positionFindings: positionName(s.Name), turn: turnOf(s.Name), verdict: verdictOf(s), score: s.Score,
			scored: true, partial: s.PartialTranscript, failures: slices.Clone(s.Failures),
		}
		result.SortFailures(f.failures)
		for _, a := range s.Assertions {
			if !a.Passed && !slices.ContainsFunc(f.failures, func(x result.Failure) bool { return repeats(x, a) }) {
				f.unmet = append(f.unmet, a)
			}
		}
		found = append(found, f)
	}
	return found
}

// repeats reports whether a failure's sentence already says all of a criterion.
func repeats(f result.Failure, a result.Assertion) bool {
	return strings.Contains(f.Message, a.Text) && strings.Contains(f.Message, a.Evidence)
}

// positionFindings files failures with the finding of their turn, or as one of their own.
func positionFindings(found []finding, turn int, failures []result.Failure) []finding {
	i := slices.IndexFunc(found, func(f finding) bool { return f.turn == turn && turn > 0 })
	if i < 0 {
		f := finding{positionFindings: "the conversation", turn: turn, verdict: result.Error, failures: failures}
		if turn > 0 {
			f.positionFindings = fmt.Sprintf("turn %d", turn)
		}
		result.SortFailures(f.failures)
		// A turn's failures go before what came after it; those of the whole test go first.
		at := slices.IndexFunc(found, func(g finding) bool { return g.turn == 0 || g.turn > turn })
		if at < 0 {
			at = len(found)
		}
		return slices.Insert(found, at, f)
	}
	found[i].failures = append(found[i].failures, failures...)
	result.SortFailures(found[i].failures)
	return found
}

// turnOf returns the number in "turn-3", or 0.
func turnOf(name string) int {
	digits, ok := strings.CutPrefix(name, "turn-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 {
		return 0
	}
	return n
}

func positionName(name string) string {
	if n := turnOf(name); n > 0 {
		return fmt.Sprintf("turn %d", n)
	}
	if name == "assertions" || name == "" {
		return "the whole conversation"
	}
	return name
}
