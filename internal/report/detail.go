package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Limits of the explanation of a test, which is to be read at a glance; report.html has everything.
const (
	maxExplained = 20 // failing tests on a terminal that is not verbose
	maxDetails   = 200
	maxFindings  = 6
	maxListed    = 8
	maxSentence  = 400
)

// explainOnTerminal explains the first failing tests, or lists every test.
func (r *Report) explainOnTerminal(d *document.Document, run result.Run, s *survey, o TextOptions) {
	if o.Verbose {
		d.Details = r.everyTest(s, o)
		if left := len(s.notRun) - maxMatrix; left > 0 {
			d.Rest = func(int) string { return "… and " + text.Plural(left, "more test") + " not run" }
		}
		return
	}
	failing, passed := run.Totals.Failed+run.Totals.Errors, run.Totals.PassedWithFailures
	d.Details = func(yield func(*document.Section, error) bool) {
		explained, err := r.explain(s.failing[:min(len(s.failing), maxExplained)])
		if err != nil {
			yield(nil, err)
			return
		}
		failing -= len(explained)
		for _, x := range explained {
			if !yield(r.detail(x, o.Page), nil) {
				return
			}
		}
		shown := 0
		for _, e := range s.others {
			if e.checks != "" && e.verdict == result.Pass && shown < maxExplained {
				shown++
				if !yield(summaryOf(e), nil) {
					return
				}
			}
		}
		passed -= shown
	}
	d.Rest = func(written int) string {
		if written == 0 || failing+passed <= 0 {
			return ""
		}
		var parts []string
		if failing > 0 {
			parts = append(parts, text.Plural(failing, "more failing test"))
		}
		if passed > 0 {
			parts = append(parts, text.Plural(passed, "more test")+" that passed with failed checks")
		}
		return "… and " + strings.Join(parts, ", ") + ": see report.html or report.md"
	}
}

// everyTest returns a line for each record as it comes, with what explains those that did not pass, and the tests that
// were not run.
func (r *Report) everyTest(s *survey, o TextOptions) func(yield func(*document.Section, error) bool) {
	return func(yield func(*document.Section, error) bool) {
		for record, err := range r.tests {
			var detail *document.Section
			if err == nil {
				detail, err = r.everyDetail(record, o)
			}
			if !yield(detail, err) || err != nil {
				return
			}
		}
		for _, e := range s.notRun[:min(len(s.notRun), maxMatrix)] {
			if !yield(summaryOf(e), nil) {
				return
			}
		}
	}
}

// everyDetail returns the line of one record.
func (r *Report) everyDetail(record *runlog.Record, o TextOptions) (*document.Section, error) {
	e, err := glance(record)
	if err != nil {
		return nil, err
	}
	t := record.Brief
	if t.Trial > 0 {
		e.test = fmt.Sprintf("%s, trial %d", t.TestID, t.Trial)
	}
	explains, talks := e.failing() || len(e.failures) > 0, o.Simulated && t.User != nil
	if explains || talks {
		if t, err = record.Decode(); err != nil {
			return nil, err
		}
	}
	detail := summaryOf(e)
	if explains {
		detail = r.detail(explained{entry: e, Test: t}, o.Page)
	} else if e.user != "" {
		detail.Notes = append(detail.Notes, "user: "+e.user)
	}
	if talks {
		detail.Transcript = t.Output
	}
	return detail, nil
}

// explainInMarkdown explains failing tests with their conversations.
func (r *Report) explainInMarkdown(d *document.Document, run result.Run, s *survey) {
	d.Details = func(yield func(*document.Section, error) bool) {
		// A block takes some 500 characters at the least, so more than these would never fit.
		explained, err := r.explain(s.failing[:min(len(s.failing), maxDetails)])
		if err != nil {
			yield(nil, err)
			return
		}
		for _, x := range explained {
			detail := r.detail(x, "")
			detail.Link, detail.Transcript, detail.Plain = r.link(spotOf(x.Test)), x.Output, nil
			if !yield(detail, nil) {
				return
			}
		}
	}
	d.Rest = func(written int) string {
		if left := run.Totals.Failed + run.Totals.Errors - written; left > 0 {
			return fmt.Sprintf("… and %s without details here: see report.html or %s", text.Plural(left,
				"more failing test"), runlog.LogFile)
		}
		return ""
	}
}

// from names the suite and the target of a test.
func (e *entry) from() string { return strings.Trim(e.suite+" · "+e.target, " ·") }

