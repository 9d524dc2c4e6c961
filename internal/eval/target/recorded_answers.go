package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// AnswersConfig is a file of answers as a target: each test is graded by its row, and no agent is called.
type AnswersConfig struct {
	File string
	// Definition is the map as it is written.
	Definition any
	fields     answerMap
}

// answerMap locates an answer in a row.
type answerMap struct {
	ID        suite.RowField `key:"id" schema:"row_field" required:"the map needs the id" doc:"the test's id"`
	Output    suite.RowField `key:"output" schema:"row_field" doc:"the reply of a test of one turn"`
	Messages  suite.RowField `key:"messages" schema:"row_field" doc:"replies, or a conversation with them"`
	ToolCalls suite.RowField `key:"tool_calls" schema:"row_field" doc:"the calls of the output"`
	Usage     suite.RowField `key:"usage" schema:"row_field" doc:"the tokens of the output"`
}

// recordedKeys are the keys of a target of the kind recorded.
type recordedKeys struct {
	Kind     any         `key:"kind"`
	Recorded answersKeys `key:"recorded" schema:"answers" required:"a recorded target needs its answers"`
}

type answersKeys struct {
	File string      `key:"file" notblank:"true" required:"name the file of the answers" doc:"a row for each test"`
	Map  source.Node `key:"map" schema:"answer_map"`
}

// defaultAnswers is the map of a file for which none is written.
var defaultAnswers = map[string]any{"id": "$.id", "output": "$.output"}

// AnswerMap returns a map with the defaults of what it lacks.
func AnswerMap(given source.Value) source.Value {
	has := func(name string) bool { _, ok := given.Get(name); return ok }
	for _, name := range []string{"id", "output"} {
		if !has(name) && (name == "id" || !has("messages")) {
			given.Fields = append(given.Fields, source.Field{Name: name, Value: source.FromAny(defaultAnswers[name])})
		}
	}
	return given
}

func recordedKind() Kind {
	return Kind{
		Name: "recorded", Doc: "a file of answers that are graded; no agent is called", Short: "recorded:FILE",
		prefix: "recorded", read: readRecorded,
		short: func(path, _ string) config.Target {
			unheard := &source.Reader{}
			return ofAnswers(path, unheard.Node(source.FromAny(defaultAnswers), "map"))
		},
	}
}

func readRecorded(n source.Node, at config.Location) config.Target {
	var k recordedKeys
	source.Decode(n, &k)
	if k.Recorded.Map.Kind == source.Null {
		k.Recorded.Map = n.With(source.FromAny(defaultAnswers))
	}
	return ofAnswers(at.Path(k.Recorded.File), k.Recorded.Map)
}

func ofAnswers(file string, n source.Node) config.Target {
	c := AnswersConfig{File: file, Definition: n.Any()}
	source.Decode(n, &c.fields)
	if n.Kind == source.Map && c.fields.Output.Set() == c.fields.Messages.Set() {
		n.Report("add `output: PATH` for one reply per test, or `messages: PATH`",
			"the map needs an output or messages")
	}
	if c.fields.Messages.Set() && (c.fields.ToolCalls.Set() || c.fields.Usage.Set()) {
		n.Report("remove them: the messages have them", "tool_calls and usage are those of an output")
	}
	return config.Target{Kind: "recorded", Options: c}
}

func (c AnswersConfig) open(_ config.Model, p Parts) (runner.Target, error) { return p.Answers(c) }

