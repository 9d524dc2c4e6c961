package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// head is the line of a test, or of a trial, on the page.
type head struct {
	// Key names the test, or the trial. ID is its anchor.
	Key     result.Key
	ID      string
	Verdict result.Verdict
	Name    string
	From    []string // suite and target
	Tags    []string
	// Score is empty for what could not be graded; Data has it as an attribute.
	Score, Data string
	Codes       []result.Code
	Took        string
	// Dots are the verdicts of its turns, or of its trials.
	Dots     []result.Verdict
	Trials   *result.Trials
	Bar      document.Bar
	Repeats  []repeat
	Failures []result.Failure
	Open     bool
	// Review says what somebody decided over the verdict.
	Review string
	// Quarantined is when the test's quarantine ends; empty for one that counts.
	Quarantined string
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
	h := head{Key: e.key(), ID: e.key().Anchor(), Verdict: e.verdict, Name: text.OneLine(e.test, 300), Codes: e.codes,
		Trials: e.trials, Failures: e.failures}
	for _, part := range []string{e.suite, e.target} {
		if part != "" {
			h.From = append(h.From, text.OneLine(part, 300))
		}
	}
	h.Review = e.reviewed()
	if e.quarantined != nil {
		h.Quarantined = text.OneLine(e.quarantined.Until, 20)
	}
	switch {
	case e.verdict.Graded():
		h.Score, h.Data = scoreWords(e.score, e.graded), strconv.FormatFloat(e.score, 'f', -1, 64)
	case e.notRun:
		h.Score = word(e)
	}
	if e.durationMS > 0 {
		h.Took = text.Milliseconds(e.durationMS)
	}
	if t := e.trials; t != nil {
		if t.Count > 0 {
			h.Bar = document.BarOf(float64(t.Passed)/float64(t.Count), t.Interval)
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
	h := headOf(entryOf(t))
	if t.Trial > 0 {
		h.Name, h.From, h.Key, h.ID = fmt.Sprintf("Trial %d", t.Trial), nil, t.Key(), t.Key().Anchor()
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

// ownFacts are what report.html says of a conversation beside what every page says.
func ownFacts(t *result.Test) (facts []transcript.Fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, transcript.Fact{Name: name, Value: value})
		}
	}
	add("checks", failedWords(t))
	add("user", userLine(t.User))
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