// summaryOf returns the line of a test, with what is to be said of it whatever its verdict.
func summaryOf(e *entry) *document.Section {
	return &document.Section{Verdict: e.verdict, Title: e.test, Side: side(e), From: e.from(), Notes: e.remarks()}
}

// remarks returns the sentences about a test that did not fail.
func (e *entry) remarks() (remarks []string) {
	if e.checks != "" {
		remarks = append(remarks, e.checks)
	}
	if e.reason != "" {
		remarks = append(remarks, text.OneLine(e.reason, maxSentence))
	}
	if e.cut != "" && !e.failing() {
		remarks = append(remarks, e.cut)
	}
	return remarks
}

// side returns how a test came out, in the words next to its name.
func side(e *entry) string {
	about := []string{word(e)}
	switch e.verdict {
	case result.Error:
		about[0] = "could not be run or graded"
	case result.Fail:
		about[0] = shortfall(e)
	case result.Pass:
		about[0] = "score " + scoreWords(e.score, e.graded)
	}
	if t := e.trials; t != nil {
		about = append(about, TrialsPassed(t))
	}
	if e.durationMS > 0 {
		about = append(about, text.Milliseconds(e.durationMS))
	}
	return strings.Join(about, " · ")
}

// shortfall says why a test failed: its score or graded score, or a check of a strict test.
func shortfall(e *entry) string {
	about := "score " + scoreWords(e.score, e.graded)
	if result.Reaches(e.score, e.threshold) && (e.graded == nil || result.Reaches(*e.graded, e.threshold)) {
		return about + ", but a check failed"
	}
	return fmt.Sprintf("%s, needs %s", about, score(e.threshold))
}

// detail explains a test: what went wrong place by place, its simulated user, and where to look. The test's page is
// there where page names one.
func (r *Report) detail(x explained, page string) *document.Section {
	d := summaryOf(x.entry)
	trial := ""
	if x.trials != nil {
		own := document.List{Title: "all trials", Noun: "failure", Left: max(0, len(x.entry.failures)-maxListed)}
		for _, f := range x.entry.failures[:min(len(x.entry.failures), maxListed)] {
			own.Entries = append(own.Entries, failureEntry(f, nil))
		}
		d.Lists = append(d.Lists, own)
		if x.trial > 0 {
			trial = fmt.Sprintf("trial %d scored %s, ", x.trial, score(x.Test.Score))
		}
	}
	found := findings(x.Test)
	if x.trials != nil && x.trial == 0 {
		found = nil // an aggregate has no findings but its failures
	}
	for _, f := range found[:min(len(found), maxFindings)] {
		l := document.List{
			Title: trial + text.OneLine(f.positionFindings, 60) + f.about(),
			Noun:  "failure", Left: max(0, len(f.failures)-maxListed),
		}
		for _, failure := range f.failures[:min(len(f.failures), maxListed)] {
			l.Entries = append(l.Entries, failureEntry(failure, f.unmet))
		}
		for _, a := range f.unmet {
			l.Entries = append(l.Entries, document.Entry{Verdict: result.Fail, Text: sentence(a)})
		}
		d.Lists = append(d.Lists, l)
	}
	if left := len(found) - maxFindings; left > 0 {
		d.Notes = append(d.Notes, "… and "+text.Plural(left, "more place"))
	}
	if names := notReached(x.Test); len(names) > 0 {
		d.Notes = append(d.Notes, "skipped: "+strings.Join(names, ", "))
	}
	if user := userLine(x.User); user != "" {
		d.Notes = append(d.Notes, "user: "+user)
	}
	if x.entry.failing() {
		if at := x.entry.at.String(); at != "" {
			d.Plain = append(d.Plain, "at "+at)
		}
		if page != "" {
			d.Plain = append(d.Plain, "see "+page+"#"+spotOf(x.Test))
		}
	}
	return d
}

// failureEntry is a failure with its sentence, unless the criteria that follow have it.
func failureEntry(f result.Failure, unmet []result.Assertion) document.Entry {
	e := document.Entry{Code: text.OneLine(string(f.Code), 40), Note: strings.TrimSpace(from(f.Source))}
	has := func(a result.Assertion) bool { return !a.Passed && a.Text != "" && strings.Contains(f.Message, a.Text) }
	if !slices.ContainsFunc(unmet, has) {
		e.Text = text.OneLine(f.Message, maxSentence)
	}
	return e
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
