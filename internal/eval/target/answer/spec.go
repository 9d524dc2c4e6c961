// Package answer reads the answers of agents as configuration says where things are in them: whole bodies, streams, and
// messages one by one.
package answer

import (
	"reflect"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Spec says where things are in an answer. The zero value finds the reply by its name and nothing else. It is never
// changed after it was read, and safe for concurrent use.
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

// Keys are the keys of a target that locate things in its answers.
type Keys struct {
	Answer Spec    `key:"answer" schema:"answer"`
	Stream *Stream `key:"stream" schema:"stream"`
}

// Spec returns what the keys configure.
func (k Keys) Spec() Spec {
	k.Answer.Stream = k.Stream
	return k.Answer
}

// answerKeys are the keys of an answer.
type answerKeys struct {
	Text         *Pick     `key:"text" schema:"pick"`
	Node         *Pick     `key:"node" schema:"pick"`
	State        *Pick     `key:"state" schema:"pick"`
	Cost         *Pick     `key:"cost_usd" schema:"pick"`
	FinishReason *Pick     `key:"finish_reason" schema:"pick"`
	TraceID      *Pick     `key:"trace_id" schema:"pick"`
	End          *Pick     `key:"end" schema:"pick"`
	Error        *Pick     `key:"error" schema:"pick"`
	ToolCalls    *Calls    `key:"tool_calls" schema:"calls"`
	Usage        usageKeys `key:"usage"`
}

// usageKeys are the keys of the tokens of a turn.
type usageKeys struct {
	InputTokens  *Pick `key:"input_tokens" schema:"pick"`
	OutputTokens *Pick `key:"output_tokens" schema:"pick"`
}

// DecodeNode reads the path of the reply, or a mapping with the places of everything in an answer.
func (s *Spec) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		s.Text = new(Pick)
		s.Text.DecodeNode(n)
		return
	}
	var k answerKeys
	source.Decode(n, &k)
	*s = Spec{
		Text: k.Text, Node: k.Node, State: k.State, Cost: k.Cost, FinishReason: k.FinishReason, TraceID: k.TraceID,
		End: k.End, Error: k.Error, ToolCalls: k.ToolCalls,
		InputTokens: k.Usage.InputTokens, OutputTokens: k.Usage.OutputTokens,
	}
}

// callKeys are the keys of tool calls.
type callKeys struct {
	pickKeys
	Name       source.Node `key:"name" schema:"text"`
	Args       source.Node `key:"args" schema:"text"`
	ID         source.Node `key:"id" schema:"text"`
	Result     source.Node `key:"result" schema:"text"`
	Cumulative bool        `key:"cumulative" doc:"the answer repeats the calls of earlier turns"`
}

// DecodeNode reads a path, or {path, name, args, …}.
func (c *Calls) DecodeNode(n source.Node) {
	*c = Calls{
		Pick: &Pick{Path: "$", expr: jp.Expr{jp.Root('$')}}, name: one("$.name").expr, args: one("$.args").expr,
		namePath: "$.name",
	}
	if n.Kind != source.Map {
		c.path(n)
		return
	}
	var k callKeys
	source.Decode(n, &k)
	c.take(k.pickKeys)
	c.cumulative = k.Cumulative
	for _, at := range []struct {
		written source.Node
		expr    *jp.Expr
	}{{k.Name, &c.name}, {k.Args, &c.args}, {k.ID, &c.id}, {k.Result, &c.result}} {
		if at.written.Kind != source.Null {
			*at.expr = parsed(at.written, at.written.Text())
		}
	}
	if n.Has("name") {
		c.namePath = k.Name.Scalar
	}
}

// streamKeys are the keys of a stream.
type streamKeys struct {
	Format Format `key:"format" enum:"sse,jsonl"`
	Text   *Pick  `key:"text" schema:"pick"`
	Error  *Pick  `key:"error" schema:"pick"`
	End    *End   `key:"end" schema:"stream_end"`
}

// DecodeNode reads sse, jsonl, or {format, text, end, error}.
func (s *Stream) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		s.Format = Format(n.OneOf(string(SSE), string(JSONL)))
		return
	}
	var k streamKeys
	source.Decode(n, &k)
	*s = Stream(k)
}

// endKeys are the keys of the last event of a stream.
type endKeys struct {
	Event []string    `key:"event"`
	If    source.Node `key:"if" schema:"object"`
	Data  *string     `key:"data"`
}

// DecodeNode reads {event}, {if} or {data}.
func (e *End) DecodeNode(n source.Node) {
	var k endKeys
	source.Decode(n, &k)
	e.data = k.Data
	if n.Has("event") || n.Has("if") {
		e.pick = &Pick{expr: jp.Expr{jp.Root('$')}}
		e.pick.take(pickKeys{Event: k.Event, If: k.If})
	}
	if n.Kind == source.Map && e.pick == nil && e.data == nil {
		n.Report(`write {event: done}, {if: {PATH: VALUE}} or {data: "[DONE]"}`, "nothing tells the last event")
	}
}

// Schemas returns the JSON Schemas of the mappings of an answer, by their names.
func Schemas() map[string]reflect.Type {
	return map[string]reflect.Type{
		"answer_keys": reflect.TypeFor[answerKeys](), "pick_when": reflect.TypeFor[pickWhenKeys](),
		"tool_calls": reflect.TypeFor[callKeys](), "stream_keys": reflect.TypeFor[streamKeys](),
		"stream_end": reflect.TypeFor[endKeys](), "usage": reflect.TypeFor[usageKeys](),
	}
}
