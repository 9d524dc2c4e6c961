package llm

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The bounds of a script.
const (
	maxScriptBytes = 4 << 20
	maxRules       = 10_000
	maxKeys        = 10_000
)

// Cast is implemented by models that can play several: As returns the one called name.
// Both share what they count. A server passes the name that a request has.
type Cast interface {
	As(name string) Model
}

var (
	_ Model    = (*Scripted)(nil)
	_ Streamer = (*Scripted)(nil)
	_ Cast     = (*Scripted)(nil)
	_ Streamer = role{}
)

// Scripted is a model played from a file of rules (LoadScript). The same requests in the same order get the same
// answers. It is safe for concurrent use; only rules on `call` and limited faults depend on earlier requests.
type Scripted struct {
	// name is what the rules' `model` patterns see when a request names no other.
	name      string
	file      string
	rules     []rule
	fallback  *answer
	constants *constants
	mu        sync.Mutex
	calls     map[string]int
	faults    map[faultKey]int
}

// rule answers the requests that its conditions match.
type rule struct {
	When condition `key:"when"`
	answer
}

// DecodeNode reads a rule.
func (r *rule) DecodeNode(n source.Node) {
	keys := struct {
		*rule
		templateKeys
	}{rule: r}
	source.Decode(n, &keys)
	r.compile(n, keys.templateKeys, r.When.captures())
}

// LoadScript reads a script, a YAML file of at most 4 MB and 10,000 rules:
//
//	name: shop                     # what the model is called; the file's name by default
//	rules:                         # the first rule that matches answers
//	  - when: {user: 'weather in (?P<city>\w+)', system: …, model: …, assistant: …, tools: get_weather, turn: 1,
//	      call: 1, after: user}
//	    tool_calls: [{name: get_weather, args: {city: "${city}", unit: "${tool.unit}"}}]
//	  - when: {after: get_weather, result: '"sky":"(\w+)"', choice: auto, args: {unit: celsius}, node: intent}
//	    reply: The sky is $1.
//	  - when: {user: hello}
//	    reply: Hello!
//	    fault: {status: 429, retry_after: 1s, body: slow down, times: 2}
//	default: {json: {intent: other}, delay: 50ms}
//
// Conditions may all be left out. User, system, model and assistant are regular expressions as Go writes them: on the
// last user message, the system messages, the model that is asked and what the assistant said last. Tools are names
// that must be offered; turn is the number of user messages in the request, call that of requests to this model so far,
// from 1.
//
// In a loop of tools, after says how the request ends: user (with the user's message), tool (with results of tools), or
// the name of a tool (a result of that tool is among those at the end); result is a regular expression on such a
// result. Choice is the tool choice: a tool's name, auto, none or required. Args are parameters for which an offered
// tool's schema has a `const`, with a regular expression that the whole constant must match: {current_node_id: triage}
// is the rule for one node of a flow. Node is a regular expression on the part of an agent that asks (Request.Node).
//
// An answer is reply, tool_calls (or both), json, verdicts or fault, after a delay if there is one. In its texts $1 and
// ${name} stand for the groups of when.user or, if that has none, of when.result; ${tool.NAME} stands for the constant
// of the parameter NAME of an offered tool. Verdicts answer a judge's request, whose user message is a JSON object:
// [{criterion: PATTERN, output: PATTERN, score: 0..10}]; the first entry that matches a rubric's outcome decides by
// whether the output matches, and no entry means not satisfied. Answers have the ids of the request. Its canary is
// answered truthfully, unless an entry with canary: true decides it. A fault is timeout, malformed, cut_stream,
// refuse_connection, or {status or kind, retry_after, body, times}; times limits it to the first requests of the same
// content, which then get the rule's answer or, without one, the next rule's.
//
// The error is a source.Problems with every mistake of the file.
func LoadScript(file string, data []byte) (*Scripted, error) {
	return loadScript(source.Files{}, file, data)
}

