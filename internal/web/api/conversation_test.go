package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const conversations = "/api/v1/conversations"

func messages(id string) string { return conversations + "/" + id + "/messages" }

func TestConversationOfAMachine(t *testing.T) {
	d := openDesk(t, modelFunc(func(context.Context, llm.Request) (chat.Reply, error) {
		t.Error("the model is asked")
		return chat.Reply{}, nil
	}))
	response, answer := d.do("POST", conversations, `{"flow_id":"Rsvp","conversation_id":"c/1"}`, "X-Test-Case-Id: t1")
	opened := decoded[openingView](t, answer)
	if response.StatusCode != 201 || response.Header.Get("Location") != conversations+"/c%2F1" ||
		opened.ConversationID != "c/1" {
		t.Errorf("%d %v %s", response.StatusCode, response.Header, answer)
	}
	if opened.State != "ask_name" || opened.Message != "What is your name?" || opened.QuickReplies[0] != "Ada" ||
		*opened.Progress != 0.5 || opened.FlowCompleted {
		t.Errorf("opened %s", answer)
	}
	type step struct {
		say, response, state string
		moved, done          bool
	}
	for i, s := range []step{
		{"x", "Too short.", "ask_name", false, false},
		{"Ada", "Is Ada coming?", "confirm", true, false},
		{"what?", "Is {name} coming?", "confirm", false, false},
		{"oh yes", "See you.", "done", true, true},
	} {
		r := want[replyView](d, 200, "POST", messages("c%2F1"), `{"message":"`+s.say+`"}`)
		got := step{s.say, r.Response, r.State, r.StateTransition, r.FlowCompleted}
		if i == 2 {
			got.response = s.response // whatever is said again
		}
		if got != s || r.TurnNumber != i+1 || r.TraceID == "" || r.Metrics.LatencyMS < 0 || len(r.ToolCalls) == 0 {
			t.Errorf("turn %d: %+v, want %+v", i+1, r, s)
		}
		if s.moved && (r.NextState == nil || *r.NextState != s.state || r.PreviousState == s.state) {
			t.Errorf("turn %d: %+v", i+1, r)
		}
		if i > 0 && r.DataCollected["name"] != "Ada" {
			t.Errorf("turn %d: data %v", i+1, r.DataCollected)
		}
	}
	if p := want[Problem](d, 409, "POST", messages("c%2F1"), `{"message":"more"}`); p.Code != "flow_already_completed" {
		t.Errorf("problem %+v", p)
	}
	shown := want[transcriptView](d, 200, "GET", conversations+"/c%2F1", "")
	if len(shown.History) != 8 || !shown.FlowCompleted || shown.State != "done" || shown.FlowVersion != "2.1.0" ||
		shown.History[1].Debug.TestCaseID != "t1" {
		t.Errorf("shown %+v", shown)
	}
	again := want[openingView](d, 200, "POST", conversations+"/c%2F1/reset", "")
	if d := cmp.Diff(opened, again, cmp.AllowUnexported(openingView{})); d != "" {
		t.Errorf("reset (-opened +again):\n%s", d)
	}
	if r := want[replyView](d, 200, "POST", messages("c%2F1"), `{"message":"Bob"}`); r.TurnNumber != 1 ||
		r.DataCollected["name"] != "Bob" {
		t.Errorf("after the reset: %+v", r)
	}
	if response, _ := d.do("DELETE", conversations+"/c%2F1", ""); response.StatusCode != 204 {
		t.Errorf("deleted: %d", response.StatusCode)
	}
	want[Problem](d, 404, "GET", conversations+"/c%2F1", "")
}

