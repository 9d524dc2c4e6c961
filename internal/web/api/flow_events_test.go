package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// heard is an event as a client reads it.
type heard struct {
	Type    string          `json:"type"`
	Content string          `json:"content"`
	Tool    *flow.ToolTrace `json:"tool"`
	Result  json.RawMessage `json:"result"`
	Status  int             `json:"status"`
	Code    string          `json:"code"`
	Detail  string          `json:"detail"`
}

// readEvents reads a stream: each event is one data line.
func readEvents(t testing.TB, stream string) (events []heard) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(part, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not an event: %q", part)
		}
		events = append(events, decoded[heard](t, data))
	}
	return events
}

// holdEvents holds the events of a turn that went well against each other, and returns its result.
func holdEvents(t testing.TB, events []heard) flow.Result {
	t.Helper()
	var text strings.Builder
	var tools []flow.ToolTrace
	for _, e := range events[:len(events)-1] {
		switch e.Type {
		case "token":
			text.WriteString(e.Content)
		case "tool":
			tools = append(tools, *e.Tool)
		default:
			t.Errorf("an event of type %q", e.Type)
		}
	}
	last := events[len(events)-1]
	if last.Type != "complete" {
		t.Fatalf("the last event is %+v", last)
	}
	followsSchema(t, string(last.Result))
	r := decoded[flow.Result](t, string(last.Result))
	if text.String() != r.AssistantMessage || len(tools) != len(r.ToolCalls) || tools[0].ID != r.ToolCalls[0].ID {
		t.Errorf("the events do not add up to %+v: %+v", r, events)
	}
	return r
}

func TestEvents(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	for _, path := range []string{"/execute", "/internal/agent/test"} {
		response, answer := d.do("POST", path, executionContext("ask", "my order number is 17"),
			"Accept: application/json;q=0.1, text/event-stream")
		if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
		events := readEvents(t, answer)
		if len(events) < 4 {
			t.Errorf("the answer does not come in pieces: %s", answer)
		}
		if r := holdEvents(t, events); !r.FlowCompleted {
			t.Errorf("result %+v", r)
		}
	}
}

// A state machine whose rules decide says its text at once, in the same events.
func TestEventsOfAMachine(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	body := strings.Replace(executionContext("ask_name", "Ada"), "desk", "rsvp@2.1.0", 1)
	if _, answer := d.do("POST", "/execute", strings.Replace(body, "rsvp@2.1.0", "rsvp@2", 1),
		"Accept: text/event-stream"); !strings.Contains(answer, "complete") {
		t.Error(answer)
	}
	p := want[Problem](d, 400, "POST", "/execute", body) // a reference has a whole number
	if pointerText(p) != "/flow/ref" {
		t.Errorf("problem %+v", p)
	}
}