// OpenAnswers reads a file of answers. The caller closes them.
func OpenAnswers(c AnswersConfig, files source.Files) (*Answers, error) {
	spool, err := os.CreateTemp("", "rehearse-answers-*")
	if err != nil {
		return nil, err
	}
	a := &Answers{File: c.File, spool: spool, at: map[string]spooled{}}
	if err := a.read(c, files); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (AnswersConfig) asks(context.Context, config.Model, Parts) (Dependencies, error) {
	return Dependencies{Priced: true}, nil //nolint:unparam // a kind has it
}

func (AnswersConfig) complete() bool { return true }

// Answers is a target that plays the answers of a file. They are on disk, so that a large file costs no memory.
type Answers struct {
	File  string
	spool *os.File
	at    map[string]spooled
}

// spooled is where an answer is, and the line of its row.
type spooled struct {
	from         int64
	length, line int
}

// recordedAnswer is an answer: the user's messages and the replies, in order.
type recordedAnswer struct {
	Exchanges []recordedExchange
	// WithUser is true if the file has the user's messages.
	WithUser bool
}

type recordedExchange struct {
	User string
	// Reply is nil where the file has none.
	Reply *recordedReply
}

type recordedReply struct {
	Text      string
	ToolCalls []chat.ToolCall
	Usage     *[2]int
}

// maxAnswerProblems bounds the problems of one file that are reported.
const maxAnswerProblems = 100

// read reads every answer. A row that is not one is a problem, and so is a second answer to a test.
func (a *Answers) read(c AnswersConfig, files source.Files) error {
	var problems source.Problems
	size := int64(0)
	whole := func(r *suite.Row) bool { _, missing := c.fields.ID.In(r); return len(missing) == 0 }
	for row, err := range suite.Rows(files, c.File, whole) {
		if len(problems) >= maxAnswerProblems {
			break
		}
		if err != nil {
			problems = append(problems, asProblems(c.File, err)...)
			continue
		}
		id, answer, problem := c.fields.answer(row)
		if known, twice := a.at[id]; problem == "" && twice {
			problem = fmt.Sprintf("a second answer to test %s; the first is on line %d", id, known.line)
		}
		if problem != "" {
			problems = append(problems, source.Problem{
				File: c.File, Line: row.Line, Column: 1, Message: problem, Hint: row.Has(),
			})
			continue
		}
		data, err := json.Marshal(answer)
		if err == nil {
			_, err = a.spool.Write(data)
		}
		if err != nil {
			return fmt.Errorf("copy the answers of %s: %w", c.File, err)
		}
		a.at[id] = spooled{size, len(data), row.Line}
		size += int64(len(data))
	}
	if len(a.at) == 0 && len(problems) == 0 {
		problems = append(problems, source.Problem{
			File: c.File, Message: "the file has no answers", Hint: "write a row for each test",
		})
	}
	return problems.Err()
}

func asProblems(file string, err error) source.Problems {
	if problems, ok := errors.AsType[source.Problems](err); ok {
		return problems
	}
	return source.Problems{{File: file, Message: err.Error()}}
}

// answer reads a row. What makes it unreadable is a problem. A null is not: the agent gave no answer.
func (m *answerMap) answer(row *suite.Row) (id string, answer recordedAnswer, problem string) {
	found, missing := m.ID.In(row)
	switch id = found.Scalar; {
	case len(missing) > 0:
		return "", answer, fmt.Sprintf("id: %s finds nothing in this row", missing[0])
	case found.Kind == source.List || found.Kind == source.Map || strings.TrimSpace(id) == "":
		return "", answer, "id: expected a text or a number"
	}
	field, name := &m.Output, "output"
	if m.Messages.Set() {
		field, name = &m.Messages, "messages"
	}
	said, missing := field.In(row)
	if len(missing) > 0 {
		if field.IsNull(row) {
			return id, answer, ""
		}
		return "", answer, fmt.Sprintf("%s: %s finds nothing in this row", name, missing[0])
	}
	if suite.IsMessages(said) {
		answer, problem = conversationOf(said.Items)
		return id, answer, problem
	}
	if name == "messages" {
		return "", answer, "messages: expected a list of messages with a role each"
	}
	reply := &recordedReply{}
	if reply.Text, problem = textOf(said); problem != "" {
		return "", answer, "output: " + problem
	}
	if calls, lacking := m.ToolCalls.In(row); m.ToolCalls.Set() && len(lacking) > 0 && !m.ToolCalls.IsNull(row) {
		return "", answer, fmt.Sprintf("tool_calls: %s finds nothing in this row", lacking[0])
	} else if reply.ToolCalls, problem = callsOf(calls); problem != "" {
		return "", answer, problem
	}
	if usage, lacking := m.Usage.In(row); m.Usage.Set() && len(lacking) == 0 {
		if reply.Usage = usageOf(usage); reply.Usage == nil {
			return "", answer, "usage: expected {input_tokens, output_tokens}"
		}
	}
	answer.Exchanges = []recordedExchange{{Reply: reply}}
	return id, answer, ""
}

// conversationOf reads messages. An assistant's messages up to one without tool calls are one reply.
func conversationOf(messages []source.Value) (a recordedAnswer, problem string) {
	var reply *recordedReply // that further messages may add to
	for _, m := range messages {
		role, _ := m.Get("role")
		content, _ := m.Get("content")
		text, problem := textOf(content)
		if problem != "" {
			return a, "messages: " + problem
		}
		switch role.Scalar {
		case "user":
			a.Exchanges, a.WithUser, reply = append(a.Exchanges, recordedExchange{User: text}), true, nil
		case "assistant":
			written, _ := m.Get("tool_calls")
			calls, problem := callsOf(written)
			if problem != "" {
				return a, problem
			}
			last := len(a.Exchanges) - 1
			switch {
			case reply != nil:
			case last >= 0 && a.Exchanges[last].Reply == nil:
				reply = &recordedReply{}
				a.Exchanges[last].Reply = reply
			case a.WithUser:
				reply = a.Exchanges[last].Reply // several messages to one of the user
			default:
				reply = &recordedReply{}
				a.Exchanges = append(a.Exchanges, recordedExchange{Reply: reply})
			}
			if reply.Text != "" && text != "" {
				text = reply.Text + "\n\n" + text
			} else {
				text += reply.Text
			}
			reply.Text, reply.ToolCalls = text, append(reply.ToolCalls, calls...)
			if len(calls) == 0 {
				reply = nil
			}
		case "tool", "function":
			if id, _ := m.Get("tool_call_id"); reply != nil {
				for i := range reply.ToolCalls {
					if call := &reply.ToolCalls[i]; call.ID == id.Scalar && call.Result == nil {
						call.Result, _ = json.Marshal(text) //nolint:errchkjson // a text is always JSON
						break
					}
				}
			}
		case "system", "developer":
		default:
			return a, fmt.Sprintf("messages: unknown role %q", role.Scalar)
		}
	}
	if a.WithUser && len(a.Exchanges) > 0 && a.Exchanges[0].User == "" && a.Exchanges[0].Reply != nil {
		a.Exchanges = a.Exchanges[1:] // a greeting, which answers nothing
	}
	return a, ""
}

// textOf returns a text, or the texts of content parts.
func textOf(v source.Value) (text, problem string) {
	switch v.Kind {
	case source.Null:
		return "", ""
	case source.Map:
		return "", "expected a text, got a mapping"
	case source.List:
		var parts []string
		for _, item := range v.Items {
			part, ok := item.Get("text")
			if part.Kind != source.String || !ok {
				return "", "expected a text, got a list of other parts"
			}
			parts = append(parts, part.Scalar)
		}
		return strings.Join(parts, "\n"), ""
	}
	return v.Scalar, ""
}

// callsOf reads tool calls: {name, args} or, of OpenAI, {id, function: {name, arguments}}.
func callsOf(v source.Value) (calls []chat.ToolCall, problem string) {
	if v.Kind == source.Null {
		return nil, ""
	}
	if v.Kind != source.List {
		v = source.Value{Kind: source.List, Items: []source.Value{v}}
	}
	for _, item := range v.Items {
		of := item
		if function, ok := item.Get("function"); ok {
			of = function
		}
		id, _ := item.Get("id")
		name, _ := of.Get("name")
		if name.Scalar == "" {
			return nil, "tool_calls: a call has no name"
		}
		call := chat.ToolCall{ID: id.Scalar, Name: name.Scalar, Args: json.RawMessage("{}")}
		for _, key := range []string{"arguments", "args", "input"} {
			args, ok := of.Get(key)
			switch {
			case !ok || args.Kind == source.Null:
				continue
			case args.Kind == source.String && json.Valid([]byte(args.Scalar)):
				call.Args = json.RawMessage(args.Scalar)
			default:
				call.Args, _ = json.Marshal(args.Any()) //nolint:errchkjson // it was read from JSON
			}
			break
		}
		if result, ok := item.Get("result"); ok && result.Kind != source.Null {
			call.Result, _ = json.Marshal(result.Any()) //nolint:errchkjson // it was read from JSON
		}
		calls = append(calls, call)
	}
	return calls, ""
}

// usageOf reads the tokens of a reply, in our names or OpenAI's; nil for anything else.
func usageOf(v source.Value) *[2]int {
	var tokens [2]int
	for i, names := range [2][2]string{{"input_tokens", "prompt_tokens"}, {"output_tokens", "completion_tokens"}} {
		n, ok := v.Get(names[0])
		if !ok {
			n, ok = v.Get(names[1])
		}
		f, isNumber := n.Float()
		if !ok || !isNumber || f < 0 || f > 1e12 {
			return nil
		}
		tokens[i] = int(f)
	}
	return &tokens
}

// Close removes the copy of the answers.
func (a *Answers) Close() error {
	return errors.Join(a.spool.Close(), os.Remove(a.spool.Name()))
}

// IDs returns the ids of the tests that have an answer.
func (a *Answers) IDs() []string {
	ids := make([]string, 0, len(a.at))
	for id := range a.at {
		ids = append(ids, id)
	}
	return ids
}

// Open returns a session that plays the answer to a test. Its errors are a *runner.FailureError.
func (a *Answers) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	at, ok := a.at[o.Test.ID]
	switch {
	case o.Test.User != nil:
		return nil, a.failure(result.SpecInvalid, 1, "a simulated user cannot talk to recorded answers")
	case !ok:
		return nil, a.failure(result.EngineError, 1, "%s has no answer to test %s", a.File, o.Test.ID)
	}
	data := make([]byte, at.length)
	var answer recordedAnswer
	if _, err := a.spool.ReadAt(data, at.from); err != nil {
		return nil, err
	} else if err = json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	earlier, err := before(o.Test)
	if err != nil {
		return nil, err
	}
	s := &answersSession{earlier: earlier, of: a, at: at, turns: answer.Exchanges}
	if answer.WithUser {
		s.turns, err = a.matched(o.Test, earlier, answer.Exchanges, at)
	} else if n := len(o.Test.Turns); len(s.turns) > n {
		err = a.failure(result.SpecInvalid, n, "%s:%d has %d answers to the %d turns of the test", a.File, at.line,
			len(s.turns), n)
	}
	return s, err
}

