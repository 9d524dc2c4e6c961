package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// processNode is the tool of a flow at a node.
func processNode(node string) Tool {
	return Tool{Name: "process_node", Parameters: json.RawMessage(`{"type":"object","properties":{
		"current_node_id":{"type":"string","const":"` + node + `"},"retries":{"const":3},
		"option_id":{"type":"string","enum":["opt_a","-1"]}},"required":["current_node_id","option_id"],"additionalProperties":false}`)}
}

const loop = `
rules:
  - when: {after: process_node, result: '"prompt":"(?P<prompt>[^"]*)"', user: please}
    reply: "Gladly. ${prompt}"
  - when: {after: process_node, result: '"error"'}
    tool_calls: [{name: process_node, args: {current_node_id: "${tool.current_node_id}", option_id: "-1", n: "${tool.retries}"}}]
  - when: {after: process_node, user: '^say (\w+)', result: '.'}
    reply: "$1"
  - when: {after: search}
    reply: searched
  - when: {after: tool, result: 'id=(\d+)'}
    reply: "found $1, $0"
  - when: {after: tool}
    reply: some tool
  - when: {choice: process_node, args: {current_node_id: tri.*, retries: 3}, user: '(?i)refund'}
    tool_calls: [{name: process_node, args: {current_node_id: "${tool.current_node_id}", option_id: opt_a}}]
  - when: {choice: process_node}
    tool_calls: [{name: process_node, args: {current_node_id: "${tool.current_node_id}", option_id: "-1"}}]
  - when: {assistant: 'order number', after: user}
    reply: after the question
  - when: {choice: none}
    reply: no tools
  - when: {choice: auto}
    reply: free
`

func TestScriptedLoop(t *testing.T) {
	user := func(texts ...string) (r Request) {
		for i, text := range texts {
			r.Messages = append(r.Messages, chat.NewMessage([]chat.Role{chat.User, chat.Assistant}[i%2], text))
		}
		return r
	}
	at := func(r Request, node, choice string) Request {
		r.Tools, r.ToolChoice = []Tool{
			{Name: "search"}, {Name: "odd", Parameters: json.RawMessage("[1]")}, processNode(node),
		}, choice
		return r
	}
	// each pair is a tool that is called and what it returns; all are called at once
	results := func(r Request, pairs ...string) Request {
		var calls []chat.ToolCall
		var messages []chat.Message
		for i := 0; i < len(pairs); i += 2 {
			id := fmt.Sprintf("call_%d_%d", len(r.Messages), i)
			calls = append(calls, chat.ToolCall{ID: id, Name: pairs[i], Args: json.RawMessage("{}")})
			messages = append(messages, chat.Message{
				Role: chat.Tool, ToolCallID: id, Content: chat.Content{Text: pairs[i+1]},
			})
		}
		r.Messages = append(append(r.Messages, chat.Message{Role: chat.Assistant, ToolCalls: calls}), messages...)
		return r
	}
	for _, tc := range []struct {
		name    string
		request Request
		text    string
		args    string
	}{
		{
			"first, by node", at(user("a REFUND"), "triage", "process_node"), "",
			`{"current_node_id":"triage","option_id":"opt_a"}`,
		},
		{
			"first, at another node", at(user("a refund"), "billing", "process_node"), "",
			`{"current_node_id":"billing","option_id":"-1"}`,
		},
		{
			"a constant is matched as a whole", at(user("a refund"), "a_triage", "process_node"), "",
			`{"current_node_id":"a_triage","option_id":"-1"}`,
		},
		{
			"groups of the result", results(user("please"), "process_node", `{"prompt":"Which order?"}`),
			"Gladly. Which order?", "",
		},
		{"groups of the user go first", results(user("say hi"), "process_node", `{}`), "hi", ""},
		{
			"an error", at(results(user("x"), "process_node", `{"error":"x"}`), "triage", "auto"), "",
			`{"current_node_id":"triage","option_id":"-1","n":"3"}`,
		},
		{"another tool", results(user("x"), "search", "y"), "searched", ""},
		{"any of the results", results(user("x"), "search", "y", "process_node", `{"error":1}`), "searched", ""},
		{"the tool's own result", results(user("please"), "clock", `{"prompt":"12"}`, "process_node",
			`{"prompt":"Hi."}`, "clock", `{"prompt":"13"}`), "Gladly. Hi.", ""},
		{
			"any tool with this result", results(user("x"), "f", "id=1", "g", "id=22", "h", "none"), "found 22, id=22",
			"",
		},
		{"any tool", results(user("x"), "f", "y"), "some tool", ""},
		{"the round before doesn't count", results(results(user("x"), "search", "y"), "f", "y"), "some tool", ""},
		{
			"a result that nobody asked for", Request{Messages: []chat.Message{{Role: chat.Tool, ToolCallID: "z"}}},
			"some tool", "",
		},
		{"after the turn's end", user("x", "What is the order number?", "AC-1"), "after the question", ""},
		{"calls say nothing", Request{
			Messages: append(results(user("x", "Your order number?", "1"), "search", "y").Messages,
				chat.NewMessage(chat.User, "z")),
		}, "after the question", ""},
		{"tools off", Request{Messages: user("x").Messages, ToolChoice: "none"}, "no tools", ""},
		{"no choice is a free one", user("x"), "free", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if strings.HasPrefix(tc.name, "any of") { // search comes later in the script, process_node goes first
				tc.request.Tools, tc.text, tc.args = []Tool{processNode("n")}, "",
					`{"current_node_id":"n","option_id":"-1","n":"3"}`
			}
			got, err := script(t, loop).Generate(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "text", tc.text, got.Text)
			args := ""
			for _, call := range got.ToolCalls {
				args += string(call.Args)
			}
			diff(t, "arguments", tc.args, args)
		})
	}
}

