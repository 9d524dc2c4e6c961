package detect

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// spoken asks an agent that is not spoken with over HTTP as data: in the default way of its kind, else in its other
// ways.
func (p *probing) spoken(ctx context.Context, mapping source.Value) (*Found, error) {
	var first *NothingError
	for _, way := range waysOf(mapping) {
		t, asked, err := p.ask(ctx, way, spokenTime)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if source.IsInvalid(err) {
			return nil, err
		}
		f := &Found{Request: asked, Target: way, Reply: asked.Reply}
		if asked.SessionID != "" && t.Kind == "a2a" {
			f.Session = &Session{Path: "$.contextId"}
		}
		if f.goesOn(err) {
			if err = p.inPieces(ctx, f); err == nil {
				return f, nil
			}
			return nil, &NothingError{
				Request: target.Exchange{Events: slices.Concat(asked.Events, asked.More)}, Why: err,
			}
		}
		if err == nil && strings.TrimSpace(asked.Reply) != "" {
			f.inEvents()
			return f, nil
		}
		if err != nil || len(asked.Events) > 0 {
			if f.atLongest() {
				return f, nil
			}
		}
		if err == nil {
			err = errors.New("the reply was empty")
		}
		if first == nil {
			first = &NothingError{Request: target.Exchange{Events: asked.Events}, Why: err}
		}
	}
	return nil, first
}

// waysOf returns the ways in which a kind can be spoken with. A program may speak in lines of text, or be started for
// each turn; a WebSocket may answer with one message whatever is in it.
func waysOf(mapping source.Value) []source.Value {
	ways := []source.Value{mapping}
	switch kind, _ := mapping.Get("kind"); kind.Scalar {
	case "command":
		ways = append(ways, over(mapping, "mode", source.Text("text")), over(mapping, "process", source.Text("turn")))
	case "websocket":
		last := source.FromAny(map[string]any{"format": "jsonl", "end": map[string]any{"if": map[string]any{}}})
		ways = append(ways, over(mapping, "stream", last))
	}
	return ways
}

// inEvents finds out where the reply was in the message that held it.
func (f *Found) inEvents() {
	if mode, _ := f.Target.Get("mode"); mode.Scalar == "text" {
		return
	}
	for _, e := range f.Request.Events {
		if reply, ok := answer.Named([]byte(e)); ok && reply.Text == f.Reply {
			texts, _ := answer.Texts([]byte(e))
			f.Path, f.Candidates = reply.Path, candidates(texts, reply.Path)
		}
	}
}

// atLongest takes the longest text of the last message for the reply, where it was found by no name.
func (f *Found) atLongest() bool {
	if len(f.Request.Events) == 0 {
		return false
	}
	last := []byte(f.Request.Events[len(f.Request.Events)-1])
	if complains(last) {
		return false
	}
	texts, err := answer.Texts(last)
	if err != nil {
		return false
	}
	reply, ok := longest(texts)
	if !ok {
		return false
	}
	f.Path, f.Reply, f.Candidates = reply.Path, reply.Text, candidates(texts, reply.Path)
	f.Target = over(without(f.Target, "stream"), "answer", source.Value{
		Kind: source.Map, Fields: []source.Field{field("text", reply.Path)},
	})
	return true
}
