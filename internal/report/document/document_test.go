package document_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/report/reporttest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

const hostile = "<script>alert(1)</script> | *x* @everyone `c` \x1b[2J\u202e"

// sample returns a document with everything that a writer has to write.
func sample() *document.Document {
	bar := document.BarOf(0.5, [2]float64{0.25, 0.75})
	tests := document.Table{
		Columns: []document.Column{{}, {Name: "Test"}, {Name: "Score", Number: true}, {Name: "Never filled"}},
		Left:    2, Noun: "test", Elsewhere: ": see report.html",
	}
	for i, v := range []result.Verdict{result.Fail, result.Error, result.Pass, result.Skip} {
		tests.Rows = append(tests.Rows, document.Row{
			Level: i % 2, Attr: document.Data("data-row", "t\""), Cells: []document.Cell{
				{Verdict: v}, {Text: fmt.Sprintf("test %d", i), Note: "suite", Link: "#test"},
				{Text: "0.50", Bar: &bar, Note: "of 1.00", Strong: v == result.Fail}, {},
			}})
	}
	names := document.List{ID: "lost", Title: "Lost", Meaning: "not completed", Count: "30", Left: 5,
		Elsewhere: " in the store"}
	for i := range 25 {
		names.Entries = append(names.Entries, document.Entry{Text: fmt.Sprintf("session-%02d", i)})
	}
	detail := &document.Section{
		Title: "refund", Verdict: result.Fail, Side: "score 0.20, needs 0.80", From: "shop · bot",
		Link: "report.html#t",
		Lists: []document.List{{Title: "turn 2", Entries: []document.Entry{
			{Code: "ASSISTANT_CONTENT", Note: "by contains", Text: "wanted: yes"}, {Verdict: result.Fail,
				Text: "is polite: it is not"},
		}}},
		Notes: []string{"skipped: turn 3"}, Plain: []string{"at suite.yaml:3"},
		Transcript: []chat.Message{chat.NewMessage(chat.User, "Hi ```"), chat.NewMessage(chat.Assistant, hostile)},
	}
	return &document.Document{
		Kind: "run", ID: "r1", Verdict: result.Fail, Headline: "1 of 2 tests failed", Answer: "Do not ship",
		Warning: "one judge failed",
		Lead:    []document.Fact{{Value: "the refund is wrong"}, {Name: "May it be believed?", Value: "Yes."}},
		About:   []document.Fact{{Name: "Candidate", Value: hostile}},
		Rate: &document.Rate{Fact: document.Fact{Name: "pass rate", Value: "50%", Note: "95% interval 25–75%"},
			Bar: &bar},
		Counts: []document.Count{{Name: "passed", Verdict: result.Pass, N: 1}, {Name: "failed", Verdict: result.Fail,
			N: 1}},
		Facts: []document.Fact{{Name: "cost", Value: "unknown", Note: "at least $1"}, {Name: "never filled"}},
		Sections: []document.Section{
			{ID: "tests", Title: "Tests", Nav: "Tests", Lead: "Failing ones first.", Tables: []document.Table{tests}},
			{ID: "lists", Title: "Lists", Lists: []document.List{names, {Entries: []document.Entry{{Text: hostile,
				Note: "a note", From: "here"}}}}},
			{ID: "more", Title: "More", Fold: true, Notes: []string{"a fold"}},
			{ID: "none", Title: "Nothing"},
			{ID: "page", Title: "Page only", In: document.OnPage, Notes: []string{"on a page"}},
		},
		Details:   func(yield func(*document.Section, error) bool) { yield(detail, nil) },
		Rest:      func(written int) string { return fmt.Sprintf("… and %d more", 3-written) },
		Foot:      []document.Fact{{Name: "command", Value: "rehearse run"}},
		Signature: "rehearse · run r1",
	}
}

var pieces = document.ParsePage("", "")

func writers(width int, colour bool) map[string]func(io.Writer, *document.Document) error {
	return map[string]func(io.Writer, *document.Document) error{
		"txt":  func(w io.Writer, d *document.Document) error { return document.Text(w, d, width, colour) },
		"md":   document.Markdown,
		"html": func(w io.Writer, d *document.Document) error { return document.HTML(w, d, pieces) },
	}
}

func write(t *testing.T, format string, d *document.Document) string {
	t.Helper()
	return reporttest.Rendered(t, func(w io.Writer) error { return writers(80, false)[format](w, d) })
}

