package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// actor is a model made of its replies, one for each call; the last one is repeated.
type actor struct {
	mu       sync.Mutex
	replies  []any // string, chat.ToolCall, []chat.ToolCall or error
	requests []llm.Request
}

func (a *actor) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.replies[min(len(a.requests), len(a.replies)-1)]
	r.Messages = slices.Clone(r.Messages)
	a.requests = append(a.requests, r)
	usage := chat.Usage{InputTokens: 10, OutputTokens: 2}
	switch next := next.(type) {
	case string:
		return chat.Reply{Text: next, Usage: usage}, nil
	case chat.ToolCall:
		return chat.Reply{ToolCalls: []chat.ToolCall{next}, Usage: usage}, nil
	case []chat.ToolCall:
		return chat.Reply{ToolCalls: slices.Clone(next), Usage: usage}, nil
	case time.Duration:
		<-ctx.Done()
		return chat.Reply{}, ctx.Err()
	}
	return chat.Reply{}, next.(error)
}

func call(name, args string) chat.ToolCall {
	return chat.ToolCall{ID: "c-" + name, Name: name, Args: json.RawMessage(args)}
}

func move(node, option string) chat.ToolCall {
	return call("process_node", fmt.Sprintf(`{"current_node_id":%q,"option_id":%q}`, node, option))
}

func begin(next string) chat.ToolCall {
	return call("process_node", fmt.Sprintf(`{"current_node_id":"begin","next_node_id":%q}`, next))
}

