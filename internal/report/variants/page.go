package variants

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed session.html.tmpl
var sessionSource string

//go:embed page.css
var pageStyle string

//go:embed session.css
var sessionStyle string

// pageTemplate is the template of a replay run's page: that of a document, drawings, and sessions side by side.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return document.ParsePage(sessionStyle+pageStyle, pageSource+sessionSource)
})

// draw returns a drawing of the template. One that fails is left out: the figure is next to it.
func draw(name string, data any) template.HTML {
	var b strings.Builder
	if err := pageTemplate().ExecuteTemplate(&b, name, data); err != nil {
		return ""
	}
	return template.HTML(b.String())
}

// Limits of a replay run's page, so that a browser shows it at once.
const (
	maxPairs   = 500     // sessions
	maxHTML    = 4 << 20 // bytes of the page as far as the last session side by side
	leastHTML  = 1 << 20 // bytes of sessions side by side, however long the lists are
	maxMisfits = 10      // sessions that are tried after the room has become too small for one
)

// sessionsView is what is above the sessions, and below them.
type sessionsView struct {
	Filters    []document.Filter
	Shown, All int
	// Lines counts the sessions of which only the line is shown.
	Lines int
	// Support and Grey explain the sessions side by side.
	Support, Grey string
}

// HTML writes the report of a replay run as one self-contained page: no script, nothing from the network, every text
// escaped. The sessions that differ most come first. At most 500 are listed, and as many of these side by side as a
// page of 4 MB has room for; the page counts what it leaves out.
func HTML(w io.Writer, r *replay.Report) error {
	pairs := shownPairs(r)
	anchors, places := anchorsOf(pairs)
	heads := make([]pairHead, len(pairs))
	for i, p := range pairs {
		heads[i] = pairHeadOf(p)
		heads[i].Anchor = anchors[i]
		heads[i].Open = i == 0 && len(pairs) > 1 && heads[i].Kind != "same" && heads[i].Kind != "out"
	}
	v := sessionsView{
		Filters: filtersOf(heads), Shown: len(pairs), All: max(r.Run.Sessions+r.Run.PairsDropped, len(r.Sessions)),
		Support: supportedMeans(r.Run.Mode), Grey: greyMeans(r.Run.Mode),
	}
	d := documentOf(r, places, "")
	counted := &counter{w: w}
	d.Body = func(w io.Writer) error {
		if err := pageTemplate().ExecuteTemplate(w, "sessions-open", v); err != nil {
			return err
		}
		var body bytes.Buffer
		room, misfits := max(maxHTML-counted.n, leastHTML), 0
		for i, p := range pairs {
			body.Reset()
			fits := misfits < maxMisfits
			if fits {
				if err := pageTemplate().ExecuteTemplate(&body, "pair-body", pairViewOf(r, p)); err != nil {
					return err
				}
				fits = body.Len() <= room
			}
			if fits {
				room -= body.Len()
			} else {
				misfits++
				v.Lines++
			}
			if err := writePair(w, &heads[i], body.Bytes(), fits); err != nil {
				return err
			}
		}
		return pageTemplate().ExecuteTemplate(w, "sessions-close", v)
	}
	return document.HTML(counted, d, pageTemplate())
}

// shownPairs are the sessions that the page shows.
func shownPairs(r *replay.Report) []*replay.Pair {
	pairs := mostDifferent(r.Sessions)
	return pairs[:min(len(pairs), maxPairs)]
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

// writePair writes a session with what is inside, or its line alone where that does not fit any more.
func writePair(w io.Writer, h *pairHead, body []byte, fits bool) error {
	if !fits {
		return pageTemplate().ExecuteTemplate(w, "pair-row", h)
	}
	if err := pageTemplate().ExecuteTemplate(w, "pair-open", h); err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	return pageTemplate().ExecuteTemplate(w, "pair-close", nil)
}

// greyMeans says what a grey turn is.
func greyMeans(mode replay.Mode) string {
	if mode == replay.Forced {
		return "One that could not be taken is grey, and counts as one that leads nowhere."
	}
	return "What follows one that is not says little about the variant, and is grey."
}

// Limits of a session side by side in Markdown.
const (
	maxSideBySide     = 5   // sessions
	maxSideBySideRows = 15  // turns of one
	maxSideBySideText = 200 // characters of one message
)

// mostDifferentSideBySide returns the sessions that differ most, each as a table of its turns.
func mostDifferentSideBySide(r *replay.Report) func(yield func(*document.Section, error) bool) {
	return func(yield func(*document.Section, error) bool) {
		for i, p := range mostDifferent(r.Sessions) {
			if i == maxSideBySide || p.Dropped != "" || unlike(p) == 0 || !yield(sideBySide(p), nil) {
				return // what follows is less different still
			}
		}
	}
}

func sideBySide(p *replay.Pair) *document.Section {
	lanes := variationsOf(p)
	t := document.Table{Columns: []document.Column{{Name: "User"}}, Noun: "turn", Elsewhere: " in the JSON report"}
	var about []string
	for _, l := range lanes {
		about = append(about, strings.ToLower(variantWord(l.Name))+" "+variantSummary(p, l))
		t.Columns = append(t.Columns, document.Column{Name: variantWord(l.Name)})
	}
	turns := turnsOf(lanes)
	for n := range min(turns, maxSideBySideRows) {
		t.Rows = append(t.Rows, turnRow(lanes, n))
	}
	t.Left = turns - len(t.Rows)
	return &document.Section{Title: text.OneLine(p.SessionID, 100), Side: "· " + strings.Join(about, " · "),
		Tables: []document.Table{t}}
}

// turnRow is turn n of all lanes. A user message that differs from the first is in the cell of its lane.
func turnRow(lanes []*replay.Variation, n int) document.Row {
	row := document.Row{Cells: []document.Cell{{}}}
	for i, l := range lanes {
		t := turnOf(l, n)
		if t == nil {
			row.Cells = append(row.Cells, document.Cell{Text: "–"})
			continue
		}
		user := text.OneLine(t.User, maxSideBySideText)
		if t.Invented {
			user = "(simulated) " + user
		}
		cell := document.Cell{Text: text.OneLine(t.Bot, maxSideBySideText), Note: text.OneLine(t.State, 60)}
		switch {
		case row.Cells[0].Text == "":
			row.Cells[0].Text = user
		case row.Cells[0].Text != user:
			cell.Text = fmt.Sprintf("(user: %s) %s", user, cell.Text)
		}
		if logged := turnOf(lanes[0], n); i > 0 && logged != nil && logged.State != t.State {
			cell.Note = "≠ " + cell.Note
		}
		if !t.Supported && i > 0 {
			cell.Note += " · not supported"
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// variantSummary says how a session went in a lane.
func variantSummary(p *replay.Pair, l *replay.Variation) string {
	s := "not completed"
	switch {
	case l.Name == replay.Observed:
		s = outcomeWord(p.Outcome)
	case l.Error != "":
		s = "failed"
	case l.Endless:
		s = "end not told"
	case l.Completed:
		s = "completed"
	case l.Censored:
		s = waitedWords
	}
	return s + " in " + text.Plural(len(l.Turns), "turn")
}
