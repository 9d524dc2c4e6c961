package report

import (
	"bytes"
	"io"
	"slices"

	"rehearse/internal/result"
)

// Limits of report.html, so that a browser shows it at once whatever the size of the run.
const (
	maxFull  = 500      // conversations shown in full, a trial counting as one
	maxRows  = 5_000    // tests beyond those, as a line each
	maxHTML  = 32 << 20 // bytes of conversations
	maxTrial = 20       // trials of one test shown in full
)

// HTML writes the report as one self-contained page: no script, nothing from the network, every text escaped.
// Failing tests come first. At most 500 conversations are shown in full and 5,000 more tests as a line each;
// what is left out is said.
func (r *Report) HTML(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	h := &htmlPage{w: w, drawn: r.drawn, pieces: map[*entry][]piece{}}
	h.choose(s)
	if err := r.visit(h.full, h.render); err != nil {
		return err
	}
	h.write("top", topOf(run, s))
	lines := make([]*entry, 0, maxRows)
	for _, e := range h.full {
		if h.pieces[e] == nil {
			lines = append(lines, e)
			continue
		}
		h.test(e)
	}
	lines = append(lines, h.rest...)
	lines = lines[:min(len(lines), maxRows)]
	if left := run.Totals.Tests + run.Totals.NotRun - len(h.pieces) - len(lines); len(lines)+left > 0 {
		h.write("rows-open", len(lines))
		for _, e := range lines {
			h.write("row", headOf(e))
		}
		h.write("rows-close", left)
	}
	h.write("bottom", run)
	return h.err
}

// htmlPage is a page on its way. The first error of writing is kept.
type htmlPage struct {
	w   io.Writer
	err error
	// full are the tests to be shown in full, in the order of the page; rest are those that follow as lines.
	full, rest []*entry
	drawn      map[*result.Test][]byte
	pieces     map[*entry][]piece
	size       int
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

// choose fills full with as many tests as there is room for, failing ones first.
func (h *htmlPage) choose(s *survey) {
	room := maxFull
	for _, e := range slices.Concat(s.failing, s.others) {
		need := 1
		if e.trials != nil {
			need = max(min(e.held, maxTrial), 1)
		}
		if room -= need; room < 0 {
			h.rest = append(h.rest, e)
		} else {
			h.full = append(h.full, e)
		}
	}
}

// render keeps what is to be shown of one record.
func (h *htmlPage) render(e *entry, t *result.Test) error {
	if t.Trials != nil && e.held > 0 {
		return nil // its trials say it all
	}
	if len(h.pieces[e]) >= maxTrial && !h.makeRoom(e, t) {
		return nil
	}
	if h.size > maxHTML && !h.shrink(e) {
		return nil
	}
	html, ok := h.drawn[t]
	if !ok {
		var err error
		if html, err = drawConversation(t); err != nil {
			return err
		}
	}
	h.pieces[e] = append(h.pieces[e], piece{t.Trial, headOfRecord(t), html})
	h.size += len(html)
	return nil
}

// drawConversation returns a conversation as it stands on the page.
func drawConversation(t *result.Test) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate().ExecuteTemplate(&b, "conversation", conversationOf(t))
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

// shrink drops what is furthest down the page, and reports whether that made room for e, which is further up.
func (h *htmlPage) shrink(e *entry) bool {
	for i := len(h.full) - 1; i >= 0 && h.full[i] != e; i-- {
		last := h.full[i]
		for _, p := range h.pieces[last] {
			h.size -= len(p.html)
		}
		delete(h.pieces, last)
		if h.size <= maxHTML {
			return true
		}
	}
	return false
}

// test writes one test in full.
func (h *htmlPage) test(e *entry) {
	pieces := h.pieces[e]
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.trial - b.trial })
	first := pieces[0].head
	if e.trials != nil {
		first = headOf(e)
		for _, p := range pieces {
			first.Dots = append(first.Dots, p.head.Verdict)
		}
	}
	first.Open = e == h.full[0] && e.failing()
	h.write("test-open", first)
	for _, p := range pieces {
		if p.trial > 0 {
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