// inContext returns a context at a node of the small flow, whose memory pipeline is off.
func inContext(t *testing.T, node string, changes ...string) *flow.Context {
	t.Helper()
	flows, err := flow.Load("small.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	definition, err := flows[0].Definition()
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{
		"flow": definition, "current_node_id": node, "latest_user_message": "hello", "history": []any{},
		"memory": map[string]any{"turn_index": 0}, "memory_pipeline": map[string]any{"enabled": false},
	}
	for i := 0; i < len(changes); i += 2 {
		body[changes[i]] = json.RawMessage(changes[i+1])
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // the body holds what a caller wrote, letter by letter
	if err := encoder.Encode(body); err != nil {
		t.Fatal(err)
	}
	c, err := flow.ReadContext(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// execute takes a turn and holds its result to the published schema and its input to what it was.
func execute(t *testing.T, model llm.Model, c *flow.Context) (*flow.Result, error) {
	t.Helper()
	before, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r, failed := flow.New(flow.Config{
		Model: model, Knowledge: shelf{},
	}).Execute(t.Context(), c, flow.Options{Trusted: true})
	after, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Errorf("the engine has changed its input\nbefore %s\nafter  %s", before, after)
	}
	if failed == nil {
		checkResult(t, r)
	}
	return r, failed
}

func checkResult(t *testing.T, r *flow.Result) {
	t.Helper()
	published, err := os.ReadFile("schema/execution_result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("result", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("result")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Errorf("the result does not follow its schema: %v\n%s", err, data)
	}
}

// shelf is a knowledge base with one passage.
type shelf struct{}

func (shelf) Search(_ context.Context, q flow.Query) ([]flow.Passage, error) {
	if q.Text == "break" {
		return nil, errors.New("the shelf fell over")
	}
	return []flow.Passage{{Base: q.Bases[0], ID: "p1", Score: 1, Text: "Tea is hot."}}[:min(1, q.TopK)], nil
}

func TestTurns(t *testing.T) {
	for _, tc := range []struct {
		name     string
		node     string
		replies  []any
		text     string
		next     string // empty: null
		kind     flow.TransitionKind
		calls    int
		warnings []flow.Warning
	}{
		{"start", "begin", []any{begin("ask"), "Hi."}, "Hi.", "ask", flow.Advanced, 2, nil},
		{"option to a stop", "ask", []any{move("ask", "tea"), "Bye."}, "Bye.", "bye", flow.Completed, 2, nil},
		{"option to the end", "ask", []any{move("ask", "none"), "Bye."}, "Bye.", "", flow.Completed, 2, nil},
		{"stay", "ask", []any{move("ask", "-1"), "Again?"}, "Again?", "ask", flow.Stayed, 2, nil},
		{"stay as a number", "ask", []any{
			call("process_node", `{"current_node_id":"ask","option_id":-1}`), "Again?",
		}, "Again?", "ask", flow.Stayed, 2, nil},
		{
			"one invalid call", "ask", []any{move("ask", "milk"), move("ask", "tea"), "Bye."}, "Bye.", "bye",
			flow.Completed, 3, nil,
		},
		{
			"wrong node", "ask", []any{move("begin", "tea"), move("ask", "tea"), "Bye."}, "Bye.", "bye", flow.Completed,
			3, nil,
		},
		{
			"two invalid calls", "ask",
			[]any{move("ask", "milk"), call("process_node", `not json`), "Again?"},
			"Again?", "ask", flow.Stayed, 3,
			[]flow.Warning{flow.InvalidTransition},
		},
		{
			"valid after two invalid", "ask",
			[]any{move("ask", "milk"), move("ask", "milk"), move("ask", "tea"), "Again?"},
			"Again?", "ask", flow.Stayed, 4,
			[]flow.Warning{flow.InvalidTransition},
		},
		{"forced once more", "ask", []any{"Tea?", move("ask", "tea"), "Bye."}, "Bye.", "bye", flow.Completed, 3, nil},
		{"never processed", "ask", []any{"Tea?"}, "Tea?", "ask", flow.Stayed, 2, []flow.Warning{flow.NotProcessed}},
		{
			"two transitions", "ask",
			[]any{[]chat.ToolCall{move("ask", "tea"), move("ask", "none")}, "Bye."},
			"Bye.", "bye", flow.Completed, 2,
			[]flow.Warning{flow.SecondTransition},
		},
		{
			"unknown tool", "ask",
			[]any{call("order_pizza", `{}`), move("ask", "tea"), "Bye."},
			"Bye.", "bye", flow.Completed, 3,
			[]flow.Warning{flow.UnknownTool},
		},
		{
			"endless loop", "ask",
			[]any{call("get_full_history", `{}`)},
			"Ask for tea or coffee.", "ask", flow.Stayed, 9,
			[]flow.Warning{flow.ToolLoopLimit, flow.NotProcessed, flow.EmptyText},
		},
		{"empty once", "ask", []any{move("ask", "tea"), " ", "Bye."}, "Bye.", "bye", flow.Completed, 3, nil},
		{
			"empty twice", "ask",
			[]any{move("ask", "tea"), "", ""},
			"Say goodbye.", "bye", flow.Completed, 3,
			[]flow.Warning{flow.EmptyText},
		},
		{
			"knowledge", "ask", []any{move("ask", "-1"), call("search_knowledge_bases", `{"query":"tea"}`), "Hot."},
			"Hot.", "ask", flow.Stayed, 3, nil,
		},
		{
			"broken knowledge", "ask",
			[]any{move("ask", "-1"), call("search_knowledge_bases", `{"query":"break"}`), "Hm."},
			"Hm.", "ask", flow.Stayed, 3,
			[]flow.Warning{flow.ToolFailed},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &actor{replies: tc.replies}
			r, err := execute(t, model, inContext(t, tc.node, "knowledge_bases", `["drinks"]`))
			if err != nil {
				t.Fatal(err)
			}
			next := ""
			if r.NextNodeID != nil {
				next = *r.NextNodeID
			}
			if r.AssistantMessage != tc.text || next != tc.next || r.Transition.Kind != tc.kind {
				t.Errorf("got %q at %q (%s), want %q at %q (%s)", r.AssistantMessage, next, r.Transition.Kind, tc.text,
					tc.next, tc.kind)
			}
			if r.FlowCompleted != (tc.kind == flow.Completed) || r.Usage.LLMCalls != tc.calls ||
				len(model.requests) != tc.calls {
				t.Errorf("completed %v after %d calls, want %d", r.FlowCompleted, r.Usage.LLMCalls, tc.calls)
			}
			if d := cmp.Diff(append([]flow.Warning{}, tc.warnings...), r.Warnings); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
			if len(r.History) != 2 || r.History[1].Content != tc.text || r.Memory.TurnIndex != 1 {
				t.Errorf("history %+v, turn %d", r.History, r.Memory.TurnIndex)
			}
		})
	}
}

// TestRequests looks at what the model is sent: the tools, the forced choice, the order of the prompt.
func TestRequests(t *testing.T) {
	model := &actor{replies: []any{move("ask", "-1"), "Again?"}}
	c := inContext(t, "ask", "knowledge_bases", `["drinks"]`,
		"history", `[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]`,
		"memory", `{"turn_index":1,"facts":[{"key":"b","value":"2"},{"key":"a","value":"1"},{"key":"gone","value":"x","deleted":true}],
			"summary":{"level":1,"last_summarized_turn":9,"chunks":[{"id":"L0-5-9","level":0,"from_turn":5,"to_turn":9,"text":"newer"},
			{"id":"L1-1-4","level":1,"from_turn":1,"to_turn":4,"text":"older"}]}}`)
	if _, err := execute(t, model, c); err != nil {
		t.Fatal(err)
	}
	first, second := model.requests[0], model.requests[1]
	if first.ToolChoice != "process_node" || second.ToolChoice != "auto" {
		t.Errorf("tool choices %q and %q", first.ToolChoice, second.ToolChoice)
	}
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Name)
	}
	if d := cmp.Diff([]string{"process_node", "get_full_history", "search_knowledge_bases"}, names); d != "" {
		t.Error(d)
	}
	want := `{"additionalProperties":false,"properties":{"current_node_id":{"const":"ask","type":"string"},` +
		`"option_id":{"description":"tea: Tea (wants tea)\nnone: Nothing\n-1: stay here, none of the others fits yet",` +
		`"enum":["tea","none","-1"],"type":"string"}},"required":["current_node_id","option_id"],"type":"object"}`
	if d := cmp.Diff(want, string(first.Tools[0].Parameters)); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	m := first.Messages
	if len(m) != 6 {
		t.Fatalf("%d messages: %s", len(m), chat.Format(m))
	}
	for i, part := range []string{`"id":"ask"`, "- a: 1\n- b: 2", "older", "one", "two", "hello"} {
		if !strings.Contains(m[i].Content.Text, part) {
			t.Errorf("message %d does not hold %q: %s", i, part, m[i].Content.Text)
		}
	}
	if facts := m[1].Content.Text; !strings.HasPrefix(facts, "These facts override anything said earlier.") ||
		strings.Contains(facts, "gone") {
		t.Errorf("facts: %s", facts)
	}
	if strings.Index(m[2].Content.Text, "older") > strings.Index(m[2].Content.Text, "newer") {
		t.Errorf("the summary is not in order: %s", m[2].Content.Text)
	}
	if strings.Contains(m[0].Content.Text, `"-1"`) {
		t.Error("the hidden option is in the descriptor")
	}
	result := second.Messages[len(second.Messages)-1]
	if result.Role != chat.Tool || result.ToolCallID != "c-process_node" ||
		!strings.Contains(result.Content.Text, "ask again in other words") {
		t.Errorf("the tool message is %+v", result)
	}
}

