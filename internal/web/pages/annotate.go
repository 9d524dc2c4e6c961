package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// book returns what people said of a run: what stands in its folder, and in the store as far as that can be read.
func (p *Pages) book(ctx context.Context, run *runindex.Found) (b *annotation.Book, warnings []string) {
	inFolder, unreadable, err := annotation.Read(run.Dir)
	if err != nil {
		warnings = append(warnings, "What people said of this run cannot be read in its folder.")
		p.Frame.Log.Error("annotations cannot be read", "run", run.Record.ID, "error", err)
	}
	if unreadable > 0 {
		warnings = append(warnings, text.Plural(unreadable, "line")+
			" of annotations.jsonl cannot be read and count nowhere.")
	}
	var inStore []annotation.Annotation
	if p.Store != nil {
		s, err := p.Store(ctx)
		if err == nil && s != nil && s.Annotations != nil {
			inStore, err = s.Annotations.Of(ctx, run.Record.ID)
		}
		if err != nil {
			warnings = append(warnings, "What people said of this run cannot be read in the store.")
			p.Frame.Log.Error("annotations cannot be read", "run", run.Record.ID, "error", err)
		}
	}
	if n := len(lacking(inFolder, inStore, p.Now())); n > 0 && err == nil {
		stand := " of this run stands in the store alone: its folder"
		if n > 1 {
			stand = " of this run stand in the store alone: its folder"
		}
		warnings = append(warnings, text.Plural(n, "annotation")+stand+
			" could not be written, and does not take them along.")
	}
	return annotation.BookOf(inFolder, inStore), warnings
}

// sent is a form about a conversation of a run.
type sent struct {
	run *runindex.Found
	annotation.Annotation
	// back is the address of the conversation.
	back string
}

// read reads what a form has in common with others. It returns nil where it has answered that there is no such
// conversation.
func (p *Pages) read(w http.ResponseWriter, r *http.Request, kind string) *sent {
	run, index := p.found(w, r)
	if run == nil {
		return nil
	}
	of := runindex.Test{Suite: r.PostFormValue("suite"), ID: frame.Part(r, "test"), Target: r.PostFormValue("target")}
	matches := index.Named(of)
	if len(matches) == 0 {
		matches = namedInForm(index, of)
	}
	if len(matches) == 0 {
		p.frame.NotFound(w, r, "Run "+run.Record.ID+" has no such test.", frame.Link{
			Label: "Run " + run.Record.ID, Address: addressOfRun(run.Record.ID),
		})
		return nil
	}
	e := matches[0]
	r.PostForm.Set("suite", e.Suite)
	r.PostForm.Set("target", e.Target)
	trial, ok := trialOf(e, r.PostFormValue("trial"))
	if !ok {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The test has no such trial.")
		return nil
	}
	f := &sent{run: run, Annotation: annotation.Annotation{
		Kind: kind, RunID: run.Record.ID, Suite: e.Suite, TestID: e.TestID, Target: e.Target, Trial: trial,
		Item: strings.TrimSpace(r.PostFormValue("item")), Author: strings.TrimSpace(r.PostFormValue("author")),
		At: p.Now().UTC(),
	}}
	var trials []string
	if f.Trial > 0 {
		trials = []string{strconv.Itoa(f.Trial)}
	}
	f.back = addressOfTest(f.RunID, runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, trials,
		r.PostFormValue("from"))
	return f
}

// trialOf reads which trial of a test a form is about; 0 stands for the test itself.
func trialOf(e *runindex.Entry, written string) (trial int, ok bool) {
	if written == "" || written == "0" {
		return 0, true
	}
	trial, err := strconv.Atoi(written)
	return trial, err == nil && slices.ContainsFunc(e.Of, func(row *runindex.Row) bool { return row.Trial == trial })
}

// override takes a verdict over the machine's.
func (p *Pages) override(w http.ResponseWriter, r *http.Request) {
	f := p.read(w, r, annotation.Override)
	if f == nil {
		return
	}
	f.Verdict, f.Comment = r.PostFormValue("verdict"), strings.TrimSpace(r.PostFormValue("comment"))
	if f.Item != "" {
		t, _, ok := p.record(w, r, r.PostForm)
		if !ok {
			return
		}
		if !slices.ContainsFunc(t.Scores, func(s result.Score) bool { return s.Name == f.Item }) {
			p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The conversation has no graded part of that name.")
			return
		}
	}
	p.keep(w, r, f)
}

