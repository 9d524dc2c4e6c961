package llm

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The bounds of a script.
const (
	maxScriptBytes = 4 << 20
	maxRules       = 10_000
	maxKeys        = 10_000
)

// LoadScript reads a script, a YAML file of at most 4 MB and 10,000 rules:
//
//	name: shop                     # what the model is called; the file's name by default
//	rules:                         # the first rule that matches answers
//	  - when: {user: 'weather in (?P<city>\w+)', system: …, model: …, assistant: …, tools: get_weather, turn: 1, call: 1, after: user}
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
			File: file, Message: fmt.Sprintf("the script is larger than %d MB", maxScriptBytes>>20), Hint: "split it by model",
		}}
	}
	root, err := files.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	s := &Scripted{
		file: file, name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
		calls: map[string]int{}, faults: map[faultKey]int{}, constants: &constants{},
	}
	reader := &source.Reader{File: file}
	node := reader.Node(root, "")
	node.Read(map[string]func(source.Node){
		"name":  func(n source.Node) { s.name = n.Text() },
		"rules": s.readRules,
		"default": func(n source.Node) {
			s.fallback = &answer{}
			s.fallback.read(n, captures{nil, "user"}, false)
		},
	})
	if len(reader.Problems) == 0 && s.rules == nil && s.fallback == nil {
		node.Report("write `rules:` with a list of {when, reply}, or a default", "the script has no rules")
	}
	if err := reader.Problems.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Scripted) readRules(n source.Node) {
	if len(n.Items) > maxRules {
		n.Report("use patterns that cover more, or split the script by model", "the script has more than %d rules", maxRules)
		return
	}
	s.rules = []rule{}
	for _, item := range n.List() {
		var r rule
		if item.Has("when") { // before the answer, whose templates refer to it
			r.when.read(item.Field("when"))
		}
		r.answer.read(item, r.when.captures(), true)
		s.rules = append(s.rules, r)
	}
}

// read reads an answer; in a rule the conditions stand beside it and were read before.
func (a *answer) read(n source.Node, from captures, inRule bool) {
	a.line = n.Line
	fields := map[string]func(source.Node){
		"reply": func(n source.Node) {
			t := readText(n, from)
			a.reply = &t
		},
		"tool_calls": func(n source.Node) { a.readCalls(n, from) },
		"json": func(n source.Node) {
			t := readTree(n, from)
			a.json = &t
		},
		"verdicts": func(n source.Node) { a.verdicts = readVerdicts(n) },
		"delay":    func(n source.Node) { a.delay = n.Duration() },
		"fault":    func(n source.Node) { a.fault = readFault(n) },
	}
	if inRule {
		fields["when"] = func(source.Node) {}
	}
	n.Read(fields)
	if n.Kind != source.Map {
		return
	}
	kinds := 0
	for _, has := range []bool{a.reply != nil || a.calls != nil, a.json != nil, a.verdicts != nil} {
		if has {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		n.Report("keep one; only reply and tool_calls go together", "more than one answer")
	case kinds == 0 && a.fault == nil:
		n.Report("add reply, tool_calls, json, verdicts or fault", "there is no answer")
	case kinds > 0 && a.fault != nil && a.fault.times == 0:
		n.Report("limit the fault with times, or remove the answer", "the fault always strikes, so the answer beside it is never given")
	}
}

func (a *answer) readCalls(n source.Node, from captures) {
	a.calls = []scriptedCall{}
	for _, item := range n.List() {
		c := scriptedCall{args: tree{[]part{{raw: "{}"}}}}
		item.Read(map[string]func(source.Node){
			"name": func(n source.Node) { c.name = n.Text() },
			"args": func(n source.Node) { c.args = readTree(n, from) },
		})
		if item.Kind == source.Map && c.name == "" {
			item.Report("write {name: TOOL, args: {…}}", "a tool call needs a name")
		}
		a.calls = append(a.calls, c)
	}
}
