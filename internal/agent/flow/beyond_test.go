package flow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// desk is a flow with everything that is offered beyond single nodes.
const desk = `
id: desk
version: 1
start: begin
system_prompt: You are the desk.
globals:
  - {id: human, label: A person, when: asks for a person, next: human}
  - {id: again, label: From the start, when: wants to start again, next: "@start"}
  - {id: quit, label: Leave, when: wants to leave, if: {type: not, condition: {type: exists, field: debt}}, next: null}
nodes:
  - {id: begin, type: start, prompt: Greet., next: [menu]}
  - id: menu
    type: conversation
    prompt: Ask what it is about.
    no_match: {max: 2, next: human, prompt: Offer the two things there are.}
    options:
      - {id: bill, label: A bill, next: bill}
      - {id: vip, label: The lounge, if: {type: equals, field: Status, value: GOLD}, next: lounge}
  - id: bill
    type: conversation
    prompt: Ask for the number.
    globals: false
    no_match: {max: 1, next: null}
    options: [{id: paid, label: Paid, next: menu}]
  - {id: lounge, type: conversation, prompt: Welcome., options: [{id: back, label: Back, next: menu}]}
  - {id: human, type: conversation, prompt: Say that a person will come., options: [{id: thanks, label: Thanks, next: bye}]}
  - {id: bye, type: stop, prompt: Say goodbye.}
`

// stayed is what the history has of turns that stayed at a node.
func stayed(node string, times int) (history []flow.Message) {
	for range times {
		history = append(history, flow.Message{Role: chat.User, Content: "hm"},
			flow.Message{Role: chat.Assistant, Content: "what?", NodeID: node, Debug: &flow.Debug{Stayed: true}})
	}
	return history
}

// at takes a turn of a flow at a node.
func at(t *testing.T, f *flow.Flow, node string, memory flow.Memory, history []flow.Message,
	model llm.Model) *flow.Result {
	t.Helper()
	library, err := flow.NewLibrary(f)
	if err != nil {
		t.Fatal(err)
	}
	c := &flow.Context{
		Flow: flow.Source{Ref: f.ID}, CurrentNodeID: node, LatestUserMessage: "hello", History: history, Memory: memory,
		MemoryPipeline: &flow.MemoryPipeline{},
	}
	before, _ := json.Marshal(c)
	r, err := flow.New(flow.Config{Model: model, Flows: library}).Execute(t.Context(), c, flow.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	if after, _ := json.Marshal(c); string(after) != string(before) {
		t.Error("the engine has changed its input")
	}
	return r
}

func TestNoMatch(t *testing.T) {
	f := loadFlow(t, desk)
	mixed := append(stayed("menu", 1), flow.Message{Role: chat.User, Content: "x"}, flow.Message{
		Role: chat.Assistant, Content: "y", NodeID: "menu",
	})
	for _, tc := range []struct {
		name    string
		node    string
		history []flow.Message
		replies []any
		next    string
		kind    flow.TransitionKind
		option  string
		warned  string
		told    string
	}{
		{
			"the first stay", "menu", nil, []any{move("menu", "-1"), "Well."}, "menu", flow.Stayed, "", "[]",
			"Offer the two things",
		},
		{
			"the second", "menu", stayed("menu", 1), []any{move("menu", "-1"), "Well."}, "menu", flow.Stayed, "", "[]",
			"Offer the two things",
		},
		{
			"the third", "menu", stayed("menu", 2), []any{move("menu", "-1"), "Well."}, "human", flow.Advanced, "-1",
			"[no_match]", "Say that a person",
		},
		{
			"many", "menu", stayed("menu", 9), []any{move("menu", "-1"), "Well."}, "human", flow.Advanced, "-1",
			"[no_match]", "Say that a person",
		},
		{
			"elsewhere", "menu", stayed("lounge", 5), []any{move("menu", "-1"), "Well."}, "menu", flow.Stayed, "", "[]",
			"Offer",
		},
		{
			"broken by another transition", "menu", append(mixed, stayed("menu", 1)...),
			[]any{move("menu", "-1"), "Well."}, "menu", flow.Stayed, "", "[]", "Offer",
		},
		{
			"a match", "menu", stayed("menu", 5), []any{move("menu", "bill"), "Well."}, "bill", flow.Advanced, "bill",
			"[]", "Ask for the number",
		},
		{
			"invalid calls", "menu", stayed("menu", 2),
			[]any{move("menu", "x"), move("menu", "x"), "Well."},
			"human", flow.Advanced, "-1", "[no_match invalid_transition]", "Say that a person",
		},
		{
			"not called", "menu", stayed("menu", 2),
			[]any{"What?", "What?", "Well."},
			"human", flow.Advanced, "-1", "[no_match process_node_not_called]", "Say that a person",
		},
		{
			"not called, before", "menu", stayed("menu", 1), []any{"Well."}, "menu", flow.Stayed, "",
			"[process_node_not_called]", "",
		},
		{
			"the end", "bill", stayed("bill", 1), []any{move("bill", "-1"), "Well."}, "", flow.Completed, "-1",
			"[no_match]", "Say goodbye",
		},
		{
			"no no_match", "lounge", stayed("lounge", 50), []any{move("lounge", "-1"), "Well."}, "lounge", flow.Stayed,
			"", "[]", "ask again",
		},
		{
			"nothing said", "menu", stayed("menu", 1), []any{move("menu", "-1"), "", ""}, "menu", flow.Stayed, "",
			"[empty_text]", "Offer",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &actor{replies: tc.replies}
			r := at(t, f, tc.node, flow.Memory{}, tc.history, model)
			next, option := "", ""
			if r.NextNodeID != nil {
				next = *r.NextNodeID
			}
			if r.Transition.OptionID != nil {
				option = *r.Transition.OptionID
			}
			if next != tc.next || r.Transition.Kind != tc.kind || option != tc.option ||
				fmt.Sprint(r.Warnings) != tc.warned || r.FlowCompleted != (tc.next == "") {
				t.Errorf("%s to %q by %q, warnings %v", r.Transition.Kind, next, option, r.Warnings)
			}
			last := model.requests[len(model.requests)-1].Messages
			if read := last[len(last)-1].Content.Text; tc.told != "" && !strings.Contains(read, tc.told) {
				t.Errorf("the model reads %s", read)
			}
			answer := r.History[len(r.History)-1]
			if answer.Debug.Stayed != (tc.kind == flow.Stayed) {
				t.Errorf("the answer says stayed: %v", answer.Debug.Stayed)
			}
			if want := map[bool]string{
				false: "Well.", true: "Offer the two things there are.",
			}[tc.name == "nothing said"]; r.AssistantMessage != want {
				t.Errorf("answer %q", r.AssistantMessage)
			}
		})
	}
}

