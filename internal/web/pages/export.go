package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/dataset/conversation"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// testAsSuite answers with a conversation as a suite of one test.
func (p *Pages) testAsSuite(w http.ResponseWriter, r *http.Request) {
	t, _, ok := p.record(w, r, r.URL.Query())
	if !ok {
		return
	}
	var turns []chatsession.Turn
	for _, x := range t.Turns {
		turns = append(turns, chatsession.Turn{
			Message: x.Input.String(), Reply: chat.Reply{Text: x.Output, ToolCalls: x.ToolCalls, Node: x.Node},
		})
	}
	p.suite(w, r, chatsession.Message{ID: t.TestID, Earlier: transcript.Earlier(t), Turns: turns})
}

// record returns the record of a conversation that a request names: of several trials the first that failed, unless one
// is named.
func (p *Pages) record(w http.ResponseWriter, r *http.Request,
	values url.Values) (t *result.Test, run *runindex.Found, ok bool) {
	run, index := p.found(w, r)
	if run == nil {
		return nil, nil, false
	}
	matches := index.Named(runindex.Test{
		Suite: values.Get("suite"), ID: frame.Part(r, "test"), Target: values.Get("target"),
	})
	var rows []*runindex.Row
	if len(matches) > 0 {
		rows, ok = shownRows(matches[0], slices.DeleteFunc(slices.Clone(values["trial"]), func(trial string) bool {
			return trial == "" || trial == "0"
		}))
	}
	if !ok {
		p.frame.NotFound(w, r, "Run "+run.Record.ID+" has no such conversation.", frame.Link{
			Label: "Run " + run.Record.ID, Address: addressOfRun(run.Record.ID),
		})
		return nil, nil, false
	}
	t, err := run.Read(rows[0])
	if err != nil {
		p.unread(w, r, run, err)
		return nil, nil, false
	}
	return t, run, true
}

// sessionAsSuite answers with a session as a suite of one test.
func (p *Pages) sessionAsSuite(w http.ResponseWriter, r *http.Request) {
	s, ok := p.sessionOf(w, r)
	if !ok {
		return
	}
	p.suite(w, r, chatsession.Message{ID: s.Summary.ID, Turns: chatsession.OfSession(s.Session)})
}

// suite answers with a suite of one test.
func (p *Pages) suite(w http.ResponseWriter, r *http.Request, said chatsession.Message) {
	data, err := chatsession.Written(said.ID, source.Value{}, []chatsession.Message{said},
		chatsession.Saving{Mask: p.Mask})
	p.download(w, r, data, err)
}

// download answers with a suite to be kept.
func (p *Pages) download(w http.ResponseWriter, r *http.Request, data []byte, err error) {
	if p.refused(w, r, err) {
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="suite.yaml"`)
	_, _ = w.Write(data) // whoever has gone needs no suite
}

// testToDataset makes an item of a conversation of a run.
func (p *Pages) testToDataset(w http.ResponseWriter, r *http.Request) {
	f := p.read(w, r, annotation.Dataset)
	if f == nil {
		return
	}
	t, run, ok := p.record(w, r, r.PostForm)
	if !ok {
		return
	}
	one := func(yield func(*result.Test, error) bool) { yield(t, nil) }
	c, err := conversation.OfTest(&run.Record, run.Dir, one, conversation.Selection{
		Test: t.TestID, Suite: t.Suite, Target: t.Target, Trial: t.Trial,
	})
	if p.refused(w, r, err) {
		return
	}
	f.Dataset = strings.TrimSpace(r.PostFormValue("dataset"))
	if f.ItemID, f.Turn, ok = p.toDataset(w, r, f.Dataset, c); ok {
		p.keep(w, r, f)
	}
}

// sessionToDataset makes an item of a session.
func (p *Pages) sessionToDataset(w http.ResponseWriter, r *http.Request) {
	s, ok := p.sessionOf(w, r)
	if !ok {
		return
	}
	c := conversation.OfMessages(s.Summary.ID, replay.LoggedID(s.Summary.ID), messagesOf(s.Session))
	if _, _, ok := p.toDataset(w, r, strings.TrimSpace(r.PostFormValue("dataset")), c); !ok {
		return
	}
	http.Redirect(w, r, p.addressOfSession(s.Summary, "", ""), http.StatusSeeOther)
}

func messagesOf(s *replay.Session) (messages []chat.Message) {
	for _, m := range s.Messages {
		role := chat.Assistant
		if m.User {
			role = chat.User
		}
		messages = append(messages, chat.NewMessage(role, m.Text))
	}
	return messages
}

// toDataset adds the item of a conversation that `dataset add` makes: of the turn that a form names, else of the last.
// An item that is there already keeps what was expected of it.
func (p *Pages) toDataset(w http.ResponseWriter, r *http.Request, name string,
	c *conversation.Recorded) (id string, turn int, ok bool) {
	if name == "" || len(name) > 200 {
		p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "Name the dataset, in at most 200 characters.")
		return "", 0, false
	}
	asked := c.Turns()
	if value := strings.TrimSpace(r.PostFormValue("turn")); value != "" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			p.frame.Refuse(w, r, http.StatusUnprocessableEntity, "The turn counts from 1.")
			return "", 0, false
		}
		asked = n
	}
	turn, err := c.Turn(asked)
	var item dataset.Record
	if err == nil {
		item, err = c.Item(turn)
	}
	if p.refused(w, r, err) {
		return "", 0, false
	}
	p.mask(&item)
	s, ok := p.make(w, r)
	if !ok {
		return "", 0, false
	}
	err = s.Datasets.Update(r.Context(), name, item.ID, dataset.PutOptions{
		Create: true, Now: p.Now(),
	}, func(old *dataset.Record) (dataset.Record, error) {
		if old != nil {
			item.Expected = old.Expected
		}
		if item.Expected == nil {
			item.Expected = dataset.Response("")
		}
		return item, nil
	})
	return item.ID, turn, !p.refused(w, r, err)
}

func (p *Pages) mask(item *dataset.Record) {
	if p.Mask == nil {
		return
	}
	for _, part := range []*json.RawMessage{&item.Input, &item.Metadata} {
		if masked := json.RawMessage(p.Mask(string(*part))); json.Valid(masked) {
			*part = masked
		}
	}
}
