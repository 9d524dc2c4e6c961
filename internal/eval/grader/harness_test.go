package grader

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// read decodes a YAML list of assertions as a suite would, from a file called s.yaml.
func read(t testing.TB, yaml, dir string) []suite.Assertion {
	t.Helper()
	v, err := source.ParseYAML("s.yaml", []byte(yaml))
	if err != nil {
		t.Fatalf("ParseYAML(%s): %v", yaml, err)
	}
	reader := &source.Reader{File: "s.yaml"}
	assertions := suite.Assertions(reader.Node(v, "assertions"), dir)
	if len(reader.Problems) > 0 {
		t.Fatalf("Assertions(%s): %v", yaml, reader.Problems)
	}
	return assertions
}

// one returns the check of a single assertion.
func one(t testing.TB, s *Set, yaml string) runner.Check {
	t.Helper()
	assertions := read(t, "- "+strings.ReplaceAll(yaml, "\n", "\n  "), t.TempDir())
	if len(assertions) != 1 {
		t.Fatalf("expected one assertion of %s, got %d", yaml, len(assertions))
	}
	check, err := s.Check(assertions[0])
	if err != nil {
		t.Fatalf("Check(%s): %v", yaml, err)
	}
	return check
}

// reply is an exchange of one turn with nothing but a reply.
func reply(text string) *runner.Exchange {
	return &runner.Exchange{Test: &suite.Test{}, Turn: 1, TurnCount: 1, Output: text, Text: text}
}

func grade(t testing.TB, check runner.Check, x *runner.Exchange) result.Grade {
	t.Helper()
	g, err := check.Grader.Grade(context.Background(), x)
	if err != nil {
		t.Fatalf("Grade: %v", err)
	}
	sound(t, g)
	return g
}

// sound checks what holds of every grade.
func sound(t testing.TB, g result.Grade) {
	t.Helper()
	if !(g.Score >= 0 && g.Score <= 1) {
		t.Errorf("score %v is not from 0 to 1", g.Score)
	}
	if len(g.Assertions) == 0 {
		t.Errorf("a grade without assertions")
	}
	if g.Code == "" {
		t.Errorf("a grade without a code")
	}
	if g.Reason != "" && (!strings.HasPrefix(g.Reason, "wanted: ") || !strings.Contains(g.Reason, "; got: ")) {
		t.Errorf("reason %q is not of the form wanted: …; got: …", g.Reason)
	}
	if strings.Contains(g.Reason, "%!") {
		t.Errorf("reason %q is badly formatted", g.Reason)
	}
}

// gradeCase is one row of a table: an assertion, a reply, the score, and for a failure a part of the reason,
// for a pass a part of the evidence.
type gradeCase struct {
	yaml  string
	reply string
	score float64
	says  string
}

func runCases(t *testing.T, cases []gradeCase) {
	t.Helper()
	s := New(Config{})
	for _, tc := range cases {
		t.Run(tc.yaml+"/"+cutRunes(tc.reply, 20), func(t *testing.T) {
			g := grade(t, one(t, s, tc.yaml), reply(tc.reply))
			if diff := g.Score - tc.score; diff > 1e-4 || diff < -1e-4 {
				t.Errorf("%s of %s: score %v, want %v (%s)", tc.yaml, quote(tc.reply), g.Score, tc.score, g.Reason)
			}
			text := g.Reason
			if g.Reason == "" {
				text = g.Assertions[0].Evidence
			}
			if g.Assertions[0].Passed == (g.Reason != "") && len(g.Assertions) == 1 {
				t.Errorf("%s of %s: passed %t with reason %q", tc.yaml, quote(tc.reply),
					g.Assertions[0].Passed, g.Reason)
			}
			if !strings.Contains(text, tc.says) {
				t.Errorf("%s of %s says %q, want %q in it", tc.yaml, quote(tc.reply), text, tc.says)
			}
		})
	}
}

// problemCase is a broken assertion with the place and a part of the report.
type problemCase struct {
	yaml         string
	line, column int
	says         string
}

func runProblems(t *testing.T, cases []problemCase) {
	t.Helper()
	s := New(Config{})
	for _, tc := range cases {
		t.Run(tc.yaml, func(t *testing.T) {
			var found source.Problems
			for _, a := range read(t, "- "+strings.ReplaceAll(tc.yaml, "\n", "\n  "), t.TempDir()) {
				found = append(found, s.Validate(a)...)
			}
			if len(found) != 1 {
				t.Fatalf("%s: want one problem, got %d:\n%v", tc.yaml, len(found), found)
			}
			p := found[0]
			if p.Line != tc.line || p.Column != tc.column {
				t.Errorf("%s: reported at %d:%d, want %d:%d", tc.yaml, p.Line, p.Column, tc.line, tc.column)
			}
			if text := p.String(); !strings.Contains(text, tc.says) || p.Hint == "" ||
				!strings.HasPrefix(text, "s.yaml:") || !strings.HasPrefix(p.Path, "assertions[0]") {
				t.Errorf("%s: %q, want %q in it", tc.yaml, text, tc.says)
			}
		})
	}
}