// loadScript reads a script that is one of these files.
func loadScript(files source.Files, file string, data []byte) (*Scripted, error) {
	if len(data) > maxScriptBytes {
		return nil, source.Problems{{
			File: file, Hint: "split it by model",
			Message: fmt.Sprintf("the script is larger than %d MB", maxScriptBytes>>20),
		}}
	}
	root, err := files.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	reader := &source.Reader{File: file}
	n := reader.Node(root, "")
	keys := struct {
		Name    string      `key:"name"`
		Rules   source.Node `key:"rules"`
		Default *answer     `key:"default"`
	}{Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	source.Decode(n, &keys)
	s := &Scripted{
		file: file, name: keys.Name, fallback: keys.Default,
		calls: map[string]int{}, faults: map[faultKey]int{}, constants: &constants{},
	}
	if len(keys.Rules.Items) > maxRules {
		keys.Rules.Report("use patterns that cover more, or split the script by model",
			"the script has more than %d rules", maxRules)
		keys.Rules = source.Node{}
	}
	for _, item := range keys.Rules.List() {
		var r rule
		r.DecodeNode(item)
		s.rules = append(s.rules, r)
	}
	if len(reader.Problems) == 0 && !n.Has("rules") && !n.Has("default") {
		n.Report("write `rules:` with a list of {when, reply}, or a default", "the script has no rules")
	}
	if err := reader.Problems.InOrder().Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// As returns the model called name, as seen by the rules' `model` patterns.
func (s *Scripted) As(name string) Model { return role{s, name} }

type role struct {
	script *Scripted
	name   string
}

func (r role) Generate(ctx context.Context, q Request) (chat.Reply, error) {
	return r.script.play(ctx, r.name, q, nil)
}

func (r role) Stream(ctx context.Context, q Request, token func(string)) (chat.Reply, error) {
	return r.script.play(ctx, r.name, q, token)
}

// Name returns the name that the script gives itself, or that of its file.
func (s *Scripted) Name() string { return s.name }

// Generate answers as the first rule that matches says.
func (s *Scripted) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return s.play(ctx, s.name, r, nil)
}

// Stream is Generate with the text given word by word. An answer that is cut gives some words before it fails.
func (s *Scripted) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	return s.play(ctx, s.name, r, token)
}

// play answers; token is nil for a reply that is not streamed.
func (s *Scripted) play(ctx context.Context, name string, r Request, token func(string)) (chat.Reply, error) {
	start := time.Now()
	v := newScene(name, &r, s.constants)
	s.mu.Lock()
	s.calls[name]++
	v.call = s.calls[name]
	s.mu.Unlock()
	chosen, broken, err := s.choose(v, r)
	if err != nil {
		return chat.Reply{}, err
	}
	if chosen == nil {
		return chat.Reply{}, s.fail(name, &Error{
			Fault: Refused, Message: fmt.Sprintf("no rule matches the user message %q", clip(v.user)),
			Hint: "add a rule or a default to " + s.file,
		})
	}
	if err := Sleep(ctx, chosen.Delay); err != nil {
		return chat.Reply{}, err
	}
	if broken {
		return chat.Reply{}, s.breakOff(ctx, name, chosen.Fault, token)
	}
	reply, failure := chosen.render(v)
	if failure != nil {
		failure.Fault = Refused
		failure.Message = fmt.Sprintf("the rule at %s:%d cannot answer: %s", s.file, chosen.line, failure.Message)
		return chat.Reply{}, s.fail(name, failure)
	}
	if token != nil {
		if err := giveWords(ctx, reply.Text, token); err != nil {
			return chat.Reply{}, err
		}
	}
	reply.Usage.InputTokens, reply.Latency, reply.Attempts = v.words(), time.Since(start), 1
	reply.FinishReason = ended(reply)
	return reply, nil
}

// choose returns the first answer that matches and whether it is due to break.
// A fault that ran out leaves the request to the rule's answer or, if there is none, to the next rules.
func (s *Scripted) choose(v *scene, r Request) (*answer, bool, error) {
	for i := range s.rules {
		if !s.rules[i].When.matches(v) {
			continue
		}
		a := &s.rules[i].answer
		if broken, err := s.due(i, v.model, a.Fault, r); err != nil || broken || a.hasReply() {
			return a, broken, err
		}
	}
	if s.fallback == nil {
		return nil, false, nil
	}
	v.groups = []string{v.user}
	broken, err := s.due(-1, v.model, s.fallback.Fault, r)
	if !broken && !s.fallback.hasReply() {
		return nil, false, err
	}
	return s.fallback, broken, err
}

func (s *Scripted) fail(name string, e *Error) *Error {
	e.Model, e.At, e.Attempts = "scripted:"+name, s.file, 1
	return e
}
