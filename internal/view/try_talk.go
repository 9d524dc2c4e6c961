package view

import (
	"encoding/json"
	"net/http"

	"rehearse/internal/chat"
	"rehearse/internal/report/transcript"
	"rehearse/internal/result"
	"rehearse/internal/talk"
	"rehearse/internal/text"
	"rehearse/internal/view/frame"
)

// shownMessage is a message as the page has it.
type shownMessage = transcript.Message

func shownMessageOf(m chat.Message) shownMessage {
	return transcript.MessageOf(string(m.Role), m.Content, nil, transcript.Rendered)
}

// talkPage is a talk.
type talkPage struct {
	frame.Page
	ID, Target  string
	Suite, Test string
	Shown       shownTalk
	// Turns are how many messages were answered.
	Turns  int
	Raw    bool
	Toggle string
	// Fault says why the last message was not answered, or could not be graded; Message is the one that was not answered.
	Fault, Message string
	Busy, Over     bool
	Notes          []string
}

// held returns the talk that a request names; nil where it has answered that there is none.
func (p *Pages) held(w http.ResponseWriter, r *http.Request) *talk.Held {
	if p.Try.Desk != nil {
		if h := p.Try.Desk.Find(frame.Part(r, "session")); h != nil {
			return h
		}
	}
	p.frame.NotFound(w, r, "There is no such talk: it was ended, nothing was said in it for half an hour, or the server was started anew.", frame.Link{Label: "Begin another", Address: "/try"})
	return nil
}

// talk answers with a talk.
func (p *Pages) talk(w http.ResponseWriter, r *http.Request) {
	h := p.held(w, r)
	if h == nil {
		return
	}
	v := h.View()
	page := talkPage{
		Page: p.frame.Base(r, "try", "Talk with "+text.OneLine(h.Name, 100)), ID: h.ID, Target: h.Name, Turns: len(v.Turns), Raw: r.URL.Query().Get("view") == "raw",
		Fault: p.masked(v.Fault), Message: v.Unsaid, Busy: v.Busy, Over: v.Over, Notes: h.Notes,
	}
	if h.Expected.Test != nil {
		page.Suite, page.Test = h.Expected.Test.Suite, h.Expected.Test.ID
	}
	page.Trail = []frame.Link{{Label: "Try", Address: "/try", Up: true}}
	page.CSRF = p.frame.Form(w, r)
	page.Toggle = "/try/" + h.ID
	if !page.Raw {
		page.Toggle += "?view=raw"
	}
	page.Shown = talkOf(p.unsecret(h.Record(v)), 0, page.Raw)
	p.frame.Show(w, http.StatusOK, "talk-page", page)
}

// unsecret takes the secrets out of a record, as they are taken out of those of runs.
func (p *Pages) unsecret(t *result.Test) *result.Test {
	if p.Mask == nil {
		return t
	}
	data, err := json.Marshal(t)
	if err != nil {
		return &result.Test{TestID: t.TestID, SkipReason: "the talk cannot be shown: " + p.Mask(err.Error())}
	}
	var clean result.Test
	if err := json.Unmarshal([]byte(p.Mask(string(data))), &clean); err != nil {
		return &result.Test{TestID: t.TestID, SkipReason: "the talk cannot be shown without its secrets"}
	}
	return &clean
}

// sayMore says another message in a talk.
func (p *Pages) sayMore(w http.ResponseWriter, r *http.Request) {
	h := p.held(w, r)
	if h == nil {
		return
	}
	if message := r.PostFormValue("message"); p.sayable(w, r, message) {
		p.say(w, r, h, message)
	}
}

// endTry ends a talk.
func (p *Pages) endTry(w http.ResponseWriter, r *http.Request) {
	if h := p.held(w, r); h != nil {
		p.Try.Desk.End(h)
		http.Redirect(w, r, "/try", http.StatusSeeOther)
	}
}

// talkAsSuite answers with a talk as a suite of one test, as `rehearse chat --save` writes it.
func (p *Pages) talkAsSuite(w http.ResponseWriter, r *http.Request) {
	h := p.held(w, r)
	if h == nil {
		return
	}
	id := "chat-" + h.Began.UTC().Format("20060102-150405")
	said := talk.Said{ID: id, Beginning: h.Beginning, Turns: h.View().Turns}
	data, err := talk.Written(id, []talk.Said{said}, talk.Saving{Mask: p.Mask})
	p.download(w, r, data, err)
}
