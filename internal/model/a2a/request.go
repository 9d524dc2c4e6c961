package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Message is a user's message. ContextID and TaskID are empty where the agent has given none.
type Message struct{ ID, Text, ContextID, TaskID string }

// Request is an HTTP request of the protocol. A request without a body has none.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// The wire form of a message. Kind is version 0.3's over JSON-RPC, Content is what version 0.3 calls the parts over
// HTTP+JSON.
type (
	wireMessage struct {
		Kind      string     `json:"kind,omitempty"`
		MessageID string     `json:"messageId"`
		Role      string     `json:"role"`
		Parts     []wirePart `json:"parts,omitempty"`
		Content   []wirePart `json:"content,omitempty"`
		ContextID string     `json:"contextId,omitempty"`
		TaskID    string     `json:"taskId,omitempty"`
	}
	wirePart struct {
		Kind string `json:"kind,omitempty"`
		Text string `json:"text"`
	}
	wireSend struct {
		Tenant  string      `json:"tenant,omitempty"`
		Message wireMessage `json:"message"`
	}
	wireGet struct {
		Tenant string `json:"tenant,omitempty"`
		ID     string `json:"id"`
	}
	wireCall struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
)

// Send returns the request that sends a message. With stream, the answer is a stream of events; the agent must be able
// to.
func (i Interface) Send(m Message, stream bool) (Request, error) {
	w := wireMessage{
		MessageID: m.ID, Role: "ROLE_USER", Parts: []wirePart{{Text: m.Text}}, ContextID: m.ContextID, TaskID: m.TaskID,
	}
	switch {
	case i.Version == V03 && i.Binding == HTTPJSON: // the JSON of that version's protocol buffers, as its SDKs read it
		w.Content, w.Parts = w.Parts, nil
	case i.Version == V03:
		w.Kind, w.Role, w.Parts[0].Kind = "message", "user", "text"
	}
	method, path := "SendMessage", "/message:send"
	if stream {
		method, path = "SendStreamingMessage", "/message:stream"
	}
	return i.request(m.ID, method, http.MethodPost, path, wireSend{i.tenant(), w})
}

// Get returns the request that asks for a task; id is the request's own.
func (i Interface) Get(id, task string) (Request, error) {
	path := "/tasks/" + url.PathEscape(task)
	if tenant := i.tenant(); tenant != "" {
		path += "?tenant=" + url.QueryEscape(tenant)
	}
	return i.request(id, "GetTask", http.MethodGet, path, wireGet{i.tenant(), task})
}

func (i Interface) tenant() string {
	if i.Version == V03 {
		return ""
	}
	return i.Tenant
}

// name03 returns the name that version 0.3 has for a method.
func name03(method string) string {
	switch method {
	case "SendMessage":
		return "message/send"
	case "SendStreamingMessage":
		return "message/stream"
	}
	return "tasks/get"
}

// request makes a request of either binding: a call of a method, or a path with the parameters as body.
func (i Interface) request(id, rpc, method, path string, params any) (Request, error) {
	r := Request{Method: method, URL: i.URL, Header: http.Header{}}
	if i.Version != V03 {
		r.Header.Set("A2A-Version", i.Version)
	}
	var body any
	switch {
	case i.Binding == JSONRPC:
		if i.Version == V03 {
			rpc = name03(rpc)
		}
		r.Method, body = http.MethodPost, wireCall{"2.0", id, rpc, params}
	default:
		if i.Version == V03 {
			path = "/v1" + path
		}
		r.URL = below(i.URL, path)
		if method == http.MethodPost {
			body = params
		}
	}
	if body == nil {
		return r, nil
	}
	r.Header.Set("Content-Type", "application/json")
	var err error
	r.Body, err = json.Marshal(body)
	return r, err
}

// below returns the address with a path appended; its own query stays behind it.
func below(address, path string) string {
	address, query, has := strings.Cut(address, "?")
	address = strings.TrimSuffix(address, "/") + path
	switch {
	case !has:
		return address
	case strings.Contains(path, "?"):
		return address + "&" + query
	}
	return address + "?" + query
}
