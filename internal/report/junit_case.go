package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

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
		Classname: text.Visible(e.suite), Name: name, Time: fmt.Sprintf("%.3f", e.durationMS/1000),
		File: text.Visible(e.at.file), Line: e.at.line,
	}
	spot := cmp.Or(e.spot, e.key().Anchor())
	if j.onPage != nil && !j.onPage[e.id] {
		spot = "" // the page says that it leaves tests out
	}
	c.say("report", j.link(spot))
	c.say("review", e.reviewed())
	if at := slices.IndexFunc(j.run.RanOut, func(out result.RanOut) bool {
		return out.Suite == e.suite &&
			out.TestID == e.test
	}); at >= 0 {
		c.say("quarantine", ranOut(j.run.RanOut[at]))
	}
	if t != nil && t.User != nil {
		c.Output = "user: " + userLine(t.User)
	}
	if e.quarantined != nil {
		q := e.quarantined
		c.Skipped = &problem{Message: text.OneLine(fmt.Sprintf("%s (in quarantine until %s, owned by %s)", q.Reason,
			q.Until, q.Owner), 500)}
		return c
	}
	switch e.verdict {
	case result.Pass:
		c.Output = strings.TrimPrefix(c.Output+"\n"+e.checks, "\n")
		if e.trials != nil && trialsNotRun(e.trials) != "" {
			c.Output = strings.TrimPrefix(c.Output+"\n"+TrialsPassed(e.trials), "\n")
		}
		return c
	case result.Ungraded:
		c.Skipped = &problem{Message: "not graded: the test has no assertions"}
		return c
	}
	p := &problem{Type: "FAIL", Message: shortfall(e)}
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

// say adds a property, unless it says nothing.
func (c *testcase) say(name, value string) {
	if value == "" {
		return
	}
	if c.Properties == nil {
		c.Properties = &properties{}
	}
	c.Properties.Property = append(c.Properties.Property, property{name, value})
}

// maxReply is how much of a reply stands in the body of a failure.
const maxReply = 4_000

// body says what was expected and what came instead, place by place.
func body(t *result.Test, trial string) string {
	var b strings.Builder
	b.WriteString("\n")
	if t.Trials != nil {
		b.WriteString(TrialsPassed(t.Trials) + "\n")
	}
	for _, f := range findings(t) {
		fmt.Fprintf(&b, "%s\n", text.OneLine(f.positionFindings, 60)+f.about())
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
				fmt.Fprintf(&b, "  user: %s\n  reply: %s\n", text.Beginning(turn.Input.String(), maxReply),
					text.Beginning(turn.Output, maxReply))
			}
		}
	}
	if names := notReached(t); len(names) > 0 {
		fmt.Fprintf(&b, "skipped: %s\n", strings.Join(names, ", "))
	}
	b.WriteString(trial)
	return b.String()
}