// The row goes on over turns in one process and over the wire, with nothing else kept, and ends with the transition.
func TestNoMatchRow(t *testing.T) {
	f := loadFlow(t, desk)
	engine := flow.New(flow.Config{Model: llm.Lexical{}})
	s, err := engine.Begin(f, flow.Seed{Node: "menu", Pipeline: &flow.MemoryPipeline{}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 4 {
		r, err := s.Send(t.Context(), "xyzzy", flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, r.AssistantMessage)
	}
	want := []string{
		"Offer the two things there are.", "Offer the two things there are.", "Say that a person will come.",
		"Say that a person will come.",
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
}

func TestGlobalsAndConditions(t *testing.T) {
	f := loadFlow(t, desk)
	gold := flow.Memory{Facts: []flow.Fact{{Key: "status", Value: " gold"}}}
	was := flow.Memory{Facts: []flow.Fact{{Key: "status", Value: "gold", Deleted: true}, {Key: "debt", Value: "3"}}}
	for _, tc := range []struct {
		name   string
		node   string
		memory flow.Memory
		choose string
		next   string
		enum   string
	}{
		{"own options first", "menu", flow.Memory{}, "bill", "bill", "bill human again quit -1"},
		{"a global option", "menu", flow.Memory{}, "human", "human", "bill human again quit -1"},
		{"to the start", "lounge", flow.Memory{}, "again", "menu", "back human again quit -1"},
		{"to the end", "lounge", flow.Memory{}, "quit", "", "back human again quit -1"},
		{"refused by the node", "bill", flow.Memory{}, "human", "bill", "paid -1"},
		{"a condition holds", "menu", gold, "vip", "lounge", "bill vip human again quit -1"},
		{"a condition does not hold", "menu", flow.Memory{}, "vip", "menu", "bill human again quit -1"},
		{"deleted facts do not count", "menu", was, "quit", "menu", "bill human again -1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &actor{replies: []any{move(tc.node, tc.choose), move(tc.node, tc.choose), "Well."}}
			r := at(t, f, tc.node, tc.memory, nil, model)
			next := ""
			if r.NextNodeID != nil {
				next = *r.NextNodeID
			}
			if next != tc.next || r.FlowCompleted != (tc.next == "") {
				t.Errorf("leads to %q", next)
			}
			var schema struct {
				Properties struct {
					Option struct {
						Enum        []string
						Description string
					} `json:"option_id"`
				}
			}
			tool := model.requests[0].Tools[0]
			if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(schema.Properties.Option.Enum, " "); got != tc.enum {
				t.Errorf("offered %s", got)
			}
			offered := strings.Fields(tc.enum)
			system := model.requests[0].Messages[0].Content.Text
			for _, id := range []string{"bill", "vip", "human", "again", "quit", "paid", "back"} {
				if strings.Contains(system, `"id":"`+id+`","label"`) != slices.Contains(offered, id) {
					t.Errorf("the descriptor and %s: %s", id, system)
				}
			}
			if invalid := slices.Contains(r.Warnings, flow.InvalidTransition); invalid !=
				!slices.Contains(offered, tc.choose) {
				t.Errorf("warnings %v", r.Warnings)
			}
			if allowed := string(r.ToolCalls[0].Result); strings.Contains(allowed, `"allowed"`) &&
				strings.Contains(allowed, tc.choose+`"]`) {
				t.Errorf("allowed: %s", allowed)
			}
		})
	}
}

// What the next turn offers is seen in the descriptor of the result: by the facts that were learned meanwhile.
func TestDescriptorAfterFacts(t *testing.T) {
	f := loadFlow(t, desk)
	library, _ := flow.NewLibrary(f)
	model := &actor{replies: []any{
		move("bill", "paid"), "Well.", `{"facts":[{"op":"add","key":"status","value":"gold"}]}`,
	}}
	c := &flow.Context{
		Flow: flow.Source{Ref: "desk"}, CurrentNodeID: "bill", LatestUserMessage: "x",
		MemoryPipeline: &flow.MemoryPipeline{Enabled: true, Stages: []flow.Stage{flow.FactsStage}},
	}
	r, err := flow.New(flow.Config{Model: model, Flows: library}).Execute(t.Context(), c, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ids := descriptorIDs(r.NextNodeDescriptor); ids != "bill vip human again quit" {
		t.Errorf("offered next: %s", ids)
	}
	definition, err := f.Definition()
	if err != nil {
		t.Fatal(err)
	}
	inline, err := flow.LoadInline(definition)
	if err != nil {
		t.Fatal(err)
	}
	if r := at(t, inline, "menu", flow.Memory{Facts: []flow.Fact{{Key: "status", Value: "gold"}}}, stayed("menu", 2),
		&actor{replies: []any{move("menu", "-1"), "Well."}}); *r.NextNodeID != "human" ||
		descriptorIDs(r.NextNodeDescriptor) != "thanks human again quit" {
		t.Errorf("the definition leads to %+v", r.NextNodeDescriptor)
	}
	if changed := f.WithSystemPrompt("Other."); len(changed.Globals) != 3 {
		t.Error("a copy has lost its globals")
	} else if n, _ := changed.Node("menu"); len(n.Globals) != 3 || n.Globals[0] != changed.Globals[0] ||
		n.NoMatch.Next != changed.Globals[0].Next {
		t.Error("a copy leads to the original")
	}
}

func descriptorIDs(d *flow.Descriptor) string {
	var ids []string
	for _, o := range d.Options {
		ids = append(ids, o.ID)
	}
	return strings.Join(ids, " ")
}

const (
	outer = `
id: outer
version: 1
start: begin
system_prompt: You are Ada.
globals: [{id: out, label: Out of everything, next: ask}]
nodes:
  - {id: begin, type: start, next: [who]}
  - {id: who, type: call, flow: ident, next: ask}
  - {id: ask, type: conversation, prompt: Ask., options: [{id: more, label: More, next: pay}, {id: done, label: Done, next: null}]}
  - {id: pay, type: call, flow: pays, next: ask}
`
	ident = `
id: ident
start: begin
system_prompt: Ask politely.
nodes:
  - {id: begin, type: start, next: [name]}
  - id: name
    type: conversation
    prompt: Ask for the name.
    no_match: {max: 1, next: "@return"}
    options: [{id: given, label: Given, next: end}, {id: none, label: None, next: null}, {id: sure, label: Unsure, next: check}]
  - {id: check, type: conversation, prompt: Check it., options: [{id: ok, label: Fine, next: "@return"}]}
  - {id: end, type: stop, prompt: Never said.}
`
	pays = `
id: pays
start: begin
system_prompt: Be exact.
globals: [{id: cancel, label: Cancel, next: "@start"}]
nodes:
  - {id: begin, type: start, next: [again]}
  - {id: again, type: call, flow: ident, next: card}
  - {id: card, type: conversation, prompt: Ask for the card., options: [{id: paid, label: Paid, next: null}]}
`
)

func TestSubFlows(t *testing.T) {
	flows, err := flow.Load("flows.yaml", []byte(strings.Join([]string{outer, ident, pays}, "---\n")))
	if err != nil {
		t.Fatal(err)
	}
	f := flows[0]
	var ids []string
	for _, n := range f.Nodes {
		ids = append(ids, n.ID)
	}
	if got := strings.Join(ids, " "); got != "begin who/name who/check ask pay/again/name pay/again/check pay/card" {
		t.Errorf("nodes %s", got)
	}
	for _, tc := range []struct {
		node, choose, next string
		kind               flow.TransitionKind
		system             string
		history            []flow.Message
	}{
		{"who/name", "given", "ask", flow.Advanced, "You are Ada.\n\nAsk politely.\n\n", nil},
		{"who/name", "none", "ask", flow.Advanced, "", nil},
		{"who/name", "sure", "who/check", flow.Advanced, "", nil},
		{"who/name", "out", "ask", flow.Advanced, "", nil},
		{"who/name", "-1", "who/name", flow.Stayed, "", nil},
		{"who/name", "-1", "ask", flow.Advanced, "", stayed("who/name", 1)},
		{"who/name", "-1", "who/name", flow.Stayed, "", stayed("pay/again/name", 1)},
		{"who/check", "ok", "ask", flow.Advanced, "", nil},
		{"ask", "more", "pay/again/name", flow.Advanced, "You are Ada.\n\nYou hold", nil},
		{"ask", "done", "", flow.Completed, "", nil},
		{"pay/again/name", "given", "pay/card", flow.Advanced, "You are Ada.\n\nBe exact.\n\nAsk politely.\n\n", nil},
		{"pay/again/name", "cancel", "pay/again/name", flow.Advanced, "", nil},
		{"pay/again/name", "out", "ask", flow.Advanced, "", nil},
		{"pay/card", "paid", "ask", flow.Advanced, "You are Ada.\n\nBe exact.\n\nYou hold", nil},
	} {
		model := &actor{replies: []any{move(tc.node, tc.choose), "Well."}}
		r := at(t, f, tc.node, flow.Memory{}, tc.history, model)
		next := ""
		if r.NextNodeID != nil {
			next = *r.NextNodeID
		}
		if next != tc.next || r.Transition.Kind != tc.kind || r.FlowCompleted != (tc.next == "") {
			t.Errorf("%s, %s: %s to %q, warnings %v", tc.node, tc.choose, r.Transition.Kind, next, r.Warnings)
		}
		if r.NextNodeDescriptor != nil && r.NextNodeDescriptor.ID != tc.next ||
			next != "" && r.History[len(r.History)-1].NodeID != next {
			t.Errorf("%s, %s: descriptor %+v", tc.node, tc.choose, r.NextNodeDescriptor)
		}
		if !strings.HasPrefix(model.requests[0].Messages[0].Content.Text, tc.system) {
			t.Errorf("%s: %s", tc.node, model.requests[0].Messages[0].Content.Text)
		}
	}
	// The first turn of the conversation enters the call.
	if r := at(t, f, "begin", flow.Memory{}, nil, &actor{replies: []any{
		begin("who"), begin("who/name"), "Well.",
	}}); *r.NextNodeID != "who/name" {
		t.Errorf("begins at %s", *r.NextNodeID)
	}
	// A flow that is called runs on its own, too, and the copy with another prompt leads nowhere else.
	if r := at(t, flows[1], "name", flow.Memory{}, nil, &actor{replies: []any{
		move("name", "given"), "Well.",
	}}); *r.NextNodeID != "end" || !r.FlowCompleted {
		t.Errorf("alone it leads to %s", *r.NextNodeID)
	}
	if _, err := f.Definition(); err == nil {
		t.Error("a flow that calls others has a definition")
	}
}

// Calls are found in the same file, the same folder, and the whole library, and never beyond.
func TestCallsInFolders(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a/outer.yaml": outer, "a/ident.yaml": ident, "a/pays.yaml": pays, "a/broken.yaml": "id: [",
		"b/outer.yaml": outer, "c/alone.yaml": ident,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flows, err := flow.LoadFile(source.Files{}, filepath.Join(folder, "a/outer.yaml"))
	if err != nil || len(flows[0].Nodes) != 7 {
		t.Errorf("%v", err)
	}
	if library, err := flow.OpenLibrary(source.Files{}, filepath.Join(folder, "a/outer.yaml")); err != nil ||
		len(library.Flows()) != 1 {
		t.Errorf("%v", err)
	}
	_, err = flow.LoadFile(source.Files{}, filepath.Join(folder, "b/outer.yaml"))
	if err == nil || !strings.Contains(err.Error(), `calls the flow "ident", which there is not`) ||
		!strings.Contains(err.Error(), "outer.yaml:9:") {
		t.Errorf("%v", err)
	}
}

func TestBeyondFaults(t *testing.T) {
	chain := "id: c0\nnodes:\n  - {id: s, type: start, next: [c]}\n  - {id: c, type: call, flow: c1, next: null}\n"
	for i := 1; i < 7; i++ {
		chain += fmt.Sprintf("---\nid: c%d\nnodes:\n  - {id: s, type: start, next: [c]}\n  - {id: c, type: call, "+
			"flow: c%d, next: null}\n", i, i+1)
	}
	chain += "---\nid: c7\nnodes: [{id: s, type: start, next: [x]}, {id: x, type: stop}]\n"
	for name, tc := range map[string]struct{ text, want string }{
		"global id taken": {
			strings.Replace(desk, "{id: bill, label: A bill", "{id: human, label: A bill", 1),
			`node "menu", option "human" has the id of a global option`,
		},
		"global id twice": {
			strings.Replace(desk, "{id: again, label", "{id: human, label", 1),
			`the flow has two global options "human"`,
		},
		"global to nowhere": {
			strings.Replace(desk, "asks for a person, next: human", "asks for a person, next: humans", 1),
			`global option "human" leads to "humans", which does not exist`,
		},
		"global to the start": {
			strings.Replace(desk, "asks for a person, next: human", "asks for a person, next: begin", 1),
			`global option "human" leads back to the start node`,
		},
		"global -1": {
			strings.Replace(desk, "{id: again, label", `{id: "-1", label`, 1), `the option id "-1" is reserved`,
		},
		"@start in an option": {
			strings.Replace(desk, "label: A bill, next: bill", `label: A bill, next: "@start"`, 1),
			"only global options lead to @start",
		},
		"no_match to nowhere": {
			strings.Replace(desk, "max: 2, next: human", "max: 2, next: nobody", 1),
			`node "menu", no_match leads to "nobody", which does not exist`,
		},
		"no_match without next": {
			strings.Replace(desk, "max: 2, next: human, ", "max: 2, ", 1), `no_match needs "next"`,
		},
		"no_match without max": {
			strings.Replace(desk, "max: 2, next: human, ", "next: human, ", 1), `no_match needs "max"`,
		},
		"no_match never": {strings.Replace(desk, "max: 2, next", "max: 0, next", 1), "1"},
		"no_match in a stop": {
			strings.Replace(desk, "{id: bye, type: stop,", "{id: bye, type: stop, no_match: {max: 1, next: null},", 1),
			`stop node "bye" has no_match`,
		},
		"globals is no list": {strings.Replace(desk, "globals: false", "globals: 7", 1), "globals"},
		"if without a field": {strings.Replace(desk, "field: Status, ", "", 1), "equals needs a field here"},
		"if always": {
			strings.Replace(desk, "{type: equals, field: Status, value: GOLD}", "{type: always}", 1),
			"needs no condition",
		},
		"if of a bad pattern": {strings.Replace(desk, "{type: equals, field: Status, value: GOLD}",
			"{type: matches, field: x, pattern: '('}", 1), "bad pattern"},
		"unreachable after all": {desk + "  - {id: island, type: stop}\n", `node "island" cannot be reached`},
		"a call without a flow": {
			strings.Replace(outer, "flow: ident, ", "", 1) + "---" + ident + "---" + pays,
			`call node "who" does not name a flow`,
		},
		"a call without a next": {
			strings.Replace(outer, "flow: ident, next: ask", "flow: ident", 1) + "---" + ident + "---" + pays,
			`call node "who" does not say what comes after it`,
		},
		"a call with options": {strings.Replace(outer, "flow: ident, next", "flow: ident, options: [], next", 1) +
			"---" + ident + "---" + pays, `call node "who" has options`},
		"a flow in another node": {
			strings.Replace(outer, "prompt: Ask., ", "flow: ident, ", 1) + "---" + ident + "---" + pays,
			`node "ask" is no call, and names a flow`,
		},
		"an unknown flow": {outer + "---" + pays, `call node "who" calls the flow "ident", which there is not`},
		"a machine": {outer + "---" + pays + "---\nname: ident\ninitial_state: a\nstates: {a: {type: " +
			"question}, b: {type: end}}\ntransitions: [{from: a, to: b}]\n", "which is a state machine"},
		"itself": {
			strings.Replace(outer, "flow: ident", "flow: outer", 1) + "---" + pays + "---" + ident,
			"the flows call each other in a circle: outer → outer",
		},
		"a circle": {
			outer + "---" + pays + "---" + strings.Replace(ident, "{id: end, type: stop, prompt: Never said.}",
				"{id: end, type: call, flow: outer, next: null}", 1),
			"outer → ident → outer",
		},
		"too deep": {chain, `call node "c": calls are more than 5 deep`},
		"ids around a call": {
			outer + "---" + pays + "---" + strings.Replace(ident, "id: none,", "id: out,", 1),
			`node "who/name" offers two options "out"`,
		},
		"a circle of calls": {
			"id: a\nglobals: [{id: g, label: G, next: null}]\nnodes:\n  - {id: s, type: start, next: [m]}\n  - {id: " +
				"m, type: conversation, options: [{id: o, label: O, next: c}, {id: p, label: P, next: null}]}\n" +
				"  - {id: c, type: call, flow: b, next: d}\n  - {id: d, type: call, flow: b, next: c}\n---\nid: b\n" +
				"nodes: [{id: s, type: start, next: [x]}, {id: x, type: stop}]\n",
			"calls lead in a circle without a node",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := flow.Load("flow.yaml", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "flow.yaml:") {
				t.Errorf("the place is missing: %v", err)
			}
		})
	}
	if _, err := flow.LoadInline([]byte(`{"id":"a","nodes":[{"id":"s","type":"start","next":["c"]},{"id":"c","type":"call","flow":"b","next":null}]}`)); err == nil ||
		!strings.Contains(err.Error(), "calls no other") {
		t.Errorf("a flow in a request calls another: %v", err)
	}
}

// However many calls there are, a flow has at most so many nodes, and loading it ends soon.
func TestCallsAreBounded(t *testing.T) {
	for name, node := range map[string]string{
		"nodes": "  - {id: n%d, type: conversation, options: [{id: o, label: O, next: n%d}]}\n",
		"calls": "  - {id: n%d, type: call, flow: f%%d, next: n%d}\n",
	} {
		text := ""
		for level := range 5 {
			text += fmt.Sprintf("---\nid: f%d\nnodes:\n  - {id: s, type: start, next: [n0]}\n", level)
			for i := range 30 {
				one := fmt.Sprintf("  - {id: n%d, type: call, flow: f%d, next: n%d}\n", i, level+1, i+1)
				if level == 4 && name == "nodes" {
					one = fmt.Sprintf(node, i, i+1)
				}
				text += one
			}
			text += "  - {id: n30, type: stop}\n"
		}
		text += "---\nid: f5\nnodes: [{id: s, type: start, next: [x]}, {id: x, type: stop}]\n"
		_, err := flow.Load("flow.yaml", []byte(strings.TrimPrefix(text, "---\n")))
		if err == nil || !strings.Contains(err.Error(), "has more than 10000") {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
