package a2a

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestReadCard(t *testing.T) {
	const at = "https://agent.example/base/.well-known/agent-card.json"
	for card, want := range map[string]Interface{
		`{"supportedInterfaces": [{"url": "g:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
			{"url": "https://b.example/j", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "t"},
			{"url": "https://b.example/r", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}], "capabilities": {"streaming": true}}`: {
			URL: "https://b.example/j", Binding: HTTPJSON, Version: V1, Tenant: "t", Streaming: true,
		},
		`{"supportedInterfaces": [{"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}]}`: {
			URL: "https://agent.example/rpc", Binding: JSONRPC, Version: V03,
		},
		`{"supportedInterfaces": [{"url": "https://b.example/9", "protocolBinding": "JSONRPC", "protocolVersion": "2.0"},
			{"url": "https://b.example/1", "protocolBinding": "JSONRPC", "protocolVersion": "1.1"}]}`: {
			URL: "https://b.example/1", Binding: JSONRPC, Version: V1,
		},
		`{"url": "https://b.example/a", "protocolVersion": "0.3.0", "capabilities": {}}`: {
			URL: "https://b.example/a", Binding: JSONRPC, Version: V03,
		},
		`{"url": "https://b.example/g", "preferredTransport": "GRPC", "protocolVersion": "0.3.0",
			"additionalInterfaces": [{"url": "https://b.example/h", "transport": "HTTP+JSON"}]}`: {
			URL: "https://b.example/h", Binding: HTTPJSON, Version: V03,
		},
	} {
		got, err := ReadCard([]byte(card), at)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", card, err, d)
		}
	}
	for card, says := range map[string]string{
		`{}`: "neither supportedInterfaces nor url",
		`[]`: "not an agent card",
		`{"supportedInterfaces": [{"url": "g:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}`: "offers " +
			"only GRPC 1.0",
		`{"url": "http://agent.example/a", "protocolVersion": "0.3.0"}`: "must not " +
			"lead to an http address",
		`{"url": "file:///etc/passwd", "protocolVersion": "0.3.0"}`: "not an " +
			"http or https address",
	} {
		if _, err := ReadCard([]byte(card), at); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v lacks %q", card, err, says)
		}
	}
}

func TestRequests(t *testing.T) {
	rpc := func(method, params string) string {
		return `{"jsonrpc": "2.0", "id": "m-1", "method": "` + method + `", "params": ` + params + `}`
	}
	const v1 = `{"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}], "contextId": "c", "taskId": "t/1"}}`
	const v03 = `{"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "hi"}], "contextId": "c", "taskId": "t/1"}}`
	const buffers = `{"message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}], "contextId": "c", "taskId": "t/1"}}`
	tenant := strings.Replace(v1, "{", `{"tenant": "a b", `, 1)
	for _, tc := range []struct {
		i                          Interface
		stream, get                bool
		method, url, version, body string
	}{
		{Direct("http://x/rpc"), false, false, "POST", "http://x/rpc", "1.0", rpc("SendMessage", v1)},
		{Direct("http://x/rpc"), true, false, "POST", "http://x/rpc", "1.0", rpc("SendStreamingMessage", v1)},
		{Direct("http://x/rpc"), false, true, "POST", "http://x/rpc", "1.0", rpc("GetTask", `{"id": "t/1"}`)},
		{
			Interface{"http://x", JSONRPC, V03, "ignored", false}, false, false, "POST", "http://x", "",
			rpc("message/send", v03),
		},
		{
			Interface{"http://x", JSONRPC, V03, "", false}, true, false, "POST", "http://x", "",
			rpc("message/stream", v03),
		},
		{
			Interface{"http://x", JSONRPC, V03, "", false}, false, true, "POST", "http://x", "",
			rpc("tasks/get", `{"id": "t/1"}`),
		},
		{
			Interface{"http://x/a/", HTTPJSON, V1, "a b", false}, false, false, "POST", "http://x/a/message:send",
			"1.0", tenant,
		},
		{
			Interface{"http://x/a?k=v", HTTPJSON, V1, "", false}, true, false, "POST", "http://x/a/message:stream?k=v",
			"1.0", v1,
		},
		{
			Interface{"http://x/a?k=v", HTTPJSON, V1, "a b", false}, false, true, "GET",
			"http://x/a/tasks/t%2F1?tenant=a+b&k=v", "1.0", "",
		},
		{
			Interface{"http://x", HTTPJSON, V03, "", false}, false, false, "POST", "http://x/v1/message:send", "",
			buffers,
		},
	} {
		var r Request
		var err error
		if tc.get {
			r, err = tc.i.Get("m-1", "t/1")
		} else {
			r, err = tc.i.Send(Message{"m-1", "hi", "c", "t/1"}, tc.stream)
		}
		if err != nil || r.Method != tc.method || r.URL != tc.url || r.Header.Get("A2A-Version") != tc.version ||
			tc.body != string(r.Body) && !source.SameJSON([]byte(tc.body), r.Body) {
			t.Errorf("%+v: %v\n%+v\n%s\nwant %s", tc.i, err, r, r.Body, tc.body)
		}
	}
}

