package answer

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Found is what an answer says.
type Found struct {
	// Reply has no times and no attempts. Its usage and cost are unknown where nothing is picked.
	Reply chat.Reply
	// Session is the agent's id of the conversation; empty where none is found.
	Session string
	// Calls is how many tool calls an answer may repeat, for the next Reading of the conversation.
	Calls int
}

// Reading reads one answer event by event. It must not be used from several goroutines at once.
type Reading struct {
	spec *Spec
	// earlier is the number of tool calls of earlier turns.
	earlier int
	found   Found
	calls   []chat.ToolCall

	// whole is the complete text; pieces are those of a stream, when spoke is true.
	whole         *string
	pieces        strings.Builder
	spoke         bool
	input, output *float64
	keys          keysOf
	// strange is the first data that is no JSON. broken is the first that begins like an object and is none; objects is
	// true when others are some.
	strange, broken []byte
	objects         bool
	// streamed is true where the events are those of a stream of HTTP.
	streamed bool
	// hit are the picks that found something.
	hit map[*Pick]bool
	// doc is the answer, or the last event that was read.
	doc any
}

// Read begins to read an answer that comes in events. Earlier is Found.Calls of the turn before.
func (s *Spec) Read(earlier int) *Reading {
	r := &Reading{spec: s, earlier: earlier, hit: map[*Pick]bool{}}
	r.found.Reply.Usage.Unknown, r.found.Reply.Cost.Unknown = true, true
	return r
}

// doneData ends every stream.
const doneData = "[DONE]"

// Add reads an event: its name, if it has one, and its data. Last is true of the one that ends the stream. An error is
// one of this package, such as ErrUTF8 or the agent's own error.
func (r *Reading) Add(name string, data []byte) (last bool, err error) {
	if !utf8.Valid(data) {
		return false, ErrUTF8
	}
	end := r.end()
	if string(bytes.TrimSpace(data)) == doneData || end.data != nil && string(data) == *end.data {
		return true, nil
	}
	if len(data) == 0 { // it says nothing but its name
		return end.pick != nil && end.pick.applies(event{name, ""}), nil
	}
	doc, err := decode(data)
	if err != nil {
		doc = string(data)
		if r.strange == nil {
			r.strange = bytes.Clone(data)
		}
		if r.broken == nil && bytes.HasPrefix(data, []byte(`{"`)) {
			r.broken = bytes.Clone(data)
		}
	}
	if _, is := doc.(map[string]any); is {
		r.objects = true
	}
	e := event{name, doc}
	if err := r.look(e); err != nil {
		return false, err
	}
	if err := r.spec.admits(e); err != nil {
		return false, err
	}
	if r.streamed {
		if err := r.undeclared(e); err != nil {
			return false, err
		}
	}
	r.listen(e)
	if end.pick != nil {
		return end.pick.applies(e), nil
	}
	return false, nil
}

func (r *Reading) end() End {
	if r.spec.Stream == nil || r.spec.Stream.End == nil {
		return End{}
	}
	return *r.spec.Stream.End
}

// listen takes the reply from an event of a stream.
func (r *Reading) listen(e event) {
	if text, ok := r.spec.Text.reply(e); ok {
		r.whole = &text
	}
	var pieces *Pick
	if r.spec.Stream != nil {
		pieces = r.spec.Stream.Text
	}
	piece, ok := pieces.text(e)
	if pieces == nil && r.spec.Text == nil {
		piece, ok = byName(e.doc, true)
	}
	if !ok {
		return
	}
	if r.spoke {
		r.pieces.WriteString(pieces.joining())
	}
	r.pieces.WriteString(piece)
	r.spoke = true
}

// look takes everything but the reply from an event.
func (r *Reading) look(e event) error {
	r.keys.add(e.doc)
	r.doc = e.doc
	for _, p := range r.errorPicks() {
		if err := p.said(e); err != nil {
			return err
		}
	}
	reply := &r.found.Reply
	for _, t := range []struct {
		pick *Pick
		to   *string
	}{
		{r.spec.Node, &reply.Node},
		{r.spec.FinishReason, &reply.FinishReason},
		{r.spec.TraceID, &reply.TraceID},
		{r.spec.Session, &r.found.Session},
	} {
		if text, ok := t.pick.text(e); ok {
			*t.to, r.hit[t.pick] = text, true
		}
	}
	if r.spec.FinishReason == nil {
		reply.FinishReason = cmp.Or(reasonByName(e.doc), reply.FinishReason)
	}
	if hits := r.spec.State.hits(e); len(hits) == 1 {
		reply.State = encode(hits[0])
	} else if len(hits) > 1 {
		reply.State = encode(hits)
	}
	if n, ok := r.spec.InputTokens.sum(e); ok {
		r.input = &n
	}
	if n, ok := r.spec.OutputTokens.sum(e); ok {
		r.output = &n
	}
	if usd, ok := r.spec.Cost.sum(e); ok {
		reply.Cost = chat.Cost{USD: usd}
	}
	hits := r.spec.End.hits(e)
	for _, v := range hits {
		reply.Ended, r.hit[r.spec.End] = v == true || v == "true" || r.spec.End.pathless, true
	}
	return r.addCalls(e)
}

func (r *Reading) errorPicks() (picks []*Pick) {
	if r.spec.Error != nil {
		picks = append(picks, r.spec.Error)
	}
	if s := r.spec.Stream; s != nil && s.Error != nil {
		picks = append(picks, s.Error)
	}
	return picks
}

// undeclared returns the error that an event of a stream stands for although no pick says where errors are: its name or
// its type is error, or it holds nothing else. What was said before such an event is no whole reply.
func (r *Reading) undeclared(e event) error {
	if len(r.errorPicks()) > 0 {
		return nil
	}
	pieces := []*Pick{r.spec.Text}
	if r.spec.Stream != nil {
		pieces = append(pieces, r.spec.Stream.Text)
	}
	for _, p := range pieces {
		if _, ok := p.text(e); ok {
			return nil // the author takes it for text
		}
	}
	object, _ := e.doc.(map[string]any)
	switch {
	case e.name == "error", object["type"] == "error":
		return agentError(e.doc)
	case len(object) == 1:
		return agentError(object["error"])
	}
	return nil
}
