package report

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxQuarantined bounds the tests in quarantine that a report names one by one.
const maxQuarantined = 100

// quarantined lists the tests in quarantine in the order of the run, and those whose quarantine has run out.
func quarantined(run result.Run, s *survey) document.List {
	listed := slices.Clone(s.quarantined)
	inRunOrder(run, s, listed)
	l := document.List{
		Noun: "test", Elsewhere: " in quarantine",
		Left: run.Totals.Quarantined - len(listed) + max(0, len(run.RanOut)-maxQuarantined),
	}
	entry := func(name, about string, v result.Verdict) {
		l.Entries = append(l.Entries, document.Entry{Text: "🔒 " + name, Note: about, Verdict: v,
			Attr: document.Data("data-quarantine", "")})
	}
	for _, e := range listed {
		name := text.OneLine(e.test, 200)
		if len(run.Targets) > 1 {
			name += " [" + text.OneLine(e.target, 100) + "]"
		}
		entry(name, fmt.Sprintf("%s; in quarantine until %s, owned by %s: %s", document.VerdictWord(e.verdict),
			text.OneLine(e.quarantined.Until, 20), text.OneLine(e.quarantined.Owner, 100),
			text.OneLine(e.quarantined.Reason, 300)), e.verdict)
	}
	for _, out := range run.RanOut[:min(len(run.RanOut), maxQuarantined)] {
		entry(text.OneLine(out.TestID, 200), ranOut(out), "")
	}
	return l
}

// ranOut says of a test that its quarantine is over.
func ranOut(out result.RanOut) string {
	return fmt.Sprintf("the quarantine ran out on %s, owned by %s: the test counts again",
		text.OneLine(out.Until, 20), text.OneLine(out.Owner, 100))
}
