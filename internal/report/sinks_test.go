package report_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// hostileRunes are one or more of every class of characters that act instead of showing themselves.
var hostileRunes = map[string][]rune{
	"C0 control":           {0x00, 0x07, 0x08, 0x1b, 0x1f, 0x7f},
	"C1 control":           {0x80, 0x85, 0x9b, 0x9f},
	"direction mark":       {0x061c, 0x200e, 0x200f},
	"direction override":   {0x202a, 0x202d, 0x202e, 0x2066, 0x2069},
	"line separator":       {0x2028, 0x2029},
	"byte order mark":      {0xfeff},
	"zero width":           {0x200b, 0x2060, 0x2064, 0x180e, 0x00ad, 0x034f},
	"filler":               {0x115f, 0x3164, 0xffa0},
	"annotation":           {0xfff9, 0xfffb},
	"tag":                  {0xe0001, 0xe0041, 0xe007f},
	"variation supplement": {0xe0100, 0xe01ef},
	"no character":         {0xfdd0, 0xfffe, 0xffff, 0x1fffe, 0x10ffff},
}

// TestHostileTextActsNowhere puts every such character, and commands of CI systems, into every text of a run and of a
// drawing.
func TestHostileTextActsNowhere(t *testing.T) {
	var all strings.Builder
	for _, class := range hostileRunes {
		for _, r := range class {
			fmt.Fprintf(&all, "a%cz ", r)
		}
	}
	for sink, write := range sinks(all.String()) {
		t.Run(sink, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "a") {
				t.Fatal("nothing was written")
			}
			// Attributes of the page name what is meant, exactly; nothing shows them.
			shown := regexp.MustCompile(` data-[a-z-]+="[^"]*"`).ReplaceAllString(b.String(), "")
			for class, runes := range hostileRunes {
				for _, r := range runes {
					if strings.Contains(shown, fmt.Sprintf("a%cz", r)) {
						t.Errorf("%s %U is written as it is", class, r)
					}
				}
			}
		})
	}
}

// TestOutputIsNotACommand holds what CI systems would carry out if they read it on standard output.
func TestOutputIsNotACommand(t *testing.T) {
	for _, hostile := range []string{
		"::error::x", "hello\n::set-output name=a::b", "hello\n \t::error file=a::x", "go ##vso[task.setvariable]x",
		"##[error]x", "##teamcity[buildStatus]",
	} {
		for sink, write := range sinks(hostile) {
			if !strings.HasPrefix(sink, "terminal") {
				continue
			}
			t.Run(sink+" "+hostile, func(t *testing.T) {
				var b bytes.Buffer
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(b.String()) {
					line = strings.TrimLeft(line, " \t")
					if len(line) > 2 && line[:2] == "::" && line[2] >= 'a' && line[2] <= 'z' {
						t.Errorf("a line begins with a command: %q", line)
					}
					for _, command := range []string{"##vso[", "##[", "##teamcity["} {
						if strings.Contains(line, command) {
							t.Errorf("a line holds a command: %q", line)
						}
					}
				}
			})
		}
	}
}

// sinks returns everything that writes texts from outside, with the hostile text in each place.
func sinks(hostile string) map[string]func(io.Writer) error {
	tests := hostileTests(hostile)
	run, _ := sample()
	run.Version, run.Suites, run.Targets, run.Totals = hostile, []string{hostile}, []string{hostile}, result.Totals{}
	diff, err := compareWith(run, tests)
	if err != nil {
		panic(err)
	}
	run.Comparison = diff
	r := report.New(run, each(tests...))
	graph := draw.Graph{
		Title: hostile, Nodes: []draw.Node{{ID: "a" + hostile, Label: hostile, Note: hostile}, {ID: "b"}},
		Edges: []draw.Edge{{From: "a" + hostile, To: "b", Label: hostile}},
	}
	return map[string]func(io.Writer) error{
		"terminal":         func(w io.Writer) error { return r.Text(w, report.TextOptions{Dir: hostile}) },
		"terminal verbose": func(w io.Writer) error { return r.Text(w, report.TextOptions{Verbose: true}) },
		"terminal talks": func(w io.Writer) error {
			return r.Text(w, report.TextOptions{Verbose: true, Simulated: true,
				Width: 30})
		},
		"terminal narrow":     func(w io.Writer) error { return r.Text(w, report.TextOptions{Width: 30}) },
		"terminal difference": func(w io.Writer) error { return report.ComparisonText(w, diff, report.TextOptions{}) },
		"terminal transcript": r.Transcript,
		"Markdown":            r.Markdown,
		"JUnit":               r.JUnit,
		"HTML":                r.HTML,
		"SVG":                 func(w io.Writer) error { return draw.SVG(w, graph) },
		"Mermaid":             func(w io.Writer) error { return draw.Mermaid(w, graph) },
	}
}

// hostileTests returns a test that passed and one that did not, every text of which is the hostile one.
func hostileTests(hostile string) []*result.Test {
	passed, failed := test(hostile, hostile, hostile, hostile), test(hostile, hostile+"2", hostile, hostile)
	for _, x := range []*result.Test{passed, failed} {
		x.Target, x.Tags, x.Metadata = hostile, []string{hostile}, map[string]any{"note": hostile}
		x.Turns[0].Node, x.Turns[0].TurnID, x.Turns[0].TraceID = hostile, hostile, hostile
		x.User = &result.User{
			Model: hostile, Turns: 1, End: result.UserEnd(hostile), Faults: []result.UserFault{{Code: hostile, Turn: 1,
				Message: hostile}},
			Quality: &result.UserQuality{GoalOverlap: new(0.5), GoalStated: new(true), FactsGiven: []string{hostile},
				FactsWithheld: []string{hostile}},
		}
		x.Turns[0].ToolCalls = []chat.ToolCall{{Name: hostile, Args: []byte(`{}`)}}
	}
	failed.Verdict, failed.Score = result.Fail, 0
	s := assert(failed, 1, 0, unmet(hostile, hostile, hostile))
	fail(failed, s, result.Failure{Code: result.AssistantContent, Source: hostile, Message: hostile, Turn: 1})
	return []*result.Test{passed, failed}
}
