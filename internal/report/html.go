package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Limits of report.html, so that a browser shows it at once whatever the size of the run. What passed is shown in full
// as far as the page stays below its size; what failed may make it larger.
const (
	maxRows    = 10_000           // tests on the page
	maxPage    = 5_000_000 - 1024 // bytes of the page, as far as what failed leaves it
	maxFailing = 32 << 20         // bytes of conversations that failed
	maxTrial   = 20               // trials of one test shown in full
	lineBytes  = 900              // about what a test takes beside its conversation
)

//go:embed page.html.tmpl
var pageSource string

// pageTemplate returns the parsed template of a run's page: pieces, so that it can be written as a stream.
var pageTemplate = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"words": codeWords, "notRun": trialsNotRun}
	return document.ParsePage(transcript.Style+filterStyle(), transcript.Source+pageSource, transcript.Functions(),
		functions)
})

// HTML writes the report as one self-contained page: no script, nothing from the network, every text escaped. Tests
// stand in the order of the run, those that failed open. What is left out is said.
func (r *Report) HTML(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	h := &htmlPage{pieces: map[*entry][]piece{}}
	shown := h.choose(run, s)
	if err := r.visit(h.full, h.render); err != nil {
		return err
	}
	d := r.document(run, s, "", false)
	d.Counts = nil // the filters have them
	d.About = aboutOf(run)
	d.Body = func(w io.Writer) error {
		h.w = w
		h.conversations(run, s, shown)
		return h.err
	}
	return document.HTML(w, d, pageTemplate())
}

// aboutOf says what was run with what.
func aboutOf(run result.Run) []document.Fact {
	with := strings.Join(run.Suites, ", ")
	if len(run.Targets) > 0 {
		with += " → " + strings.Join(run.Targets, ", ")
	}
	return []document.Fact{{Name: "Tests of", Value: with}, {Name: "Judged by", Value: run.Judge}}
}

// conversations writes the tests with what filters them.
func (h *htmlPage) conversations(run result.Run, s *survey, shown []*entry) {
	h.write("tests-open", filtersOf(run, s))
	suite := ""
	for i, e := range shown {
		if i == 0 || e.suite != suite {
			if i > 0 {
				h.write("suite-close", nil)
			}
			suite = e.suite
			h.write("suite-open", suite)
		}
		if h.pieces[e] == nil {
			h.write("row", headOf(e))
		} else {
			h.test(e)
		}
	}
	if len(shown) > 0 {
		h.write("suite-close", nil)
	}
	h.write("tests-close", left{Lines: len(shown) - len(h.pieces), Gone: run.Totals.Tests +
		run.Totals.NotRun - len(shown)})
}

// filtersOf counts the tests by verdict and by code; nil where all are of one kind.
func filtersOf(run result.Run, s *survey) []document.Filter {
	totals := s.records.Totals()
	filters := []document.Filter{{ID: "all", Label: "All", Count: totals.Tests + len(s.notRun)}}
	for _, f := range []document.Filter{
		{ID: "fail", Label: "Failed", Count: totals.Failed},
		{ID: "error", Label: "Errors", Count: totals.Errors},
		{ID: "pass", Label: "Passed", Count: totals.Passed},
		{ID: "ungraded", Label: "Not graded", Count: totals.Ungraded},
		{ID: "skip", Label: "Skipped", Count: totals.Skipped + len(s.notRun)},
		{ID: "quarantine", Label: "Quarantine", Count: totals.Quarantined},
	} {
		if f.Count > 0 {
			filters = append(filters, f)
		}
	}
	if len(filters) <= 2 {
		return nil
	}
	return append(filters, codeFilters(run)...)
}

// left counts the tests that stand on the page as a line, and those that do not stand there.
type left struct{ Lines, Gone int }

// htmlPage is a page on its way. The first error of writing is kept.
type htmlPage struct {
	w   io.Writer
	err error
	// full are the tests in the order in which they are worth room: what failed first. Those from keep on are a line
	// each.
	full []*entry
	rank map[*entry]int
	keep int
	// budget is what the conversations of tests that passed may take, together with the others.
	budget int
	pieces map[*entry][]piece
	size   int
}