func TestTurnErrors(t *testing.T) {
	broken := &llm.Error{Fault: llm.Unavailable, Model: "m", Message: "500"}
	for _, tc := range []struct {
		name    string
		node    string
		replies []any
		changes []string
		want    flow.Fault
	}{
		{"model down", "ask", []any{broken}, nil, flow.Model},
		{"model down in mid-turn", "ask", []any{move("ask", "tea"), broken}, nil, flow.Model},
		{"model times out", "ask", []any{&llm.Error{Fault: llm.TimedOut}}, nil, flow.TimedOut},
		{"turn times out", "ask", []any{time.Hour}, []string{"limits", `{"turn_timeout_ms":20}`}, flow.TooLong},
		{"unknown node", "nowhere", []any{"x"}, nil, flow.NotFound},
		{"stop node", "bye", []any{"x"}, nil, flow.Over},
		{"unknown flow", "ask", []any{"x"}, []string{"flow", `{"ref":"other"}`}, flow.NotFound},
		{"broken flow", "ask", []any{"x"}, []string{
			"flow", `{"id":"x","nodes":[{"id":"a","type":"start","next":["b"]},{"id":"b","type":"conversation"}]}`,
		}, flow.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := execute(t, &actor{replies: tc.replies}, inContext(t, tc.node, tc.changes...))
			var failed *flow.Error
			if !errors.As(err, &failed) || failed.Fault != tc.want {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestReadContextFaults(t *testing.T) {
	for _, tc := range []struct{ body, pointer string }{
		{`{`, ""},
		{`[]`, ""},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"","history":[],"memory":{"turn_index":0}}`, "/latest_user_message"},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[{"role":"system","content":"x"}],"memory":{"turn_index":0}}`, "/history/0/role"},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[],"memory":{"turn_index":-1}}`, "/memory/turn_index"},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[],"memory":{"turn_index":0},"more":1}`, ""},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[],"memory":{"turn_index":0},"model":{"temperature":1e9999999}}`, "/model/temperature"},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[],"memory":{"turn_index":0},"model":{"top_p":1e-9999999}}`, "/model/top_p"},
		{`{"flow":{"ref":"a"},"current_node_id":"x","latest_user_message":"m","history":[{"turn":1E+99999999999999999999}],"memory":{}}`, "/history/0/turn"},
	} {
		_, err := flow.ReadContext([]byte(tc.body))
		var failed *flow.Error
		if !errors.As(err, &failed) || failed.Fault != flow.Invalid || failed.Pointer != tc.pointer {
			t.Errorf("ReadContext(%s) = %v, want a fault at %q", tc.body, err, tc.pointer)
		}
	}
}

