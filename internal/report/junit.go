package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"rehearse/internal/result"
	"rehearse/internal/text"
)

// maxHeld bounds the memory in which JUnit sorts test cases by suite, and in which trials wait for their aggregate.
const maxHeld = 16 << 20

// JUnit writes the report as JUnit XML: a testsuite per suite and a testcase per test, all of them.
// A test with trials is one test case; what failed in its trials is in its body.
//
// The tests of several suites may come mixed. They are sorted in bounded memory, which takes a further reading of the
// stream for every 16 MB of test cases, or per suite, whichever is less.
func (r *Report) JUnit(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	j := &junit{w: w, run: run, manyTargets: manyTargets(run, s), link: r.link}
	t := run.Totals
	j.printf("%s<testsuites name=\"rehearse\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"%s>\n",
		xml.Header, t.Tests+len(s.notRun), t.Failed, t.Errors, t.Skipped+t.Quarantined+len(s.notRun), run.DurationMS/1000, j.timestamp())
	todo := s.suites
	for len(todo) > 0 && j.err == nil {
		if todo, err = r.junitPass(j, s, todo); err != nil {
			return err
		}
	}
	j.printf("</testsuites>\n")
	return j.err
}

// junit writes the document; its first error is kept.
type junit struct {
	w           io.Writer
	run         result.Run
	manyTargets bool
	link        func(id string) string
	err         error
}

func (j *junit) printf(format string, args ...any) {
	if j.err == nil {
		_, j.err = fmt.Fprintf(j.w, format, args...)
	}
}

func (j *junit) timestamp() string {
	if j.run.StartedAt.IsZero() {
		return ""
	}
	return fmt.Sprintf(" timestamp=\"%s\"", j.run.StartedAt.UTC().Format("2006-01-02T15:04:05"))
}

// manyTargets reports whether test ids alone would name several test cases.
func manyTargets(run result.Run, s *survey) bool {
	if len(run.Targets) > 1 {
		return true
	}
	for _, list := range [][]*entry{s.failing, s.others} {
		for _, e := range list {
			if e.target != list[0].target {
				return true
			}
		}
	}
	return false
}

// junitPass reads the stream once. It writes the first suite of todo as it comes and those others that fit into memory,
// and returns what is left to do.
func (r *Report) junitPass(j *junit, s *survey, todo []*suiteTally) ([]*suiteTally, error) {
	direct := todo[0]
	held := make(map[string]*bytes.Buffer, len(todo)) // nil for suites that wait for the next pass
	for _, suite := range todo[1:] {
		held[suite.name] = &bytes.Buffer{}
	}
	fits, size := len(todo)-1, 0
	trials := map[id]trialCase{} // of tests whose aggregate has not come yet: the first that did not pass
	trialSize := 0
	write := func(suite string, c testcase) {
		block, err := xml.MarshalIndent(c, "    ", "  ")
		if err != nil && j.err == nil {
			j.err = err
		}
		if suite == direct.name {
			j.printf("%s\n", block)
			return
		}
		held[suite].Write(append(block, '\n'))
		for size += len(block) + 1; size > maxHeld; fits-- {
			last := todo[fits].name
			size -= held[last].Len()
			held[last] = nil
		}
	}
	j.openSuite(direct)
	for t, err := range r.tests {
		if err != nil {
			return nil, err
		}
		key := idOf(t)
		switch {
		case t.Suite != direct.name && held[t.Suite] == nil:
		case t.Trial > 0:
			if _, ok := trials[key]; !ok && t.Verdict != result.Pass && trialSize < maxHeld {
				trials[key] = trialCaseOf(t)
				trialSize += len(trials[key].body)
			}
		default:
			e := glance(t)
			e.review = r.book.OfTest(e.suite, e.test, e.target)
			write(t.Suite, j.testcase(e, t, trials[key]))
			trialSize -= len(trials[key].body)
			delete(trials, key)
		}
		if j.err != nil {
			return nil, j.err
		}
	}
	for _, e := range s.notRun {
		if e.suite == direct.name || held[e.suite] != nil {
			write(e.suite, j.testcase(e, nil, trialCase{}))
		}
	}
	j.printf("  </testsuite>\n")
	for _, suite := range todo[1 : fits+1] {
		j.openSuite(suite)
		j.printf("%s  </testsuite>\n", held[suite.name])
	}
	return todo[fits+1:], j.err
}

func (j *junit) openSuite(s *suiteTally) {
	var name strings.Builder
	// A builder takes everything.
	_ = xml.EscapeText(&name, []byte(text.Visible(s.name)))
	j.printf("  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"%s>\n",
		name.String(), s.tests, s.failures, s.errors, s.skipped, s.ms/1000, j.timestamp())
}