// One row is one turn: what the agent answers, event by event, and what becomes of it.
func TestTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		events                     []string
		reply, context, task, node string
		rest, input                bool
	}{
		"a message": {[]string{
			`{"jsonrpc": "2.0", "result": {"message": {"messageId": "1", "contextId": "c", "parts": [{"text": "a"}, {"data": 1}, {"text": "b"}]}}}`,
		}, "ab", "c", "", "", true, false},
		"0.3": {[]string{
			`{"jsonrpc": "2.0", "result": {"kind": "message", "contextId": "c", "parts": [{"kind": "text", "text": "a"}]}}`,
		}, "a", "c", "", "", true, false},
		"artifacts": {[]string{`{"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": [{"text": "no"}]}},
			"artifacts": [{"parts": [{"text": "one "}, {"text": "two"}]}, {"parts": [{"data": {}}]}, {"parts": [{"text": "three"}]}]}}`},
			"one two\nthree", "c", "t", "TASK_STATE_COMPLETED", true, false},
		"asks": {[]string{
			`{"task": {"id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"parts": [{"text": "where to?"}]}}}}`,
		}, "where to?", "", "t", "TASK_STATE_INPUT_REQUIRED", true, true},
		"asks, 0.3": {[]string{
			`{"kind": "task", "id": "t", "status": {"state": "input-required", "message": {"parts": [{"text": "where to?"}]}}}`,
		}, "where to?", "", "t", "input-required", true, true},
		"working": {[]string{
			`{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING", "message": {"parts": [{"text": "wait"}]}}}}`,
		}, "wait", "", "t", "TASK_STATE_WORKING", false, false},
		"polled": {[]string{
			`{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}`,
			`{"jsonrpc": "2.0", "result": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": "done"}]}]}}`,
		}, "done", "c", "t", "TASK_STATE_COMPLETED", true, false},
		"stream": {[]string{
			`{"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}`,
			`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "one "}]}}}`,
			`{"artifactUpdate": {"taskId": "t", "append": true, "artifact": {"artifactId": "a", "parts": [{"text": "two"}]}}}`,
			`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "b", "parts": [{"text": "old"}]}}}`,
			`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "b", "parts": [{"text": "new"}]}}}`,
			`{"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}`,
		}, "one two\nnew", "c", "t", "TASK_STATE_COMPLETED", true, false},
		"stream of 0.3 without a task": {[]string{
			`{"jsonrpc": "2.0", "result": {"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": {"parts": [{"kind": "text", "text": "x"}]}}}`,
			`{"jsonrpc": "2.0", "result": {"kind": "status-update", "taskId": "t", "status": {"state": "completed"}, "final": true}}`,
		}, "x", "c", "t", "completed", true, false},
		"a message of 0.3 over HTTP+JSON": {[]string{
			`{"message": {"messageId": "1", "contextId": "c", "role": "ROLE_AGENT", "content": [{"text": "a"}]}}`,
		}, "a", "c", "", "", true, false},
		"a status of 0.3 over HTTP+JSON": {[]string{
			`{"task": {"id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"content": [{"text": "where to?"}]}}}}`,
		}, "where to?", "", "t", "TASK_STATE_INPUT_REQUIRED", true, true},
		"an empty text": {
			[]string{`{"message": {"parts": [{"text": ""}]}}`}, "", "", "", "", true, false,
		},
	} {
		var turn Turn
		for _, event := range tc.events {
			if err := turn.Accept([]byte(event)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		rest, err := turn.AtRest()
		reply, ok := turn.Reply()
		if !ok || err != nil || reply != tc.reply || turn.ContextID() != tc.context || turn.TaskID() != tc.task ||
			turn.State() != tc.node || rest != tc.rest || turn.NeedsInput() != tc.input {
			t.Errorf("%s: %q %v, context %q, task %q, state %q, at rest %v %v, asks %v", name, reply, ok,
				turn.ContextID(), turn.TaskID(), turn.State(), rest, err, turn.NeedsInput())
		}
	}
}

func TestTurnFails(t *testing.T) {
	for answer, says := range map[string]string{
		`{"jsonrpc": "2.0", "error": {"code": -32001, "message": "Task not found"}}`: "Task not found (-32001)",
		`{"error": {"code": 404, "status": "NOT_FOUND", "message": "no such task"}}`: "no such task (404)",
		`{"error": "sorry"}`: "sorry",
		`{"task": {"id": "t", "status": {"state": "TASK_STATE_FAILED", "message": {"parts": [{"text": "no money"}]}}}}`: "the task is failed: no money",
		`{"kind": "task", "id": "t", "status": {"state": "rejected"}}`:                                                  "the task is rejected",
		`{"task": {"id": "t", "status": {"state": "TASK_STATE_CANCELED"}}}`:                                             "the task is canceled",
	} {
		var turn Turn
		err := turn.Accept([]byte(answer))
		if err == nil {
			_, err = turn.AtRest()
		}
		if failed, ok := errors.AsType[*AgentError](err); !ok || failed.Message != says {
			t.Errorf("%s: %v, want %q", answer, err, says)
		}
	}
	for _, answer := range []string{
		``, `null`, `[]`, `{}`, `{"jsonrpc": "2.0"}`, `{"jsonrpc": "2.0", "result": null}`, `{"task": {"id": "t"}}`,
		`{"task": {"id": 7, "status": {"state": "x"}}}`, `{"message": {"parts": [{"data": 1}]}}`,
		`{"message": {"role": "ROLE_USER", "parts": [{"text": "what was asked"}]}}`, `{"message": {"parts": "x"}}`,
		`{"statusUpdate": {}}`, `{"artifactUpdate": {}}`, `{"artifactUpdate": {"artifact": null, "append": true}}`,
	} {
		if err := new(Turn).Accept([]byte(answer)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// The task of a stream is what its events have made of it, with the members that are not looked at.
func TestTask(t *testing.T) {
	var turn Turn
	for _, event := range []string{
		`{"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "metadata": {"k": 1}}}`,
		`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "name": "n", "parts": [{"text": "x"}]}}}`,
		`{"artifactUpdate": {"taskId": "t", "append": true, "artifact": {"artifactId": "a", "parts": [{"data": 1}]}}}`,
		`{"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "now"}}}`,
	} {
		if err := turn.Accept([]byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := turn.Task()
	want := `{"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "now"}, "metadata": {"k": 1},
		"artifacts": [{"artifactId": "a", "name": "n", "parts": [{"text": "x"}, {"data": 1}]}]}`
	if err != nil || !source.SameJSON([]byte(want), got) {
		t.Errorf("%v: %s", err, got)
	}
	if none, err := new(Turn).Task(); none != nil || err != nil {
		t.Errorf("no task: %s, %v", none, err)
	}
}

func FuzzTurn(f *testing.F) {
	f.Add([]byte(`{"task": {"id": "t", "status": {"state": "s"}, "artifacts": [{"parts": [{"text": "x"}]}]}}`),
		[]byte(`{"artifactUpdate": {"append": true, "artifact": {"parts": []}}}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var turn Turn
		for _, event := range [][]byte{one, two} {
			_ = turn.Accept(event) // any answer
		}
		_, _ = turn.AtRest()
		turn.Reply()
		if task, err := turn.Task(); err == nil && task != nil && !json.Valid(task) {
			t.Errorf("%s", task)
		}
	})
}

// A task that has failed is a failure, whatever message came before it in the stream.
func TestFailedAfterMessage(t *testing.T) {
	var turn Turn
	for _, event := range []string{
		`{"message": {"parts": [{"text": "done"}]}}`,
		`{"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_FAILED", "message": {"parts": [{"text": "no stock"}]}}}}`,
	} {
		if err := turn.Accept([]byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := turn.AtRest(); err == nil || !strings.Contains(err.Error(), "failed: no stock") {
		t.Errorf("a failed task is %v", err)
	}
}