// quarantine puts a test in quarantine, with every target.
func (p *Pages) quarantine(w http.ResponseWriter, r *http.Request) {
	if f := p.read(w, r, annotation.Quarantine); f != nil {
		f.Owner, f.Until, f.Reason = strings.TrimSpace(r.PostFormValue("owner")),
			strings.TrimSpace(r.PostFormValue("until")), strings.TrimSpace(r.PostFormValue("reason"))
		p.keep(w, r, f)
	}
}

// keep keeps what was said, in the store and in the folder of the run, and leads back to the conversation.
func (p *Pages) keep(w http.ResponseWriter, r *http.Request, f *sent) {
	if err := f.Check(p.Now()); err != nil {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, text.Capital(err.Error())+".")
		return
	}
	for _, words := range []*string{&f.Author, &f.Comment, &f.Owner, &f.Reason} { // they travel with the run
		*words = lines(*words)
		if p.Mask != nil {
			*words = p.Mask(*words)
		}
	}
	s, ok := p.make(w, r)
	if !ok {
		return
	}
	if err := s.Annotations.Add(r.Context(), f.Annotation); err != nil {
		p.away(w, r, err)
		return
	}
	if err := p.intoFolder(r.Context(), s, f); err != nil { // the store has it
		p.Frame.Log.Error("an annotation is in the store and not in the folder of its run", "run", f.RunID,
			"error", err)
	}
	p.frame.Remember(w, r, f.Author)
	http.Redirect(w, r, f.back, http.StatusSeeOther)
}

// make opens the store for writing. ok is false where it has answered that there is none.
func (p *Pages) make(w http.ResponseWriter, r *http.Request) (s *Stored, ok bool) {
	if p.Make == nil {
		p.frame.Refuse(w, r, http.StatusForbidden, "These pages have no store to write to.")
		return nil, false
	}
	s, err := p.Make(r.Context())
	if err != nil {
		p.away(w, r, err)
		return nil, false
	}
	return s, true
}

// refused answers for what somebody asked for and cannot be; it reports whether there was such a fault.
func (p *Pages) refused(w http.ResponseWriter, r *http.Request, err error) bool {
	switch {
	case err == nil:
		return false
	case source.IsInvalid(err):
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, text.Capital(text.OneLine(err.Error(), 600))+".")
	case errors.Is(err, context.Canceled): // nobody waits for an answer
	default:
		p.away(w, r, err)
	}
	return true
}

// human is what people can say of a conversation, and what they have said.
type human struct {
	// CSRF is empty where nothing can be said.
	CSRF, Author, From string
	Address            string
	Key                result.Key
	Overrides          []overrideShown
	Quarantined        *annotation.Annotation
	// Tomorrow and Latest bound the end of a quarantine.
	Tomorrow, Latest string
	Suite, YAML      string
	Items            []string
	// Reviewed is the verdict after review; empty where nobody has decided over the machine.
	Reviewed result.Verdict
}

// overrideShown is what somebody decided over the machine.
type overrideShown struct {
	Verdict               result.Verdict
	Author, Item, Comment string
}

// human returns what people can say of a conversation.
func (p *Pages) human(w http.ResponseWriter, r *http.Request, book *annotation.Book, key result.Key, run string,
	items []string) human {
	address := addressOfRun(run) + "/tests/" + frame.Segment(key.TestID)
	values := url.Values{"suite": {key.Suite}, "target": {key.Target}}
	if key.Trial > 0 {
		values.Set("trial", strconv.Itoa(key.Trial))
	}
	h := human{
		CSRF: p.frame.Form(w, r), Author: p.frame.Author(r), From: r.URL.Query().Get("from"), Address: address,
		Key: key, Items: items, Tomorrow: p.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02"),
		Latest: p.Now().UTC().AddDate(0, 0, 90).Format("2006-01-02"),
		Suite:  frame.Address(address+"/suite.yaml", values),
	}
	if p.Make == nil {
		h.CSRF = ""
	}
	for _, o := range book.Overrides(key) {
		h.Overrides = append(h.Overrides, overrideShown{result.Verdict(o.Verdict), o.Author, o.Item, o.Comment})
	}
	if o := book.Override(key); o != nil {
		h.Reviewed = result.Verdict(o.Verdict)
	}
	if q := book.Quarantine(key.Suite, key.TestID); q != nil && q.Terms().Active(p.Now()) {
		h.Quarantined = q
		h.YAML = "quarantine: {owner: " + yamlText(q.Owner) + ", until: " + yamlText(q.Until) + ", reason: " +
			yamlText(q.Reason) + "}"
	}
	return h
}

// yamlText writes a text as a value of YAML.
func yamlText(s string) string { return strings.TrimSpace(string(source.Text(s).YAML())) }