// testcase is one test in the words of JUnit.
type testcase struct {
	XMLName   xml.Name `xml:"testcase"`
	Classname string   `xml:"classname,attr"`
	Name      string   `xml:"name,attr"`
	Time      string   `xml:"time,attr"`
	File      string   `xml:"file,attr,omitempty"`
	Line      int      `xml:"line,attr,omitempty"`
	// Properties holds the address of the test on the page of the run.
	Properties *properties `xml:"properties"`
	Failure    *problem    `xml:"failure"`
	Error      *problem    `xml:"error"`
	Skipped    *problem    `xml:"skipped"`
	// Output says what the simulated user of the test did.
	Output string `xml:"system-out,omitempty"`
}

type properties struct {
	Property []property `xml:"property"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type problem struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr,omitempty"`
	Body    string `xml:",cdata"`
}

// trialCase is what a trial adds to the case of its test.
type trialCase struct {
	failures []result.Failure
	body     string
}

func trialCaseOf(t *result.Test) trialCase {
	return trialCase{failuresOf(t), fmt.Sprintf("trial %d:%s", t.Trial, body(t, ""))}
}

// failuresOf returns a test's failures in the order in which its findings tell them.
func failuresOf(t *result.Test) []result.Failure {
	var failures []result.Failure
	for _, f := range findings(t) {
		failures = append(failures, f.failures...)
	}
	return failures
}

// testcase returns the case of a test; t is nil for a test that was not run.
func (j *junit) testcase(e *entry, t *result.Test, trial trialCase) testcase {
	name := text.Visible(e.test)
	if j.manyTargets && e.target != "" {
		name += " [" + text.Visible(e.target) + "]"
	}
	c := testcase{
		Classname: text.Visible(e.suite), Name: name, Time: fmt.Sprintf("%.3f", e.durationMS/1000), File: text.Visible(e.at.file), Line: e.at.line,
	}
	if page := j.link(cmp.Or(e.spot, e.key().Anchor())); page != "" {
		c.Properties = &properties{[]property{{"report", page}}}
	}
	if review := e.reviewed(); review != "" {
		if c.Properties == nil {
			c.Properties = &properties{}
		}
		c.Properties.Property = append(c.Properties.Property, property{"review", review})
	}
	if t != nil && t.User != nil {
		c.Output = "user: " + userLine(t.User)
	}
	if e.quarantined != nil {
		q := e.quarantined
		c.Skipped = &problem{Message: text.OneLine(fmt.Sprintf("%s (in quarantine until %s, owned by %s)", q.Reason, q.Until, q.Owner), 500)}
		return c
	}
	if e.verdict == result.Pass {
		return c
	}
	p := &problem{Type: "FAIL", Message: fmt.Sprintf("scored %s, needs %s", score(e.score), score(e.threshold))}
	failures := e.failures
	if t != nil {
		p.Body = text.Visible(e.at.String()) + body(t, trial.body)
		failures = append(failuresOf(t), trial.failures...)
	}
	if len(failures) > 0 {
		p.Type, p.Message = text.Visible(string(failures[0].Code)), text.OneLine(failures[0].Message, 500)
	}
	switch e.verdict {
	case result.Fail:
		c.Failure = p
	case result.Error:
		c.Error = p
	default:
		c.Skipped = &problem{Message: cmp.Or(text.OneLine(e.reason, 500), p.Message)}
	}
	return c
}

// maxReply is how much of a reply stands in the body of a failure.
const maxReply = 4_000

// body says what was expected and what came instead, place by place.
func body(t *result.Test, trial string) string {
	var b strings.Builder
	b.WriteString("\n")
	if t.Trials != nil {
		fmt.Fprintf(&b, "%d of %s passed\n", t.Trials.Passed, text.Plural(t.Trials.Count, "trial"))
	}
	for _, f := range findings(t) {
		fmt.Fprintf(&b, "%s\n", text.OneLine(f.place, 60)+f.about())
		for _, x := range f.failures {
			fmt.Fprintf(&b, "  %s%s: %s\n", text.OneLine(string(x.Code), 40), from(x.Source), text.Visible(x.Message))
		}
		for _, a := range f.unmet {
			fmt.Fprintf(&b, "  expected: %s\n", text.Visible(a.Text))
			if a.Evidence != "" {
				fmt.Fprintf(&b, "  actual: %s\n", text.Visible(a.Evidence))
			}
		}
		for _, turn := range t.Turns {
			if turn.Index == f.turn {
				fmt.Fprintf(&b, "  user: %s\n  reply: %s\n", text.Beginning(turn.Input.String(), maxReply), text.Beginning(turn.Output, maxReply))
			}
		}
	}
	if names := notReached(t); len(names) > 0 {
		fmt.Fprintf(&b, "skipped: %s\n", strings.Join(names, ", "))
	}
	b.WriteString(trial)
	return b.String()
}
