// Package answer reads the answers of agents as configuration says where things are in them: whole bodies, streams, and messages one by one.
package answer

import (
	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Spec says where things are in an answer. The zero value finds the reply by its name and nothing else. It is never changed after it was read,
// and safe for concurrent use.
type Spec struct {
	// Text is where the reply is, FinishReason why it ended; nil finds them by name.
	Text                      *Pick
	Node, State               *Pick
	InputTokens, OutputTokens *Pick
	Cost                      *Pick
	FinishReason, TraceID     *Pick
	End, Error                *Pick
	ToolCalls                 *Calls
	// Session is where the agent's id of the conversation is.
	Session *Pick
	// Stream says how a streamed answer is read; nil where none is configured.
	Stream *Stream
}

// Calls says where tool calls are, and what is where in each.
type Calls struct {
	*Pick
	name, args, id, result jp.Expr
	namePath               string
	// cumulative is true where an answer repeats the calls of earlier turns.
	cumulative bool
}

// Stream says how a streamed answer is read.
type Stream struct {
	Format Format
	// Text picks a piece of the reply from each event. Error picks what makes an event the agent's error.
	Text, Error *Pick
	// End tells the last event; nil where the end of the body is the end.
	End *End
}

// Format is the form of a stream.
type Format string

// The formats of streams. No format is that of an answer which comes whole.
const (
	SSE   Format = "sse"
	JSONL Format = "jsonl"
)

// End tells the last event of a stream: by its name, by values in it, or by its data.
type End struct {
	pick *Pick
	data *string
}

// Fields reads the keys answer and stream of a target.
func (s *Spec) Fields() map[string]func(source.Node) {
	return map[string]func(source.Node){
		"answer": s.readAnswer,
		"stream": func(n source.Node) { s.Stream = ReadStream(n) },
	}
}

func (s *Spec) readAnswer(n source.Node) {
	if n.Kind != source.Map {
		s.Text = ReadPick(n)
		return
	}
	at := func(p **Pick) func(source.Node) { return func(n source.Node) { *p = ReadPick(n) } }
	n.Read(map[string]func(source.Node){
		"text": at(&s.Text), "node": at(&s.Node), "state": at(&s.State), "cost_usd": at(&s.Cost), "finish_reason": at(&s.FinishReason),
		"trace_id": at(&s.TraceID), "end": at(&s.End), "error": at(&s.Error),
		"tool_calls": func(n source.Node) { s.ToolCalls = readCalls(n) },
		"usage": func(n source.Node) {
			n.Read(map[string]func(source.Node){"input_tokens": at(&s.InputTokens), "output_tokens": at(&s.OutputTokens)})
		},
	})
}

func readCalls(n source.Node) *Calls {
	c := &Calls{Pick: &Pick{Path: "$", expr: jp.Expr{jp.Root('$')}}, name: one("$.name").expr, args: one("$.args").expr, namePath: "$.name"}
	if n.Kind != source.Map {
		c.path(n)
		return c
	}
	fields := c.fields()
	fields["name"] = func(n source.Node) { c.name, c.namePath = pathAt(n), n.Text() }
	fields["args"] = func(n source.Node) { c.args = pathAt(n) }
	fields["id"] = func(n source.Node) { c.id = pathAt(n) }
	fields["result"] = func(n source.Node) { c.result = pathAt(n) }
	fields["cumulative"] = func(n source.Node) { c.cumulative = n.Bool() }
	c.pathless = !n.Has("path")
	n.Read(fields)
	return c
}

// ReadStream reads sse, jsonl, or {format, text, end, error}. Problems go to n.
func ReadStream(n source.Node) *Stream {
	s := &Stream{}
	if n.Kind != source.Map {
		s.Format = Format(n.OneOf(string(SSE), string(JSONL)))
		return s
	}
	n.Read(map[string]func(source.Node){
		"format": func(n source.Node) { s.Format = Format(n.OneOf(string(SSE), string(JSONL))) },
		"text":   func(n source.Node) { s.Text = ReadPick(n) },
		"error":  func(n source.Node) { s.Error = ReadPick(n) },
		"end":    func(n source.Node) { s.End = readEnd(n) },
	})
	return s
}

func readEnd(n source.Node) *End {
	e := &End{}
	pick := &Pick{pathless: true, expr: jp.Expr{jp.Root('$')}}
	all := pick.fields()
	n.Read(map[string]func(source.Node){
		"event": func(n source.Node) { all["event"](n); e.pick = pick },
		"if":    func(n source.Node) { all["if"](n); e.pick = pick },
		"data":  func(n source.Node) { e.data = new(n.Text()) },
	})
	if n.Kind == source.Map && e.pick == nil && e.data == nil {
		n.Report(`write {event: done}, {if: {PATH: VALUE}} or {data: "[DONE]"}`, "nothing tells the last event")
	}
	return e
}