// TestDryRun takes a whole turn and returns the state as it was, byte for byte.
func TestDryRun(t *testing.T) {
	history := `[{"role":"user","content":"1 < 2","turn":1,"strange":{"b":1,"a":[1.50]}}]`
	memory := `{"turn_index":3,"facts":[{"key":"a","value":"1","unknown":1e3}]}`
	model := &actor{replies: []any{move("ask", "tea"), "Bye."}}
	r, err := execute(t, model, inContext(t, "ask", "dry_run", "true", "history", history, "memory", memory,
		"memory_pipeline", `{"enabled":false}`))
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, r)
	if string(got["history"]) != history || string(got["memory"]) != memory ||
		string(got["current_node_id"]) != `"ask"` || string(got["next_node_id"]) != `"bye"` {
		t.Errorf("history %s\nmemory %s\ncurrent %s next %s", got["history"], got["memory"], got["current_node_id"],
			got["next_node_id"])
	}
}

// TestDryRunMemory runs the memory stages in a dry run only when they are asked for by name.
func TestDryRunMemory(t *testing.T) {
	facts := `{"facts":[{"op":"add","key":"drink","value":"tea"}]}`
	for _, tc := range []struct {
		pipeline string
		calls    int
		added    int
		status   flow.StageStatus
	}{
		{`{"enabled":true,"stages":["facts"]}`, 3, 1, flow.StageOK},
		{`{"enabled":false}`, 2, 0, flow.StageDisabled},
		{"", 2, 0, flow.StageSkipped},
	} {
		c := inContext(t, "ask", "dry_run", "true")
		c.MemoryPipeline = nil
		if tc.pipeline != "" {
			c = inContext(t, "ask", "dry_run", "true", "memory_pipeline", tc.pipeline)
		}
		r, err := execute(t, &actor{replies: []any{move("ask", "-1"), "Again?", facts}}, c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Usage.LLMCalls != tc.calls || len(r.MemoryDelta.FactsAdded) != tc.added ||
			r.MemoryDelta.Stages[flow.FactsStage] != tc.status {
			t.Errorf("%s: %d calls, delta %+v", tc.pipeline, r.Usage.LLMCalls, r.MemoryDelta)
		}
		if len(r.Memory.Facts) != 0 || r.Memory.TurnIndex != 0 || len(r.History) != 0 {
			t.Errorf("%s: the dry run has changed the state: %+v", tc.pipeline, r.Memory)
		}
	}
}

func written(t *testing.T, r *flow.Result) map[string]json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestMemoryNeverAborts answers the user although every memory stage fails.
func TestMemoryNeverAborts(t *testing.T) {
	c := inContext(t, "ask", "memory_pipeline", `{"enabled":true}`, "memory", `{"turn_index":9}`)
	r, err := execute(t, &actor{replies: []any{move("ask", "-1"), "Again?", errors.New("no model")}}, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.AssistantMessage != "Again?" || r.MemoryDelta.Stages[flow.FactsStage] != flow.StageError ||
		!slices.Contains(r.Warnings, flow.MemoryFailed) {
		t.Errorf("got %q, stages %v, warnings %v", r.AssistantMessage, r.MemoryDelta.Stages, r.Warnings)
	}
}

// TestTracing shows the prompt only to a trusted caller who asks for it.
func TestTracing(t *testing.T) {
	c := inContext(t, "ask", "model", `{"enable_tracing":true,"temperature":0,"seed":7}`)
	model := &actor{replies: []any{move("ask", "-1"), "Again?"}}
	r, err := execute(t, model, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.PromptSnapshot) == 0 || model.requests[0].Seed == nil || *model.requests[0].Seed != 7 {
		t.Error("a trusted context's model parameters are not honoured")
	}
	model = &actor{replies: []any{move("ask", "-1"), "Again?"}}
	r, err = flow.New(flow.Config{Model: model}).Execute(t.Context(), c, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.PromptSnapshot != nil || model.requests[0].Seed != nil || model.requests[0].Temperature != nil {
		t.Error("an untrusted context's model parameters are honoured")
	}
}

func TestEvents(t *testing.T) {
	var tokens, tools []string
	sink := func(e flow.Event) {
		if e.Tool != nil {
			tools = append(tools, e.Tool.Name)
			return
		}
		tokens = append(tokens, e.Token)
	}
	for _, replies := range [][]any{{move("ask", "-1"), "Again?"}, {"Again?"}, {move("ask", "-1"), "", ""}} {
		tokens = nil
		r, err := flow.New(flow.Config{Model: &actor{replies: replies}}).Execute(t.Context(), inContext(t, "ask"),
			flow.Options{Sink: sink})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(tokens, "") != r.AssistantMessage {
			t.Errorf("%v: the tokens are %q, the answer is %q", replies, tokens, r.AssistantMessage)
		}
	}
	if len(tools) != 2 {
		t.Errorf("tools %v", tools)
	}
}
