package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// imported returns exchanges as another system has written them: without turns.
func imported(n int) (history []flow.Message) {
	for i := range n {
		history = append(history,
			flow.Message{Role: chat.User, Content: fmt.Sprint("question ", i+1)},
			flow.Message{Role: chat.Assistant, Content: fmt.Sprint("answer ", i+1)})
	}
	return history
}

// A history that is given at the start has turns of its own, is summarised, and the first new turn comes after it.
func TestHistoryCounts(t *testing.T) {
	for given, want := range map[int]struct {
		turn  int
		chunk string
	}{0: {1, ""}, 3: {4, ""}, 5: {6, "L0-1-4"}, 20: {21, "L0-1-19"}} {
		model := &summing{}
		f := loadFlow(t, small)
		s, err := flow.New(flow.Config{Model: model}).Begin(f, flow.Seed{Node: "ask", History: imported(given)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Send(t.Context(), "hello", flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		chunks := ""
		for _, c := range summaryOf(r.Memory).Chunks {
			chunks += c.ID
		}
		last := r.History[len(r.History)-1]
		if r.Memory.TurnIndex != want.turn || last.Turn != want.turn || chunks != want.chunk {
			t.Errorf("after %d exchanges: turn_index %d, turn %d, chunks %q", given, r.Memory.TurnIndex,
				last.Turn, chunks)
		}
		if given > 0 && r.History[0].Turn != 0 {
			t.Error("a message that was given has changed")
		}
		if r, err = s.Send(t.Context(), "and on", flow.Options{}); err != nil || r.Memory.TurnIndex != want.turn+1 {
			t.Errorf("then turn_index %d, %v", r.Memory.TurnIndex, err)
		}
	}
}

// The same state taken up again from its JSON has the same turns.
func TestHistoryCountsOverHTTP(t *testing.T) {
	history, _ := json.Marshal(imported(3))
	c := inContext(t, "ask", "history", string(history))
	for turn := 4; turn < 7; turn++ {
		r, err := execute(t, &actor{replies: []any{move("ask", "-1"), "Ok."}}, c)
		if err != nil || r.Memory.TurnIndex != turn || r.History[len(r.History)-1].Turn != turn {
			t.Fatalf("turn %d: %+v, %v", turn, r, err)
		}
		history, _ := json.Marshal(r.History)
		memory, _ := json.Marshal(r.Memory)
		c = inContext(t, "ask", "history", string(history), "memory", string(memory))
	}
}

// Without bounds get_full_history returns every message, whatever their turns and the memory say.
func TestFullHistoryIsComplete(t *testing.T) {
	explicit := imported(20)
	for i := range explicit {
		explicit[i].Turn = -7
	}
	for name, tc := range map[string]struct {
		history []flow.Message
		index   int
	}{
		"without turns": {imported(20), 0}, "turns below one": {explicit, 0},
		"a greater turn_index": {imported(20), 90}, "a smaller one": {imported(20), 3},
	} {
		c := inContext(t, "ask")
		c.History, c.Memory.TurnIndex = tc.history, tc.index
		r, err := execute(t, &actor{replies: []any{
			move("ask", "-1"), call("get_full_history", `{}`), call("get_full_history", `{"from_turn":20}`), "Ok.",
		}}, c)
		if err != nil {
			t.Fatal(err)
		}
		var all, last []struct {
			Turn    int
			Content string
		}
		if err := errors.Join(json.Unmarshal(r.ToolCalls[1].Result, &all),
			json.Unmarshal(r.ToolCalls[2].Result, &last)); err != nil {
			t.Fatal(err)
		}
		if len(all) != 40 || all[0].Turn != 1 || all[39].Turn != 20 || all[39].Content != "answer 20" ||
			len(last) != 2 {
			t.Errorf("%s: %d messages, %d of the last turn", name, len(all), len(last))
		}
	}
}

// Two keys of one normal form with different values are told of; facts of any script are kept.
func TestFactKeyCollision(t *testing.T) {
	for facts, want := range map[string]struct {
		keys    string
		collide bool
	}{
		`{"op":"add","key":"город 2","value":"Омск"},{"op":"add","key":"улица 2","value":"Мира"}`: {
			"город_2 улица_2", false,
		},
		`{"op":"add","key":"Home-Town","value":"Bonn"},{"op":"add","key":"home town","value":"Ulm"}`: {
			"home_town", true,
		},
		`{"op":"add","key":"Home-Town","value":"Bonn"},{"op":"add","key":"home town","value":" BONN"}`: {
			"home_town", false,
		},
		`{"op":"add","key":"town","value":"Bonn"},{"op":"update","key":"town","value":"Ulm"}`: {
			"town", false,
		},
		`{"op":"add","key":"!","value":"a"},{"op":"add","key":"?","value":"b"}`: {
			"fact_8a8de823 fact_bb7208bc", false,
		},
		`{"op":"add","key":"Home-Town","value":"Bonn"},{"op":"delete","key":"home town","value":""}`: {
			"", false,
		},
		`{"op":"add","key":"a!b","value":"1"},{"op":"add","key":"x","value":"1"},{"op":"add","key":"ab","value":"2"}`: {
			"ab x", true,
		},
	} {
		c := inContext(t, "ask", "memory_pipeline", `{"enabled":true,"stages":["facts"]}`)
		r, err := execute(t, &actor{replies: []any{move("ask", "-1"), "Ok.", `{"facts":[` + facts + `]}`}}, c)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, f := range r.Memory.Facts {
			keys = append(keys, f.Key)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != want.keys ||
			slices.Contains(r.Warnings, flow.FactKeyCollision) != want.collide {
			t.Errorf("%s: keys %q, warnings %v", facts, got, r.Warnings)
		}
	}
}

// broken is a library of knowledge that cannot be reached.
type broken struct{}

func (broken) Search(context.Context, flow.Query) ([]flow.Passage, error) {
	return nil, errors.New("the knowledge base is down")
}

// The model reads that a knowledge base failed, and no empty list.
func TestBrokenKnowledge(t *testing.T) {
	c := inContext(t, "ask", "knowledge_bases", `["docs"]`)
	model := &actor{replies: []any{move("ask", "-1"), call("search_knowledge_bases", `{"query":"tea"}`), "Ok."}}
	r, err := flow.New(flow.Config{Model: model, Knowledge: broken{}}).Execute(t.Context(), c, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	messages := model.requests[2].Messages
	read := messages[len(messages)-1].Content.Text
	if read != `{"error":"the knowledge base is down"}` || string(r.ToolCalls[1].Result) != read ||
		r.ToolCalls[1].Error == nil {
		t.Errorf("the model reads %s, the trace has %s", read, r.ToolCalls[1].Result)
	}
}

// A wrong call is a call: that the model has not called process_node would not be true.
func TestWrongCallIsACall(t *testing.T) {
	r, err := execute(t, &actor{replies: []any{move("ask", "nonsense"), "Ok.", "Ok."}}, inContext(t, "ask"))
	if err != nil || !slices.Equal(r.Warnings, []flow.Warning{flow.InvalidTransition}) ||
		r.Transition.Kind != flow.Stayed {
		t.Errorf("%v, %v", r, err)
	}
	r, err = execute(t, &actor{replies: []any{call("process_node", `"not {json"`), move("ask", "-1"), "Ok."}},
		inContext(t, "ask"))
	if err != nil || string(r.ToolCalls[0].Args) != `{"_raw":"not {json"}` {
		t.Errorf("%s, %v", r.ToolCalls[0].Args, err)
	}
}

// What a reader could take in two ways is refused, in a sentence.
func TestContextFaults(t *testing.T) {
	body := `{"flow":{"ref":"x"},"current_node_id":"a","latest_user_message":%s,"history":[],"memory":{"turn_index":0}}`
	for message, want := range map[string]string{
		`"a","latest_user_message":"b"`: `the key "latest_user_message" is written twice`,
		`""`:                            "the text is empty",
	} {
		_, err := flow.ReadContext(fmt.Appendf(nil, body, message))
		failed, ok := errors.AsType[*flow.Error](err)
		if !ok || failed.Fault != flow.Invalid || failed.Message != want {
			t.Errorf("%s: %v", message, err)
		}
	}
	if _, err := flow.ReadContext(fmt.Appendf(nil, strings.Replace(body, `"turn_index":0`,
		`"turn_index":0,"facts":[{"key":"город_2","value":"x"}]`, 1), `"a"`)); err != nil {
		t.Error(err)
	}
}

// summing answers in the loop, and writes summaries.
type summing struct{}

func (summing) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	switch {
	case r.Schema != nil:
		return chat.Reply{Text: `{"facts":[]}`}, nil
	case r.ToolChoice == "process_node":
		return chat.Reply{ToolCalls: []chat.ToolCall{move("ask", "-1")}}, nil
	}
	return chat.Reply{Text: "Words."}, nil
}

func summaryOf(m flow.Memory) flow.Summary {
	if m.Summary == nil {
		return flow.Summary{}
	}
	return *m.Summary
}

// loadFlow loads one flow.
func loadFlow(t *testing.T, text string) *flow.Flow {
	t.Helper()
	flows, err := flow.Load("flow.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return flows[0]
}
