package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// web answers every request with the same, or with an error, and keeps what it was asked.
type web struct {
	mu     sync.Mutex
	answer string
	asked  []string
}

func (w *web) Call(_ context.Context, r flow.Request) (json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf("%s %s %v %s %s", r.Method, r.URL, r.Headers, r.Timeout, r.Body))
	if w.answer == "" {
		return nil, errors.New("api.example.com answered 500")
	}
	return json.RawMessage(w.answer), nil
}

const parcels = `
name: parcels
apis:
  find:
    url: https://api.example.com/orders/{order}?for={name}
    headers: {Authorization: "Bearer ${SHOP_KEY}"}
    timeout: 2s
    save: {Status: order.state, City: order.stops.1.city, missing: order.nothing, whole: order.stops}
tools:
  weather: {description: Tells the weather., parameters: {type: object, properties: {city: {type: string}}, required: [city]}, url: "https://api.example.com/weather/{city}", method: GET}
initial_state: ask
states:
  ask: {type: data_collection, field: order, message: Which order?}
  found: {type: question, message: "It is {status} in {city}.", actions: [{type: call_api, target: find}]}
  told: {type: ai_response, message: Tell of the weather., tools: [weather]}
  bye: {type: end, message: Bye.}
transitions:
  - {from: ask, to: told, condition: {type: contains, value: weather}, priority: 1}
  - {from: ask, to: found, condition: {type: always}, actions: [{type: call_api, target: "https://hooks.example.com/seen"}]}
  - {from: found, to: told, condition: {type: always}}
  - {from: told, to: bye, label: Enough}
`

