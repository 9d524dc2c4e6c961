package view

import (
	"net/http"
	"net/url"
	"strconv"

	"rehearse/internal/archive"
	"rehearse/internal/chat"
	"rehearse/internal/report/transcript"
	"rehearse/internal/result"
	"rehearse/internal/view/frame"
)

// origin is the recorded conversation from which a talk goes on. The zero value is that of a talk which begins anew.
type origin struct {
	Run, Suite, Test, Of string
	Trial, Turn          int
	// Address leads to the conversation.
	Address string
	// Earlier is what was said before the turn, last the turn before it; nil before the first.
	Earlier []chat.Message
	last    *result.Turn
	// file is the suite that the test was read from, as the record names it; said is the message of the turn.
	file, said string
}

// parameters of the page in its address.
const (
	ofRun, ofTest, ofSuite, ofTurn, ofTrial, ofTarget = "run", "test", "suite", "turn", "trial", "target"
	graded, gradedAs, recordedOf                      = "grade", "as", "of"
)

// originOf reads the conversation that parameters name. ok is false where it has answered that there is no such turn.
func (p *Pages) originOf(w http.ResponseWriter, r *http.Request, values url.Values) (o *origin, ok bool) {
	o = &origin{Run: values.Get(ofRun), Suite: values.Get(ofSuite), Test: values.Get(ofTest), Of: values.Get(recordedOf)}
	if o.Run == "" {
		return &origin{}, true
	}
	run := p.Runs.Find(o.Run)
	if run == nil {
		p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
		return nil, false
	}
	o.Run = run.Record.ID
	up := frame.Link{Label: "Run " + o.Run, Address: addressOfRun(o.Run)}
	index, err := run.Index()
	if err != nil {
		p.frame.Unavailable(w, r, "The run cannot be read: its folder is gone, or it may not be opened.")
		return nil, false
	}
	if o.Of == "" {
		o.Of = values.Get(ofTarget)
	}
	matches := index.Named(archive.Test{Suite: o.Suite, ID: o.Test, Target: o.Of})
	if len(matches) == 0 { // the target is whom to talk to, then
		matches = index.Named(archive.Test{Suite: o.Suite, ID: o.Test})
	}
	var trials []string
	if trial := values.Get(ofTrial); trial != "" && trial != "0" {
		trials = []string{trial}
	}
	var rows []*archive.Row
	if len(matches) > 0 {
		rows, ok = shownRows(matches[0], trials)
	}
	if !ok {
		p.frame.NotFound(w, r, "Run "+o.Run+" has no such conversation.", up)
		return nil, false
	}
	record, err := run.Read(rows[0])
	if err != nil {
		p.unread(w, r, run, err)
		return nil, false
	}
	o.Suite, o.Test, o.Of, o.Trial = matches[0].Suite, matches[0].TestID, matches[0].Target, rows[0].Trial
	o.Address = addressOfTest(o.Run, archive.Test{Suite: o.Suite, ID: o.Test, Target: o.Of}, trials, "")
	o.Turn = 1
	if written := values.Get(ofTurn); written != "" {
		o.Turn, _ = strconv.Atoi(written) // what is no number is no turn
	}
	if o.Turn < 1 || o.Turn > len(record.Turns)+1 {
		p.frame.NotFound(w, r, "The conversation has no such turn.", frame.Link{Label: "The conversation", Address: o.Address})
		return nil, false
	}
	o.read(record)
	return o, true
}

// read takes what was said before the turn. The calls of a turn stay with its reply.
func (o *origin) read(record *result.Test) {
	o.Earlier = append(o.Earlier, transcript.Earlier(record)...)
	for i, turn := range record.Turns[:o.Turn-1] {
		reply := chat.Reply{Text: turn.Output, ToolCalls: turn.ToolCalls}
		o.Earlier = append(o.Earlier, chat.Message{Role: chat.User, Content: turn.Input}, reply.Message())
		o.last = &record.Turns[i]
	}
	if o.Turn <= len(record.Turns) {
		o.said = record.Turns[o.Turn-1].Input.String()
	}
	if record.Source != nil {
		o.file = record.Source.File
	}
}

// hidden are the fields of a form that name the conversation.
func (o *origin) hidden() []field {
	if o.Run == "" {
		return nil
	}
	return []field{{ofRun, o.Run}, {ofTest, o.Test}, {ofSuite, o.Suite}, {recordedOf, o.Of}, {ofTrial, strconv.Itoa(o.Trial)}, {ofTurn, strconv.Itoa(o.Turn)}}
}

// field is a hidden field of a form.
type field struct{ Name, Value string }
