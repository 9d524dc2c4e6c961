package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/terminal"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TextOptions says how Text writes. The zero value is plain text of 80 columns.
type TextOptions struct {
	// Colour uses ANSI escapes; those of the texts themselves are never let through.
	Colour bool
	// Verbose lists every test and explains every failing one, Quiet writes the totals only. Quiet wins.
	Verbose, Quiet bool
	// Talks also shows what was said with a simulated user, where every test is listed.
	Talks bool
	// Width is the terminal's; 0 means 80.
	Width int
	// Dir is where the results are, to be named at the end. It may be empty.
	Dir string
	// Page is the address or path of report.html, to which failing tests lead; empty where there is none.
	Page string
}

// paint prints the parts of a report for a terminal.
type paint struct {
	*terminal.Printer
	page string
}

// maxExplained is how many failing tests Text explains unless it is verbose.
const maxExplained = 20

// Text writes the report for a terminal: a block per failing test, then the totals.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	p := paint{Printer: terminal.New(w, o.Width, o.Colour), page: o.Page}
	switch {
	case o.Quiet:
	case o.Verbose:
		err = r.textAll(p, s, o.Talks)
	default:
		if err = r.textFailing(p, s, run.Totals.Failed+run.Totals.Errors); err == nil {
			p.passedWithFailures(s, run.Totals.PassedWithFailures)
		}
	}
	if err != nil {
		return err
	}
	if run.Comparison != nil {
		p.comparison(run.Comparison, gate(run), o.Quiet)
		p.Line()
	}
	if m := matrixOf(run, s); m != nil {
		m.text(p, run, !o.Quiet)
	}
	p.totals(run, o.Dir)
	p.quarantines(run, s)
	return p.Flush()
}

// textFailing explains the first failing tests.
func (r *Report) textFailing(p paint, s *survey, failing int) error {
	shown, err := r.explain(s.failing[:min(len(s.failing), maxExplained)])
	if err != nil {
		return err
	}
	for _, x := range shown {
		p.test(x.entry)
		p.user(x.Test.User)
		p.explain(x)
		p.leads(x)
		p.Line()
	}
	if more := failing - len(shown); more > 0 && len(shown) > 0 {
		p.Line("… and ", text.Plural(more, "more failing test"), ": see report.md")
		p.Line()
	}
	return nil
}

// passedWithFailures lists the first tests that passed although a check failed.
func (p paint) passedWithFailures(s *survey, all int) {
	shown := 0
	for _, e := range s.others {
		if e.checks == "" || e.verdict != result.Pass {
			continue
		}
		if shown++; shown > maxExplained {
			break
		}
		p.test(e)
	}
	if shown > 0 {
		if more := all - shown; more > 0 {
			p.Line("… and ", text.Plural(more, "more test"), " that passed with failed checks: see report.html")
		}
		p.Line()
	}
}

// textAll writes a line for each record as it comes, and below the failing ones why.
func (r *Report) textAll(p paint, s *survey, talks bool) error {
	for t, err := range r.tests {
		if err != nil {
			return err
		}
		e := glance(t)
		if t.Trial > 0 {
			e.test = fmt.Sprintf("%s, trial %d", t.TestID, t.Trial)
		}
		p.test(e)
		if e.reason != "" {
			p.Wrap("    ", "", text.OneLine(e.reason, maxSentence))
		}
		p.user(t.User)
		if talks {
			p.talk(t)
		}
		if e.failing() || len(e.failures) > 0 {
			p.explain(explained{entry: e, Test: t})
			p.leads(explained{entry: e, Test: t})
		}
	}
	for i, e := range s.notRun {
		if i == maxMatrix {
			p.Line("… and ", text.Plural(len(s.notRun)-i, "more test"), " not run")
			break
		}
		p.test(e)
	}
	p.Line()
	return nil
}

// shortfall says why a test failed: its score or graded score, or a check of a strict test.
func shortfall(e *entry) string {
	about := "score " + scoreWords(e.score, e.graded)
	if result.Reaches(e.score, e.threshold) && (e.graded == nil || result.Reaches(*e.graded, e.threshold)) {
		return about + ", but a check failed"
	}
	return fmt.Sprintf("%s, needs %s", about, score(e.threshold))
}