func TestGolden(t *testing.T) {
	for format := range writers(80, false) {
		written := write(t, format, sample())
		if format == "html" { // without the style sheet
			_, written, _ = strings.Cut(written, "<body>")
		}
		golden.Compare(t, "sample."+format, written)
	}
	for name, width := range map[string]int{"narrow": 40, "colour": 100} {
		written := reporttest.Rendered(t, func(w io.Writer) error {
			return document.Text(w, sample(), width,
				name == "colour")
		})
		golden.Compare(t, name+".txt", written)
	}
}

// TestFactReachesEveryFormat checks that a fact, a note and a row that are added once are in every format.
func TestFactReachesEveryFormat(t *testing.T) {
	d := sample()
	d.Facts = append(d.Facts, document.Fact{Name: "new fact", Value: "17 apples", Note: "unknown before"})
	d.Sections = append(d.Sections, document.Section{
		ID: "new", Title: "New section", Notes: []string{"a new note"},
		Tables: []document.Table{{Columns: document.Columns(1, "Fruit", "Apples"),
			Rows: []document.Row{document.Words("garden", "18")}}},
	})
	for format := range writers(80, false) {
		written := write(t, format, d)
		for _, want := range []string{"17 apples", "unknown before", "New section", "a new note", "garden", "18"} {
			if !strings.Contains(written, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
}

// TestWideTablesLoseNothing checks that a table that is wider than the terminal has every cell.
func TestWideTablesLoseNothing(t *testing.T) {
	row := document.Words("name", strings.Repeat("a", 30), strings.Repeat("b", 30), strings.Repeat("c", 30))
	table := document.Table{Columns: document.Columns(1, "First", "Second", "Third", "Fourth"),
		Rows: []document.Row{row}}
	written := write(t, "txt", &document.Document{Sections: []document.Section{{Title: "Wide",
		Tables: []document.Table{table}}}})
	for _, cell := range row.Cells {
		if !strings.Contains(written, cell.Text) {
			t.Errorf("lacks %s:\n%s", cell.Text, written)
		}
	}
	for line := range strings.Lines(written) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("a line of %d: %s", len(line), line)
		}
	}
}

// TestLimitsAreCounted checks that what a format leaves out is counted, and that a section that does not fit is named.
func TestLimitsAreCounted(t *testing.T) {
	var rows []document.Row
	for range 20_000 {
		rows = append(rows, document.Words(strings.Repeat("x", 20)))
	}
	table := document.Table{Columns: document.Columns(1, "Name"), Rows: rows, Noun: "test"}
	var long []string
	for range 100 {
		long = append(long, strings.Repeat("long ", 700))
	}
	d := &document.Document{Headline: "h", Verdict: result.Pass, Sections: []document.Section{
		{Title: "Rows", Tables: []document.Table{table}}, {Title: "Too long", Notes: long}, {Title: "Short",
			Notes: []string{"fits"}},
	}}
	markdown := write(t, "md", d)
	shown := strings.Count(markdown, "| xxx")
	for format, want := range map[string]string{
		"txt": "… and 19,800 more tests", "md": fmt.Sprintf("… and 1%d,%03d more tests.", (20_000-shown)/1000-10,
			(20_000-shown)%1000),
	} {
		if written := write(t, format, d); !strings.Contains(written, want) {
			t.Errorf("%s does not count what it leaves out: %s", format, want)
		}
	}
	if len(markdown) > 65_536 || !strings.Contains(markdown, "Left out, since a comment has a limit: Too long.") ||
		!strings.Contains(markdown, "fits") {
		t.Errorf("Markdown of %d bytes does not name the section that it leaves out", len(markdown))
	}
	if page := write(t, "html", d); strings.Count(page, "<tr>") != 20_001 {
		t.Error("the page leaves out rows")
	}
}

// TestErrorsReachTheCaller checks that details that cannot be read and writers that are full are errors.
func TestErrorsReachTheCaller(t *testing.T) {
	broken, full := errors.New("broken log"), errors.New("disk full")
	for format, writer := range writers(80, false) {
		d := sample()
		var failing iter.Seq2[*document.Section, error] = func(yield func(*document.Section, error) bool) {
			yield(nil,
				broken)
		}
		d.Details = failing
		d.Body = func(io.Writer) error { return broken }
		if err := writer(io.Discard, d); !errors.Is(err, broken) {
			t.Errorf("%s of a broken log: %v", format, err)
		}
		if err := writer(failingWriter{full}, sample()); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: %v", format, err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
