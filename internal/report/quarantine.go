package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxQuarantined bounds the tests in quarantine that a report names one by one.
const maxQuarantined = 100

// quarantineLine is a test whose failure decides nothing, or one that counts again.
type quarantineLine struct {
	Test, About string
	// Verdict is what the test came to; empty for one that counts again.
	Verdict result.Verdict
}

// quarantineLines are the tests in quarantine in the order of the run, and those whose quarantine has run out. left counts those that are not named.
func quarantineLines(run result.Run, s *survey) (lines []quarantineLine, left int) {
	held := slices.Clone(s.quarantined)
	inRunOrder(run, s, held)
	for _, e := range held {
		about := fmt.Sprintf("in quarantine until %s, owned by %s: %s", text.OneLine(e.quarantined.Until, 20), text.OneLine(e.quarantined.Owner, 100), text.OneLine(e.quarantined.Reason, 300))
		name := text.OneLine(e.test, 200)
		if len(run.Targets) > 1 {
			name += " [" + text.OneLine(e.target, 100) + "]"
		}
		lines = append(lines, quarantineLine{name, page.VerdictWord(e.verdict) + "; " + about, e.verdict})
	}
	for _, out := range run.RanOut[:min(len(run.RanOut), maxQuarantined)] {
		lines = append(lines, quarantineLine{text.OneLine(out.TestID, 200), ranOut(out), ""})
	}
	return lines, run.Totals.Quarantined - len(held) + max(0, len(run.RanOut)-maxQuarantined)
}

// ranOut says of a test that its quarantine is over.
func ranOut(out result.RanOut) string {
	return fmt.Sprintf("the quarantine ran out on %s, owned by %s: the test counts again", text.OneLine(out.Until, 20), text.OneLine(out.Owner, 100))
}

// quarantines writes the tests in quarantine for a terminal.
func (p paint) quarantines(run result.Run, s *survey) {
	lines, left := quarantineLines(run, s)
	for _, line := range lines {
		p.Wrap("  ", "", "quarantine: "+line.Test+": "+line.About)
	}
	if left > 0 {
		p.Line("  … and ", text.Plural(left, "more test"), " in quarantine")
	}
}

// mdQuarantines writes the tests in quarantine.
func mdQuarantines(b *strings.Builder, run result.Run, s *survey) {
	lines, left := quarantineLines(run, s)
	for _, line := range lines {
		fmt.Fprintf(b, "- 🔒 **%s** %s\n", text.Markdown(line.Test), text.Markdown(line.About))
	}
	if left > 0 {
		fmt.Fprintf(b, "- … and %s in quarantine\n", text.Plural(left, "more test"))
	}
	if len(lines)+left > 0 {
		b.WriteString("\n")
	}
}
