package view

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"rehearse/internal/talk"
	"rehearse/internal/text"
	"rehearse/internal/view/frame"
)

// Trying is what the page Try needs. The zero value has nobody to talk to.
type Trying struct {
	// Partners opens the configuration as it is now: that of a folder, or the server's where the folder is empty.
	Partners func(folder string) (*Partners, error)
	// Desk holds the talks.
	Desk *talk.Desk
}

// tryPage is where a talk begins.
type tryPage struct {
	frame.Page
	// Targets are whom one can talk to, Target is chosen. Suites and Tests are what can grade the talk; Suite and Test are chosen.
	Targets       []string
	Target        string
	Suites, Tests []string
	Suite, Test   string
	From          *origin
	Said          []shownMessage
	Hidden        []field
	Message       string
	Empty         string
	// ReadOnly says why nobody can be talked to from here; empty where somebody can.
	ReadOnly string
	None     bool
}

// try answers with the page on which a talk begins. It reads the configuration and asks nobody.
func (p *Pages) try(w http.ResponseWriter, r *http.Request) {
	values := frame.Only(r.URL.Query(), ofRun, ofTest, ofSuite, ofTurn, ofTrial, ofTarget, graded, gradedAs, recordedOf)
	from, ok := p.originOf(w, r, values)
	if !ok {
		return
	}
	page := tryPage{Page: p.frame.Base(r, "try", "Try"), Target: values.Get(ofTarget), Suite: values.Get(graded), Test: values.Get(gradedAs), From: from, Message: from.said, Hidden: from.hidden()}
	if from.Run != "" {
		page.Trail = []frame.Link{{Label: "Run " + from.Run, Address: addressOfRun(from.Run)}, {Label: text.OneLine(from.Test, 200), Address: from.Address, Up: true}}
	}
	page.CSRF = p.frame.Form(w, r)
	switch {
	case p.Frame.ReadOnly:
		page.ReadOnly = "These pages are read-only: nobody can be talked to. Start them without --read-only."
	case page.CSRF == "":
		page.ReadOnly = frame.NoForms
	}
	for _, m := range from.Earlier {
		page.Said = append(page.Said, shownMessageOf(m))
	}
	page.choose(p)
	p.frame.Show(w, http.StatusOK, "try", page)
}

// choose fills in what can be chosen.
func (page *tryPage) choose(p *Pages) {
	partners, err := p.partners(page.From.file)
	switch {
	case err == nil && partners == nil, errors.Is(err, errNoTargets):
		page.None, page.Empty = true, "There is nobody to talk to: the configuration names no target. `rehearse init --agent URL` writes a rehearse.yaml with one."
		return
	case err != nil:
		page.None, page.Empty = true, "The configuration cannot be read: "+p.masked(text.OneLine(err.Error(), 500))
		return
	}
	defer p.ended(partners.Close)
	page.Targets, page.Suites = partners.names(), suitesHere()
	switch {
	case page.Target != "" && slices.Contains(page.Targets, page.Target):
	case page.Target == "" && slices.Contains(page.Targets, page.From.Of):
		page.Target = page.From.Of
	default:
		if unknown := cmp.Or(page.Target, page.From.Of); unknown != "" {
			page.Warnings = append(page.Warnings, "The configuration has no target "+text.OneLine(unknown, 100)+": choose whom to talk to.")
		}
		page.Target = page.Targets[0]
	}
	if page.Suite == "" && slices.Contains(page.Suites, page.From.file) {
		page.Suite, page.Test = page.From.file, page.From.Test
	}
	if page.Suite == "" {
		return
	}
	if page.Tests, err = partners.tests(page.Suite); err != nil {
		page.Warnings = append(page.Warnings, "The suite cannot be used: "+p.masked(text.OneLine(err.Error(), 500)))
		page.Suite, page.Test = "", ""
	}
	if page.Suite != "" && page.Test == "" && len(page.Tests) > 0 {
		page.Test = page.Tests[0]
	}
	if page.Test != "" && !slices.Contains(page.Tests, page.Test) { // it is beyond those that are offered
		page.Tests = append(page.Tests, page.Test)
	}
}

// beginTry begins a talk with its first message.
func (p *Pages) beginTry(w http.ResponseWriter, r *http.Request) {
	from, ok := p.originOf(w, r, r.PostForm)
	if !ok {
		return
	}
	message := r.PostForm.Get("message")
	if !p.sayable(w, r, message) {
		return
	}
	partners, err := p.partners(from.file)
	if err == nil && partners == nil {
		err = errNoTargets
	}
	if err != nil {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "Nobody was asked: "+p.masked(text.OneLine(err.Error(), 500)))
		return
	}
	o, err := partners.opening(r.PostForm.Get(ofTarget), r.PostForm.Get(graded), r.PostForm.Get(gradedAs), from)
	if err != nil {
		p.ended(partners.Close)
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "Nobody was asked: "+p.masked(text.OneLine(err.Error(), 500)))
		return
	}
	h, err := p.Try.Desk.Begin(o)
	if err != nil {
		p.frame.Refuse(w, r, http.StatusServiceUnavailable, text.Capital(err.Error())+".")
		return
	}
	p.say(w, r, h, message)
}

// opening makes what a talk begins with.
func (p *Partners) opening(target, file, test string, from *origin) (o talk.Opening, err error) {
	o.Close = p.Close
	if o.Name = target; target == "" {
		o.Name = p.names()[0]
	}
	if file != "" {
		if test == "" && file == from.file {
			test = from.Test
		}
		if o.Expected, err = p.expected(file, test); err != nil {
			return o, err
		}
		o.Offset = max(0, from.Turn-1)
	}
	if o.Target, err = p.open(o.Name); err != nil {
		return o, err
	}
	o.Beginning, o.Notes, err = p.goesOn(o.Name, from.Earlier, from.last)
	return o, err
}

// sayable reports whether a message can be said; else it has answered.
func (p *Pages) sayable(w http.ResponseWriter, r *http.Request, message string) bool {
	switch {
	case strings.TrimSpace(message) == "":
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The message is empty: write what the user says.")
	case len(message) > talk.MaxMessage:
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The message is longer than 64 KB.")
	default:
		return true
	}
	return false
}

// say says a message and leads to the talk. A browser that goes away takes no answer back: the turn goes on until it is done or the server ends.
func (p *Pages) say(w http.ResponseWriter, r *http.Request, h *talk.Held, message string) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-p.Stopping:
			cancel(errors.New("the server is about to end"))
		case <-done:
		}
	}()
	// A form writes line breaks as CR LF; the user meant a line break.
	err := h.Say(ctx, strings.ReplaceAll(message, "\r\n", "\n"))
	switch {
	case errors.Is(err, talk.ErrBusy):
		p.frame.Refuse(w, r, http.StatusConflict, text.Capital(err.Error())+".")
	case err != nil:
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, text.Capital(err.Error())+".")
	default:
		http.Redirect(w, r, "/try/"+h.ID, http.StatusSeeOther)
	}
}

// ended closes something, and logs what went wrong.
func (p *Pages) ended(closing func() error) {
	if err := closing(); err != nil {
		p.Frame.Log.Warn("closing", "error", err)
	}
}

// masked takes secrets out of a text.
func (p *Pages) masked(s string) string {
	if p.Mask == nil {
		return s
	}
	return p.Mask(s)
}
