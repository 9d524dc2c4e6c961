package target

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// answered says how the events of an answer are read.
type answered struct {
	answer.Spec
	// session is where the agent gives its id of the conversation; nil where it gives none.
	session *agentSession
	form    form
}

// form is what one event is.
type form uint8

const (
	// The zero form is whatever an agent sends; what has nothing in it is passed over.
	_ form = iota
	// jsonLines are lines of JSON; without a stream, the first one is the answer.
	jsonLines
	// plainText is the reply itself.
	plainText
	// wholeJSON is an answer that needs to be JSON.
	wholeJSON
)

// answeredKeys are the keys of a target for reading its answers.
type answeredKeys struct {
	answer.Keys
	Session *pathSession `key:"session" schema:"command_session"`
}

// pathSession is the session of an agent whose answers have no headers.
type pathSession struct {
	Path   *answer.Pick `key:"path" required:"the session has no path" schema:"pick" doc:"such as $.session_id"`
	Update string       `key:"update" enum:"first,every"`
}

// answered returns what the keys configure.
func (k answeredKeys) answered() answered {
	a := answered{Spec: k.Spec()}
	if s := k.Session; s != nil && s.Path != nil {
		a.Session = s.Path
		a.session = &agentSession{path: s.Path, every: s.Update == "every"}
	}
	return a
}

// reading reads the events of one answer.
type reading struct {
	answered
	*answer.Reading
	calls int
	// first is the first event, where it is the whole answer.
	first *event
	// spoke is when the first text came.
	spoke time.Duration
}

// begin begins to read an answer; calls is the number of tool calls that it may repeat.
func (a answered) begin(calls int) reading {
	return reading{answered: a, Reading: a.Read(calls), calls: calls}
}

// alone reports whether the first event is the whole answer.
func (a answered) alone() bool {
	return a.form == plainText || a.form == wholeJSON || a.form == jsonLines && a.Stream == nil
}

// take takes the next event. It returns true when nothing more is to come.
func (r *reading) take(e event) (bool, error) {
	if r.alone() {
		r.first = &e
		return true, nil
	}
	if r.form == jsonLines && !json.Valid([]byte(e.Data)) {
		return false, fmt.Errorf("%w: %.200s", answer.ErrNotJSON, e.Data)
	}
	last, err := r.Add("", []byte(e.Data))
	if r.Spoken() && r.spoke == 0 {
		r.spoke = e.After
	}
	return last || !r.ends() && r.Replied(), err
}

// ends reports whether the configuration says which event is the last.
func (a answered) ends() bool { return a.Stream != nil && a.Stream.End != nil }

// read reads the events of an answer. SpokeAfter is when the first text of a stream came; 0 without a stream.
func (a answered) read(events []event, calls int) (found answer.Found, spokeAfter time.Duration, err error) {
	r := a.begin(calls)
	for _, e := range events {
		last, err := r.take(e)
		if err != nil {
			return found, 0, err
		}
		if last {
			break
		}
	}
	switch {
	case r.first == nil:
		found, err = r.Found()
		if a.Stream == nil {
			r.spoke = 0
		}
		return found, r.spoke, err
	case a.form != plainText:
		found, err = a.ReadAll([]byte(r.first.Data), "application/json", calls)
	case r.first.Data == "":
		err = answer.ErrEmpty
	default:
		found.Reply = chat.Reply{Text: r.first.Data, Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	}
	return found, 0, err
}