// said takes one turn of the parcels.
func parcelTurn(t *testing.T, w flow.Caller, seed flow.Seed, message string, replies ...any) *flow.Result {
	t.Helper()
	f := loadFlow(t, parcels)
	s, err := flow.New(flow.Config{Model: &actor{replies: append(replies, "Well.")}, Remote: w}).Begin(f, seed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Send(t.Context(), message, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	return r
}

func factsOf(r *flow.Result) string {
	var facts []string
	for _, f := range r.Memory.Facts {
		if !f.Deleted {
			facts = append(facts, f.Key+"="+f.Value)
		}
	}
	slices.Sort(facts)
	return strings.Join(facts, " ")
}

const found = `{"order": {"state": "late", "stops": [{"city": "Bonn"}, {"city": "Köln"}]}}`

func TestCallAPI(t *testing.T) {
	seed := flow.Seed{Memory: flow.Memory{
		Facts: []flow.Fact{{Key: "Name", Value: "Ada & Co/7"}, {Key: "old", Value: "x", Deleted: true}},
	}, ConversationID: "c1", TestCaseID: "t1"}
	w := &web{answer: found}
	r := parcelTurn(t, w, seed, "AC 1")
	want := []string{
		`POST https://hooks.example.com/seen map[] 5s {"api":"https://hooks.example.com/seen","fields":{"name":"Ada & Co/7","order":"AC 1"},"flow":"parcels","conversation_id":"c1","test_case_id":"t1"}`,
		`POST https://api.example.com/orders/AC%201?for=Ada%20%26%20Co%2F7 map[Authorization:Bearer ${SHOP_KEY}] 2s ` +
			`{"api":"find","fields":{"name":"Ada & Co/7","order":"AC 1"},"flow":"parcels","conversation_id":"c1","test_case_id":"t1"}`,
	}
	if d := cmp.Diff(want, w.asked); d != "" {
		t.Error(d)
	}
	if r.AssistantMessage != "It is late in Köln." || len(r.Warnings) != 0 {
		t.Errorf("%q, warnings %v", r.AssistantMessage, r.Warnings)
	}
	if got := factsOf(r); got !=
		`city=Köln name=Ada & Co/7 order=AC 1 status=late whole=[{"city":"Bonn"},{"city":"Köln"}]` {
		t.Errorf("facts %s", got)
	}
	call := r.ToolCalls[2]
	if call.Name != "find" || string(call.Args) != `{"name":"Ada & Co/7","order":"AC 1"}` ||
		string(call.Result) == "null" || call.Error != nil {
		t.Errorf("%+v", call)
	}
}

// What fails is told in the trace and with a warning; the conversation goes on, and no answer is made up.
func TestCallAPIFails(t *testing.T) {
	for name, tc := range map[string]struct {
		w       flow.Caller
		facts   []flow.Fact
		message string
		want    string
	}{
		"a failing server":   {&web{}, []flow.Fact{{Key: "name", Value: "x"}}, "AC", "api.example.com answered 500"},
		"nobody to call":     {nil, []flow.Fact{{Key: "name", Value: "x"}}, "AC", "nothing can be called from here"},
		"a field that lacks": {&web{answer: `1`}, nil, "AC", "the field {name} of the address is not known"},
		"a field that climbs": {
			&web{answer: `1`}, []flow.Fact{{Key: "name", Value: "x"}}, "..",
			`the field {order} cannot be ".." in an address`,
		},
		"a path with no value": {&web{answer: `[1]`}, []flow.Fact{{Key: "name", Value: "x"}}, "AC", ""},
	} {
		r := parcelTurn(t, tc.w, flow.Seed{Memory: flow.Memory{Facts: tc.facts}}, tc.message)
		call := r.ToolCalls[2]
		got := ""
		if call.Error != nil {
			got = *call.Error
		}
		if got != tc.want || *r.NextNodeID != "found" ||
			slices.Contains(r.Warnings, flow.ToolFailed) != (tc.want != "") || strings.Contains(factsOf(r), "status") {
			t.Errorf("%s: %q, warnings %v, facts %s", name, got, r.Warnings, factsOf(r))
		}
		if tc.want != "" && string(call.Result) != "null" {
			t.Errorf("%s: the result is %s", name, call.Result)
		}
	}
	// A machine without apis runs, is warned of, and says that there is none.
	f := loadFlow(t, strings.Replace(parcels, "apis:", "metadata:", 1))
	if got := f.Warnings.Error(); !strings.Contains(got,
		`state "found" calls the api "find", which the flow does not have`) {
		t.Error(got)
	}
	s, _ := flow.New(flow.Config{Model: &actor{replies: []any{"-"}}, Remote: &web{answer: `1`}}).Begin(f, flow.Seed{})
	if r, err := s.Send(t.Context(), "AC", flow.Options{}); err != nil || r.ToolCalls[2].Error == nil ||
		*r.ToolCalls[2].Error != `there is no api "find" in the flow` {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRemoteTools(t *testing.T) {
	w := &web{answer: `{"sky":"blue"}`}
	model := []any{[]chat.ToolCall{move("told", "-1"), call("weather", `{"city":"Bad Ems","days":2}`)}, "Blue."}
	r := parcelTurn(t, w, flow.Seed{Node: "told"}, "and?", model...)
	if d := cmp.Diff([]string{
		`GET https://api.example.com/weather/Bad%20Ems map[] 5s {"city":"Bad Ems","days":2}`,
	}, w.asked); d != "" {
		t.Error(d)
	}
	if got := r.ToolCalls[1]; got.Name != "weather" || string(got.Result) != `{"sky":"blue"}` ||
		string(got.Args) != `{"city":"Bad Ems","days":2}` || got.Error != nil {
		t.Errorf("%+v", got)
	}
	for name, tc := range map[string]struct {
		node, args, want string
	}{
		"a failing tool":      {"told", `{"city":"x"}`, "api.example.com answered 500"},
		"arguments of a list": {"told", `["x"]`, "the arguments are not a JSON object"},
		"no city":             {"told", `{}`, "the field {city} of the address is not known"},
		"not offered here": {
			"ask", `{"city":"x"}`, `there is no tool "weather"; there are: process_node, get_full_history`,
		},
	} {
		f := loadFlow(t, strings.Replace(strings.Replace(parcels, "condition: {type: always}, actions",
			"label: Go, actions", 1), "condition: {type: contains, value: weather}, ", "label: W, ", 1))
		model := &actor{replies: []any{[]chat.ToolCall{move(tc.node, "-1"), call("weather", tc.args)}, "Blue."}}
		s, err := flow.New(flow.Config{Model: model, Remote: &web{}}).Begin(f, flow.Seed{Node: tc.node})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Send(t.Context(), "hm", flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := r.ToolCalls[1]
		if got.Error == nil || *got.Error != tc.want || !strings.Contains(string(got.Result), `"error":`) {
			t.Errorf("%s: %s, %v", name, got.Result, r.Warnings)
		}
	}
	// The model is told of the tool where it is listed, and nowhere else.
	for node, want := range map[string]string{"told": "process_node get_full_history weather", "ask": ""} {
		model := &actor{replies: []any{move(node, "-1"), "Well."}}
		s, _ := flow.New(flow.Config{Model: model}).Begin(loadFlow(t, parcels), flow.Seed{Node: node})
		if _, err := s.Send(t.Context(), "x", flow.Options{}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range model.requests[:min(1, len(model.requests))] {
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s offers %q", node, got)
		}
	}
}

// A stubbed name is never sent; lists go on over the turns of a conversation, and a turn's own stub goes before them
// without using them up.
func TestStubs(t *testing.T) {
	var stubs flow.Stubs
	if err := json.Unmarshal(
		[]byte(`{"weather":[{"result":1},{"error":"too hot"},{"result":null}],"search_knowledge_bases":{"result":[]}}`),
		&stubs); err != nil {
		t.Fatal(err)
	}
	w := &web{answer: `"sent"`}
	s, err := flow.New(flow.Config{Model: &weatherModel{}, Remote: w}).Begin(loadFlow(t, parcels), flow.Seed{
		Node: "told", Stubs: stubs, KnowledgeBases: []string{"docs"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`1 {"error":"too hot"} []`, `"own" "own" []`, `null null []`, `null null []`} {
		o := flow.Options{}
		if i == 1 {
			o.Stubs = flow.Stubs{"weather": {{Result: json.RawMessage(`"own"`)}}}
		}
		r, err := s.Send(t.Context(), "x", o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, call := range r.ToolCalls[1:] {
			got = append(got, string(call.Result))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("turn %d: %s, want %s", i+1, got, want)
		}
	}
	if len(w.asked) > 0 {
		t.Errorf("a stubbed name was sent: %s", w.asked)
	}
	// An API's stub is saved from as its answer is.
	if err := json.Unmarshal([]byte(`{"find":{"result":`+found+`},"https://hooks.example.com/seen":{"error":"down"}}`),
		&stubs); err != nil {
		t.Fatal(err)
	}
	r := parcelTurn(t, w, flow.Seed{Stubs: stubs}, "AC")
	if r.AssistantMessage != "It is late in Köln." || len(w.asked) > 0 || r.ToolCalls[1].Error == nil ||
		*r.ToolCalls[1].Error != "down" {
		t.Errorf("%q, asked %v, %+v", r.AssistantMessage, w.asked, r.ToolCalls)
	}
}

// weatherModel calls the weather twice in each turn, and searches.
type weatherModel struct{}

func (*weatherModel) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	if r.ToolChoice == "process_node" {
		return chat.Reply{ToolCalls: []chat.ToolCall{
			move("told", "-1"), call("weather", `{"city":"a"}`), call("weather", `{"city":"a"}`),
			call("search_knowledge_bases", `{"query":"a"}`),
		}}, nil
	}
	return chat.Reply{Text: "Well."}, nil
}

// A flow that comes with a request calls nothing but stubs, and only tests send these.
func TestInlineFlowCallsNothing(t *testing.T) {
	tooled := `{"id":"f","tools":{"pay":{"url":"https://api.example.com/pay"}},"nodes":[{"id":"s","type":"start","next":["ask"]},
		{"id":"ask","type":"conversation","tools":["pay"],"options":[{"id":"o","label":"O","next":null}]}]}`
	w := &web{answer: `"sent"`}
	for stubs, want := range map[string]string{
		"": `{"error":"a flow in a request calls nothing but stubs"}`,
		`,"stubs":{"pay":{"result":{"ok":true}}}`: `{"ok":true}`,
	} {
		body := `{"flow":` + tooled + `,"current_node_id":"ask","latest_user_message":"x","history":[],"memory":{"turn_index":0},"memory_pipeline":{"enabled":false}` + stubs + `}`
		c, err := flow.ReadContext([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		engine := flow.New(flow.Config{
			Model: &actor{replies: []any{move("ask", "-1"), call("pay", `{}`), "Well."}}, Remote: w,
		})
		r, err := engine.Execute(t.Context(), c, flow.Options{Trusted: true})
		if err != nil || string(r.ToolCalls[1].Result) != want || len(w.asked) > 0 {
			t.Errorf("%+v, %v, asked %s", r, err, w.asked)
		}
		if stubs != "" {
			_, err := engine.Execute(t.Context(), c, flow.Options{})
			if failed, ok := errors.AsType[*flow.Error](err); !ok || failed.Pointer != "/stubs" ||
				failed.Fault != flow.Invalid {
				t.Errorf("stubs without trust: %v", err)
			}
		}
	}
	for _, stubs := range []string{
		`{"a":{}}`, `{"a":{"result":1,"error":"x"}}`, `{"a":[]}`, `{"a":7}`, `{"a":{"error":""}}`,
	} {
		_, err := flow.ReadContext([]byte(`{"flow":{"ref":"x"},"current_node_id":"a","latest_user_message":"x","history":[],"memory":{"turn_index":0},"stubs":` + stubs + `}`))
		if err == nil || !strings.Contains(err.Error(), "/stubs/a") {
			t.Errorf("%s: %v", stubs, err)
		}
	}
}

func TestRemoteFaults(t *testing.T) {
	for name, tc := range map[string]struct{ old, broken, want string }{
		"unknown tool": {
			"tools: [weather]", "tools: [wether]",
			`lists the tool "wether", which the flow does not have (did you mean "weather"?)`,
		},
		"unknown api": {
			"target: find}", "target: fnd}", `calls the api "fnd", which the flow does not have (did you mean "find"?)`,
		},
		"a host of a field": {
			"https://api.example.com/weather/{city}", "https://{city}/weather",
			"the host of an address cannot be a field",
		},
		"a field in a port": {"https://api.example.com/weather/{city}", "https://api.example.com:{city}/", "address"},
		"no address":        {"https://api.example.com/weather/{city}", "weather", "is not the address of something"},
		"another scheme": {
			"https://api.example.com/weather/{city}", "file:///etc/passwd", "is not the address of something",
		},
		"a password": {
			"https://api.example.com/weather/{city}", "https://a:b@api.example.com/", "holds no password",
		},
		"address of action": {
			"https://hooks.example.com/seen", "https://{order}/seen", "the host of an address cannot be a field",
		},
		"method":            {"method: GET", "method: TRACE", "TRACE"},
		"timeout":           {"timeout: 2s", "timeout: 2h", "at most 1m0s"},
		"a header":          {"Authorization: ", "\"A b\": ", "this is not a header"},
		"the host header":   {"Authorization: ", "Host: ", "the header Host is set by the program"},
		"a schema":          {"{type: object, properties", "{type: objct, properties", "no schema of an object"},
		"a schema's type":   {"{type: object, properties", "{type: string, properties", "no schema of an object"},
		"a schema's file":   {"required: [city]}", "$ref: \"file:///etc/passwd\"}", "no schema of an object"},
		"an engine's name":  {"  weather: {", "  process_node: {", "the engine itself"},
		"a name":            {"  weather: {", "  we ather: {", "is not a valid name"},
		"save without path": {"Status: order.state", `Status: ""`, "has no path"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(parcels, tc.old) {
				t.Fatalf("the flow does not hold %q", tc.old)
			}
			_, err := flow.Load("flow.yaml", []byte(strings.Replace(parcels, tc.old, tc.broken, 1)))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "flow.yaml:") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// hanging never answers.
type hanging struct{}

func (hanging) Call(ctx context.Context, _ flow.Request) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, errors.New("cut off")
}

// The turn's limit cuts off what an action calls, too: the turn fails, and its state is what it was.
func TestTurnTimeoutCutsActions(t *testing.T) {
	f := loadFlow(t, parcels)
	s, err := flow.New(flow.Config{Model: &actor{replies: []any{"-"}}, Remote: hanging{}}).Begin(f, flow.Seed{
		Memory: flow.Memory{Facts: []flow.Fact{{Key: "name", Value: "x"}}}, Limits: flow.Limits{TurnTimeoutMS: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Send(t.Context(), "AC", flow.Options{})
	if failed, ok := errors.AsType[*flow.Error](err); !ok || failed.Fault != flow.TooLong ||
		!errors.Is(err, context.DeadlineExceeded) || s.Context().CurrentNodeID != "ask" ||
		len(s.Context().History) > 0 {
		t.Errorf("%v at %s", err, s.Context().CurrentNodeID)
	}
}
