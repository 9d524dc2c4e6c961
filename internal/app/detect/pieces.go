package detect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

var errNoEnd = errors.New("it answers with several messages, and nothing in the last one says that it is the last: " +
	"write the target yourself, with `stream: {end: …}`")

// inPieces finds the pieces of a reply that came over a WebSocket in several messages, and the message with which it
// ends. It asks once more, to see that the reply is found.
func (p *probing) inPieces(ctx context.Context, f *Found) error {
	said := slices.Concat(f.Request.Events, f.Request.More)
	end, ok := endOf(said)
	if !ok {
		return errNoEnd
	}
	events := make([]answer.Event, 0, len(said))
	for _, data := range said {
		events = append(events, answer.Event{Data: data})
	}
	piece, others, ok := longestOf(events)
	if !ok {
		return errors.New("none of its messages has a text")
	}
	stream := source.Value{Kind: source.Map, Fields: []source.Field{{Name: "end", Value: end}}}
	mapping := without(f.Target, "stream")
	if piece.whole {
		mapping = over(mapping, "answer", source.Value{
			Kind: source.Map, Fields: []source.Field{{Name: "text", Value: piece.pick}},
		})
	} else {
		stream.Fields = slices.Insert(stream.Fields, 0, source.Field{Name: "text", Value: piece.pick})
	}
	mapping = over(mapping, "stream", stream)
	_, asked, err := p.ask(ctx, mapping, spokenTime)
	switch {
	case err != nil:
		return fmt.Errorf("it answered with several messages, and then otherwise: %w", err)
	case strings.TrimSpace(asked.Reply) == "":
		return errors.New("the reply was empty")
	case len(asked.More) > 0:
		return errNoEnd
	}
	f.Request, f.Target, f.Reply, f.Path, f.Candidates = asked, mapping, asked.Reply, piece.path, others
	return nil
}

// goesOn reports whether messages after the first reply belong to it. In an answer that is read to its first message,
// those do that have a text where that message has its longest. Err says why there was no reply.
func (f *Found) goesOn(err error) bool {
	if _, toFirst := f.Target.Get("stream"); !toFirst || len(f.Request.More) == 0 {
		return err == nil && len(f.Request.More) > 0
	}
	texts, _ := answer.Texts([]byte(f.Request.Events[len(f.Request.Events)-1])) // what is no JSON has none
	reply, ok := longest(texts)
	return !ok || slices.ContainsFunc(f.Request.More, func(data string) bool {
		texts, _ := answer.Texts([]byte(data))
		return slices.ContainsFunc(texts, func(t answer.Text) bool { return t.Path == reply.Path })
	})
}

// ends are names of values that tell the last message of a reply.
var ends = []string{
	"type", "event", "kind", "status", "state", "op", "done", "final", "is_final", "finished", "end", "last",
	"complete", "completed", "finish_reason", "stop",
}

// endOf returns what tells the last message from those before it.
func endOf(said []string) (source.Value, bool) {
	last, before := said[len(said)-1], said[:len(said)-1]
	if done := strings.TrimSpace(last); !strings.HasPrefix(done, "{") && len(done) <= 20 &&
		!slices.Contains(before, last) {
		return source.FromAny(map[string]any{"data": last}), strings.ToUpper(done) == done && done != ""
	}
	for _, name := range ends {
		value, ok := memberOf(last, name)
		if s, is := value.(string); !ok || is && (s == "" || len(s) > 40) || value == false || value == nil {
			continue
		}
		if !slices.ContainsFunc(before, func(data string) bool { v, _ := memberOf(data, name); return v == value }) {
			return source.FromAny(map[string]any{"if": map[string]any{"$." + name: value}}), true
		}
	}
	return source.Value{}, false
}

// memberOf returns a text or a boolean of an object.
func memberOf(data, name string) (any, bool) {
	var members map[string]any
	if json.Unmarshal([]byte(data), &members) != nil {
		return nil, false
	}
	switch v := members[name].(type) {
	case string, bool:
		return v, true
	}
	return nil, false
}