// piece is a conversation, rendered.
type piece struct {
	trial int
	head  head
	html  []byte
}

func (h *htmlPage) write(name string, data any) {
	if h.err == nil {
		h.err = pageTemplate().ExecuteTemplate(h.w, name, data)
	}
}

// onPage returns the tests that stand on the page, what failed first.
func onPage(s *survey) []*entry {
	all := slices.Concat(s.failing, s.others)
	return all[:min(len(all), maxRows)]
}

// choose returns the tests that stand on the page, in the order of the run, and notes in which order they are worth
// room.
func (h *htmlPage) choose(run result.Run, s *survey) []*entry {
	h.full = onPage(s)
	shown := slices.Clone(h.full)
	inRunOrder(run, s, shown)
	failing := min(len(s.failing), len(h.full))
	inRunOrder(run, s, h.full[:failing])
	inRunOrder(run, s, h.full[failing:])
	h.rank = make(map[*entry]int, len(h.full))
	for i, e := range h.full {
		h.rank[e] = i
	}
	h.keep, h.budget = len(h.full), max(0, maxPage-lineBytes*len(shown))
	return shown
}

// limit returns how much may stand on the page with the test in it.
func (h *htmlPage) limit(e *entry) int {
	if e.failing() {
		return maxFailing
	}
	return h.budget
}

// render keeps what is to be shown of one record.
func (h *htmlPage) render(e *entry, r *runlog.Record) error {
	if r.Brief.Trials != nil && e.held > 0 {
		return nil // its trials say it all
	}
	if h.rank[e] >= h.keep || len(h.pieces[e]) >= maxTrial && !h.makeRoom(e, r.Brief) {
		return nil
	}
	t, err := r.Decode()
	if err != nil {
		return err
	}
	html, err := drawConversation(t)
	if err != nil {
		return err
	}
	h.pieces[e] = append(h.pieces[e], piece{t.Trial, headOfRecord(t), html})
	h.size += len(html)
	h.shrink()
	return nil
}

// shrink makes lines of the tests that are worth least, until what is left fits.
func (h *htmlPage) shrink() {
	for h.keep > 0 && h.size > h.limit(h.full[h.keep-1]) {
		h.keep--
		last := h.full[h.keep]
		for _, p := range h.pieces[last] {
			h.size -= len(p.html)
		}
		delete(h.pieces, last)
	}
}

// drawConversation returns a conversation as it stands on the page.
func drawConversation(t *result.Test) ([]byte, error) {
	var b bytes.Buffer
	shown := transcript.Of(t, t.Key().Anchor()+"-", transcript.Both)
	shown.Facts = append(shown.Facts, ownFacts(t)...)
	err := pageTemplate().ExecuteTemplate(&b, "conversation", shown)
	return bytes.Clone(b.Bytes()), err
}

// makeRoom drops a trial that passed for one that did not, and reports whether there is room now.
func (h *htmlPage) makeRoom(e *entry, t *result.Test) bool {
	i := slices.IndexFunc(h.pieces[e], func(p piece) bool { return p.head.Verdict == result.Pass })
	if i < 0 || t.Verdict == result.Pass {
		return false
	}
	h.size -= len(h.pieces[e][i].html)
	h.pieces[e] = slices.Delete(h.pieces[e], i, i+1)
	return true
}

// test writes one test in full.
func (h *htmlPage) test(e *entry) {
	pieces := h.pieces[e]
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.trial - b.trial })
	first := pieces[0].head
	first.Review = e.reviewed()
	if e.trials != nil {
		first = headOf(e)
		for _, p := range pieces {
			first.Dots = append(first.Dots, p.head.Verdict)
		}
	}
	first.Open = e.failing()
	h.write("test-open", first)
	for _, p := range pieces {
		if p.trial > 0 {
			p.head.Open = first.Open && p.head.Verdict != result.Pass
			h.write("trial-open", p.head)
		}
		if h.err == nil {
			_, h.err = h.w.Write(p.html)
		}
		if p.trial > 0 {
			h.write("trial-close", nil)
		}
	}
	if left := e.held - len(pieces); left > 0 {
		h.write("trials-left", left)
	}
	h.write("test-close", nil)
}