func TestConversationOfANodeFlow(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	opened := want[openingView](d, 201, "POST", conversations, `{"flow_id":"desk@1","current_node_id":"ask",
		"memory":{"turn_index":2,"facts":[{"key":"name","value":"Ada"},{"key":"old","value":"x","deleted":true}]},
		"history":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello."}]}`)
	if opened.Message != "" || opened.State != "ask" || opened.TurnNumber != 2 || len(opened.ConversationID) < 20 {
		t.Errorf("opened %+v", opened)
	}
	if diff := cmp.Diff(map[string]string{"name": "Ada"}, opened.DataCollected); diff != "" {
		t.Error(diff)
	}
	_, answer := d.do("POST", messages(opened.ConversationID), `{"message":"my order number is 17"}`,
		"Accept: text/event-stream")
	events := readEvents(t, answer)
	r := decoded[replyView](t, string(events[len(events)-1].Result))
	if r.Response != "Say goodbye." || !r.FlowCompleted || r.TurnNumber != 3 || r.State != "bye" ||
		r.PreviousState != "ask" {
		t.Errorf("reply %+v", r)
	}
}

func TestConversationRefuses(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	want[openingView](d, 201, "POST", conversations, `{"flow_id":"desk","conversation_id":"taken"}`)
	for name, c := range map[string]struct {
		path, body    string
		status        int
		code, pointer string
	}{
		"broken":        {conversations, `{`, 400, "invalid_context", ""},
		"two":           {conversations, `{"flow_id":"desk"}{}`, 400, "invalid_context", ""},
		"no flow":       {conversations, `{}`, 400, "invalid_context", "/flow_id"},
		"null":          {conversations, `null`, 400, "invalid_context", "/flow_id"},
		"typed":         {conversations, `{"flow_id":7}`, 400, "invalid_context", "/flow_id"},
		"unknown field": {conversations, `{"flow_id":"desk","a/b":1}`, 400, "invalid_context", "/a~1b"},
		"another case":  {conversations, `{"Flow_ID":"desk"}`, 400, "invalid_context", "/Flow_ID"},
		"twice":         {conversations, `{"flow_id":"desk","flow_id":"taken"}`, 400, "invalid_context", "/flow_id"},
		"unknown flow":  {conversations, `{"flow_id":"dask"}`, 404, "not_found", "/flow_id"},
		"unknown node": {
			conversations, `{"flow_id":"desk","current_node_id":"x"}`, 404, "not_found", "/current_node_id",
		},
		"at the end": {
			conversations, `{"flow_id":"desk","current_node_id":"bye"}`, 409, "flow_already_completed",
			"/current_node_id",
		},
		"bad memory": {
			conversations, `{"flow_id":"desk","memory":{"turn_index":-1}}`, 400, "invalid_context",
			"/memory/turn_index",
		},
		"taken id": {
			conversations, `{"flow_id":"desk","conversation_id":"taken"}`, 409, "conversation_exists",
			"/conversation_id",
		},
		"odd id": {
			conversations, `{"flow_id":"desk","conversation_id":"a\nb"}`, 400, "invalid_context", "/conversation_id",
		},
		"long id": {
			conversations, `{"flow_id":"desk","conversation_id":"` + strings.Repeat("x", 300) + `"}`, 400,
			"invalid_context", "/conversation_id",
		},
		"many bytes": {
			conversations, `{"flow_id":"desk","conversation_id":"` + strings.Repeat("日", 200) + `"}`, 400,
			"invalid_context", "/conversation_id",
		},
		"id of a folder": {
			conversations, `{"flow_id":"desk","conversation_id":".."}`, 400, "invalid_context", "/conversation_id",
		},
		"another encoding": {messages("taken"), "{\"message\":\"caf\xe9\"}", 400, "invalid_context", ""},
		"unknown":          {messages("nobody"), `{"message":"x"}`, 404, "not_found", ""},
		"no message":       {messages("taken"), `{}`, 400, "invalid_context", "/message"},
		"typed message":    {messages("taken"), `{"message":["x"]}`, 400, "invalid_context", "/message"},
		"too long": {
			messages("taken"), `{"message":"` + strings.Repeat("x", 32_001) + `"}`, 400, "invalid_context", "/message",
		},
		"reset unknown":  {conversations + "/nobody/reset", ``, 404, "not_found", ""},
		"5 MB":           {messages("taken"), `{"message":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "too_large", ""},
		"another's path": {conversations + "/taken/other", `{}`, 404, "not_found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{t: t, url: d.url, client: d.client}
			if p := want[Problem](d, c.status, "POST", c.path, c.body); p.Code != c.code ||
				pointerText(p) != c.pointer {
				t.Errorf("problem %+v, pointer %q", p, pointerText(p))
			}
		})
	}
	if shown := want[transcriptView](d, 200, "GET", conversations+"/taken", ""); len(shown.History) != 0 ||
		shown.TurnNumber != 0 {
		t.Errorf("after all that: %+v", shown)
	}
}

func TestConversationTakesOneTurnAtATime(t *testing.T) {
	begun, more := make(chan bool), make(chan bool)
	d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		if r.ToolChoice == flow.ProcessNode {
			begun <- true
			<-more
		}
		return llm.Lexical{}.Generate(ctx, r)
	}))
	want[openingView](d, 201, "POST", conversations, `{"flow_id":"desk","conversation_id":"c"}`)
	first := make(chan string, 1)
	go func() {
		_, answer := d.do("POST", messages("c"), `{"message":"hello"}`)
		first <- answer
	}()
	<-begun
	for _, request := range [][]string{
		{"POST", messages("c"), `{"message":"again"}`},
		{"POST", conversations + "/c/reset", ""},
		{"DELETE", conversations + "/c", ""},
	} {
		response, answer := d.do(request[0], request[1], request[2])
		if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" {
			t.Errorf("%v: %d %s", request, response.StatusCode, answer)
		}
	}
	if shown := want[transcriptView](d, 200, "GET", conversations+"/c", ""); shown.TurnNumber != 0 ||
		shown.State != "start" {
		t.Errorf("during the turn: %+v", shown)
	}
	close(more)
	if r := decoded[replyView](t, <-first); r.State != "ask" {
		t.Errorf("reply %+v", r)
	}
	go func() { <-begun }()
	if r := want[replyView](d, 200, "POST", messages("c"), `{"message":"something else"}`); r.TurnNumber != 2 {
		t.Errorf("the next turn: %+v", r)
	}
}

// A turn that fails leaves the conversation as it was, and free.
func TestConversationAfterAFailure(t *testing.T) {
	for name, fail := range map[string]modelFunc{
		"error": func(context.Context, llm.Request) (chat.Reply, error) {
			return chat.Reply{}, &llm.Error{Fault: llm.Unavailable, Message: "down"}
		},
		"panic": func(context.Context, llm.Request) (chat.Reply, error) { panic("down") },
	} {
		d := openDesk(t, failing(2, fail))
		want[openingView](d, 201, "POST", conversations, `{"flow_id":"desk","conversation_id":"c"}`)
		if response, _ := d.do("POST", messages("c"), `{"message":"hello"}`); response.StatusCode < 500 {
			t.Errorf("%s: %d", name, response.StatusCode)
		}
		if shown := want[transcriptView](d, 200, "GET", conversations+"/c", ""); shown.TurnNumber != 0 ||
			len(shown.History) != 0 {
			t.Errorf("%s: %+v", name, shown)
		}
		if r := want[replyView](d, 200, "POST", messages("c"), `{"message":"hello"}`); r.TurnNumber != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestConversationsAreBounded(t *testing.T) {
	clock := struct {
		sync.Mutex
		now time.Time
	}{now: time.Now()}
	now := func() time.Time { clock.Lock(); defer clock.Unlock(); return clock.now }
	pass := func(d time.Duration) { clock.Lock(); defer clock.Unlock(); clock.now = clock.now.Add(d) }
	d := openDesk(t, llm.Lexical{}, func(c *FlowsConfig) {
		c.Now, c.MaxConversations, c.MaxBytes, c.Idle = now, 2, 40<<10, time.Hour
	})
	begin := func(id string) string { return `{"flow_id":"desk","conversation_id":"` + id + `"}` }
	want[openingView](d, 201, "POST", conversations, begin("a"))
	pass(40 * time.Minute)
	want[openingView](d, 201, "POST", conversations, begin("b"))
	if p := want[Problem](d, 507, "POST", conversations, begin("c")); p.Code != "storage_full" {
		t.Errorf("problem %+v", p)
	}
	pass(30 * time.Minute) // a is too old now
	want[Problem](d, 404, "GET", conversations+"/a", "")
	want[openingView](d, 201, "POST", conversations, begin("a"))
	long := `{"message":"` + strings.Repeat("x", 30_000) + `"}`
	want[replyView](d, 200, "POST", messages("a"), long)
	want[replyView](d, 200, "POST", messages("a"), long)
	if p := want[Problem](d, 507, "POST", messages("b"), long); p.Code != "storage_full" {
		t.Errorf("problem %+v", p)
	}
	want[openingView](d, 200, "POST", conversations+"/a/reset", "")
	want[replyView](d, 200, "POST", messages("b"), long)
	pass(2 * time.Hour)
	want[Problem](d, 404, "GET", conversations+"/b", "")
	want[openingView](d, 201, "POST", conversations, begin("c"))
	want[openingView](d, 201, "POST", conversations, begin("d"))
}

func TestConversationGrowsTooLong(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	history := `{"role":"user","content":"` + strings.Repeat("x", 4<<20-1500) + `"}`
	want[openingView](d, 201, "POST", conversations, `{"flow_id":"desk","conversation_id":"c","history":[`+history+`]}`)
	want[replyView](d, 200, "POST", messages("c"), `{"message":"hello"}`)
	if p := want[Problem](d, 507, "POST", messages("c"), `{"message":"hello"}`); !strings.Contains(p.Detail, "4 MB") {
		t.Errorf("problem %+v", p)
	}
}

func TestManyConversationsAtOnce(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c := want[openingView](d, 201, "POST", conversations, `{"flow_id":"Rsvp"}`)
			for _, say := range []string{"Ada", "hm", "yes"} {
				want[replyView](d, 200, "POST", messages(c.ConversationID), `{"message":"`+say+`"}`)
				want[transcriptView](d, 200, "GET", conversations+"/"+c.ConversationID, "")
			}
			if r := want[transcriptView](d, 200, "GET", conversations+"/"+c.ConversationID, ""); !r.FlowCompleted ||
				len(r.History) != 6 {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
}

func TestFlowList(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	list := want[struct{ Flows []flowSummary }](d, 200, "GET", "/api/v1/flows", "")
	for i := range list.Flows {
		list.Flows[i].Warnings = 0
	}
	if diff := cmp.Diff([]flowSummary{
		{"desk", "1", "node_flow", "", 3, 0},
		{"Rsvp", "2.1.0", "state_machine", "", 3, 0},
	}, list.Flows); diff != "" {
		t.Error(diff)
	}
	shown := want[flowView](d, 200, "GET", "/api/v1/flows/desk", "")
	if shown.Start != "start" || len(shown.Nodes) != 3 || *shown.Nodes[1].Options[0].Next != "bye" ||
		shown.Nodes[1].Options[0].Rule {
		t.Errorf("shown %+v", shown)
	}
	if shown = want[flowView](d, 200, "GET",
		"/api/v1/flows/rsvp", ""); shown.Nodes[0].StateType != flow.DataCollection || !shown.Nodes[0].Options[0].Rule {
		t.Errorf("shown %+v", shown)
	}
	want[Problem](d, 404, "GET", "/api/v1/flows/nothing", "")
	want[Problem](d, 404, "GET", "/api/v1/flows/nothing/drawing", "")
	for accept, begin := range map[string]string{"*/*": "<svg", "text/vnd.mermaid": "flowchart"} {
		response, picture := d.do("GET", "/api/v1/flows/desk/drawing", "", "Accept: "+accept)
		if response.StatusCode != 200 || !strings.Contains(picture, begin) ||
			!strings.Contains(picture, "desk") && accept == "*/*" {
			t.Errorf("%s: %d %s %.200s", accept, response.StatusCode, response.Header.Get("Content-Type"), picture)
		}
	}
}