// matched returns the exchanges that are the test's turns. A recorded conversation with other messages of the user is
// refused: its replies would answer something else.
func (a *Answers) matched(t *suite.Test, earlier []chat.Message, said []recordedExchange,
	at spooled) ([]recordedExchange, error) {
	var before []string
	for _, m := range earlier {
		if m.Role == chat.User {
			before = append(before, m.Content.String())
		}
	}
	same := func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
	begins := len(said) > len(before)
	for i := range before {
		begins = begins && same(before[i], said[i].User)
	}
	if begins {
		said = said[len(before):]
	}
	for i, x := range said {
		if i >= len(t.Turns) || !same(x.User, t.Turns[i].Input.String()) {
			return nil, a.failure(result.SpecInvalid, min(i+1, len(t.Turns)),
				"%s:%d: message %d of the user is not the test's", a.File, at.line, i+1)
		}
	}
	return slices.Clip(said), nil
}

func (a *Answers) failure(code result.Code, turn int, format string, args ...any) error {
	return &runner.FailureError{Failure: result.Failure{
		Code: code, Source: code.Source(), Turn: turn, Message: fmt.Sprintf(format, args...),
	}}
}

// answersSession plays the answer to one test.
type answersSession struct {
	earlier
	of    *Answers
	at    spooled
	turns []recordedExchange
	said  int
}

// Send returns the recorded reply to the next message. An empty one is a failure: files have it where an agent gave no
// answer.
func (s *answersSession) Send(context.Context, chat.Content) (chat.Reply, error) {
	s.said++
	reply := chat.Reply{Untimed: true, Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	if s.said > len(s.turns) || s.turns[s.said-1].Reply == nil {
		return reply, s.of.failure(result.EngineError, s.said, "%s:%d has no answer to turn %d", s.of.File, s.at.line,
			s.said)
	}
	recorded := s.turns[s.said-1].Reply
	reply.Text, reply.ToolCalls = recorded.Text, recorded.ToolCalls
	if recorded.Usage != nil {
		reply.Usage = chat.Usage{InputTokens: recorded.Usage[0], OutputTokens: recorded.Usage[1]}
	}
	if strings.TrimSpace(reply.Text) == "" && len(reply.ToolCalls) == 0 {
		return reply, s.of.failure(result.EngineError, s.said, "%s:%d has an empty answer to turn %d", s.of.File,
			s.at.line, s.said)
	}
	return reply, nil
}

// Close does nothing.
func (s *answersSession) Close() error { return nil }