func TestScriptedWithoutConstant(t *testing.T) {
	s := script(t, "default: {json: {a: '${tool.current_node_id} ${tool.x}', b: '$${tool.x}'}}")
	_, err := s.Generate(t.Context(), say("x"))
	diff(t, "error", "scripted:demo at demo.yaml: the rule at demo.yaml:1 cannot answer: "+
		"no offered tool has a `const` for its parameter \"current_node_id\" "+
		"(narrow `when` to requests that offer it, or write the value instead of ${tool.current_node_id})", err.Error())
	r := say("x")
	r.Tools = []Tool{{
		Name:       "f",
		Parameters: json.RawMessage(`{"properties":{"current_node_id":{"const":"a\"b"},"x":{"const":null},"y":true}}`),
	}}
	got, err := s.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "text", `{"a":"a\"b null","b":"${tool.x}"}`, got.Text)
}

func TestScriptLoopProblems(t *testing.T) {
	_, err := LoadScript("demo.yaml", []byte(`rules:
  - {when: {after: user, result: x}, reply: x}
  - {when: {result: '(a)', after: [x]}, reply: "${b}"}
  - {when: {args: {a: '('}}, reply: x}
  - {when: {args: a}, reply: x}
`))
	want := `demo.yaml:2:6: rules[0].when: result looks at the result of a tool, but after says that the user's message is the last (write after: tool, or the name of the tool)
demo.yaml:3:28: rules[1].when.after: expected text, got a list (write text, in quotes if it has special characters)
demo.yaml:3:48: rules[1].reply: the pattern when.result has no group "b" (known: 0, 1; write $${b} for the text itself)
demo.yaml:4:23: rules[2].when.args.a: bad pattern: missing closing ): ` + "`(`" +
		` (write a Go regular expression (RE2); quote special characters with \)
demo.yaml:5:19: rules[3].when.args: expected a mapping, got text (write ` + "`name: value`" + ` pairs)`
	diff(t, "problems", strings.Split(want, "\n"), strings.Split(err.Error(), "\n"))
}

// What is remembered of schemas is bounded, and forgetting changes nothing.
func TestConstantsAreBounded(t *testing.T) {
	var c constants
	for i := range maxSchemas + 10 {
		name := fmt.Sprintf("n%d", i)
		diff(t, name, name, c.of(processNode(name).Parameters)["current_node_id"])
	}
	long := json.RawMessage(`{"properties":{"a":{"const":"x","description":"` +
		strings.Repeat("y", maxSchemaBytes) + `"}}}`)
	diff(t, "a long one", "x", c.of(long)["a"])
	if len(c.known) > maxSchemas || c.known[string(long)] != nil {
		t.Errorf("%d schemas are known", len(c.known))
	}
}

func TestCountWords(t *testing.T) {
	for _, text := range []string{
		"", " ", "a", " a  b\tc\n", "a\u00a0b", "é è", "x\u2003y z", "a\vb\fc\rd", "\x85 \xff",
	} {
		diff(t, text, len(strings.Fields(text)), countWords(text))
	}
	for c := range 128 { // every character, wherever it stands among eight and behind them
		for at := range 20 {
			text := []byte("ab cdefg hijk lm nop")
			text[at] = byte(c)
			diff(t, string(text), len(strings.Fields(string(text))), countWords(string(text)))
		}
	}
}

func FuzzCountWords(f *testing.F) {
	f.Add("eight by\u00a0eight characters\v\x85")
	f.Fuzz(func(t *testing.T, text string) { diff(t, text, len(strings.Fields(text)), countWords(text)) })
}