// test writes the line of a test.
func (p paint) test(e *entry) {
	sign, colour := terminal.Mark(e.verdict)
	about := []string{}
	switch {
	case e.verdict == result.Error:
		about = append(about, "could not be run or graded")
	case e.verdict == result.Skip:
		about = append(about, word(e))
	case e.verdict == result.Fail:
		about = append(about, shortfall(e))
	case e.verdict == result.Ungraded:
		about = append(about, word(e))
	default:
		about = append(about, "score "+scoreWords(e.score, e.graded))
	}
	if t := e.trials; t != nil {
		about = append(about, TrialsPassed(t))
	}
	if e.durationMS > 0 {
		about = append(about, text.Milliseconds(e.durationMS))
	}
	name, side := text.OneLine(e.test, 200), strings.Join(about, " · ")
	if gap := p.Width - 2 - text.Width(name) - text.Width(side); gap >= 2 {
		p.Line(p.In(colour, sign), " ", p.In(terminal.Bold, name), strings.Repeat(" ", gap), p.In(terminal.Dim, side))
	} else {
		p.Wrap(p.In(colour, sign)+" ", terminal.Bold, name)
		p.Wrap("  ", terminal.Dim, side)
	}
	p.Wrap("  ", terminal.Dim, text.OneLine(strings.Trim(e.suite+" · "+e.target, " ·"), 300))
	if e.checks != "" {
		p.Wrap("    ", "", e.checks)
	}
	if e.cut != "" && !e.failing() {
		p.Wrap("    ", "", e.cut)
	}
}

// Limits of a block, which is to be read at a glance; report.html has everything.
const (
	maxFindings = 6
	maxListed   = 8
	maxSentence = 400
)

// explain writes what went wrong in a test.
func (p paint) explain(x explained) {
	if x.trials != nil {
		for _, f := range x.entry.failures[:min(len(x.entry.failures), maxListed)] {
			p.failure("    ", f, nil)
		}
		if x.trial > 0 {
			p.Line("    ", p.In(terminal.Bold, fmt.Sprintf("trial %d", x.trial)), p.In(terminal.Dim, " scored "+score(x.Test.Score)))
		}
	}
	found := findings(x.Test)
	if x.trials != nil && x.trial == 0 {
		found = nil // an aggregate has no findings of its own but its failures
	}
	for i, f := range found {
		if i == maxFindings {
			p.Line("    … and ", text.Plural(len(found)-i, "more place"))
			break
		}
		p.Line("    ", p.In(terminal.Bold, text.OneLine(f.place, 60)), p.In(terminal.Dim, f.about()))
		for _, failure := range f.failures[:min(len(f.failures), maxListed)] {
			p.failure("      ", failure, f.unmet)
		}
		for j, a := range f.unmet {
			if j == maxListed {
				p.Line("      … and ", text.Count(len(f.unmet)-j), " more")
				break
			}
			p.Wrap("      "+p.In(terminal.Red, "✗")+" ", "", sentence(a))
		}
	}
	if names := notReached(x.Test); len(names) > 0 {
		p.Wrap("    ", terminal.Dim, "skipped: "+strings.Join(names, ", "))
	}
}

// leads says where the test was written, and where its conversation can be looked at. The lines are not wrapped, so that terminals know them as
// links.
func (p paint) leads(x explained) {
	if !x.entry.failing() {
		return
	}
	if at := x.entry.at.String(); at != "" {
		p.Line("    ", p.In(terminal.Dim, "at "+text.OneLine(at, 1_000)))
	}
	if p.page != "" {
		p.Line("    ", p.In(terminal.Dim, "see "+text.OneLine(p.page, 1_000)+"#"+spotOf(x.Test)))
	}
}

// failure writes a code and its sentence, unless the criteria that follow tell it.
func (p paint) failure(indent string, f result.Failure, unmet []result.Assertion) {
	p.Line(indent, p.In(terminal.Red, text.OneLine(string(f.Code), 40)), p.In(terminal.Dim, from(f.Source)))
	if !told(f, unmet) {
		p.Wrap(indent+"  ", "", text.OneLine(f.Message, maxSentence))
	}
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return " by " + text.OneLine(source, 40)
}

// sentence writes an assertion with its evidence.
func sentence(a result.Assertion) string {
	s := text.OneLine(a.Text, maxSentence)
	if a.Evidence != "" {
		s += ": " + text.OneLine(a.Evidence, maxSentence)
	}
	return s
}
