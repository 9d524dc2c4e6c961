package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/model/llm"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// ErrCallLimit is why the context of a call ends that took longer than its own Timeout, rather than longer than its
// turn.
var ErrCallLimit = errors.New("the call took too long")

// Remote is what a flow may call over HTTP: an API of its actions, or a tool of the model's.
type Remote struct {
	Name string
	// Description and Parameters, a JSON Schema, tell the model of a tool.
	Description string
	Parameters  json.RawMessage
	// URL may hold {field}. Method is POST by default.
	URL    string `key:"url" schema:"url" doc:"an address; {field} stands for what a field has"`
	Method string `key:"method" enum:"GET,POST,PUT,PATCH,DELETE" doc:"HTTP method (default POST)"`
	// Headers may hold ${NAME}, a variable of the environment.
	Headers map[string]string
	Timeout time.Duration `key:"timeout" doc:"seconds, or a time such as 500ms (default 5s, at most 1m)"`
	// Save names, by field, the dotted path in an answer from which the field is taken.
	Save map[string]string
}

// Request is one call of a Remote.
type Request struct {
	Method, URL string
	// Headers may hold ${NAME}, a variable of the environment.
	Headers map[string]string
	// Body is JSON.
	Body    []byte
	Timeout time.Duration
}

// Caller carries out requests of flows: to hosts that are allowed, once, without following a redirect. The answer is
// JSON of at most 64 KB; everything else is an error in a sentence, without addresses of the network or secrets.
// Implementations are safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, r Request) (json.RawMessage, error)
}

// Tool returns the tool as a model is told of it.
func (r *Remote) tool() llm.Tool {
	return llm.Tool{Name: r.Name, Description: r.Description, Parameters: r.Parameters}
}

// urlField is {field} in an address.
var urlField = text.Regexp(`\{([\pL\pM\pN_.-]+)\}`)

// address fills the fields of the URL in, percent-encoded.
func (r *Remote) address(field fields) (string, error) {
	var fault error
	filled := urlField().ReplaceAllStringFunc(r.URL, func(found string) string {
		value, ok := field(NormalKey(found[1 : len(found)-1]))
		switch {
		case !ok || value == "":
			fault = fmt.Errorf("the field %s of the address is not known", found)
		case value == "." || value == "..": // no encoding keeps them from being a step in a path
			fault = fmt.Errorf("the field %s cannot be %q in an address", found, value)
		}
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	return filled, fault
}

// apiBody is what an API is sent.
type apiBody struct {
	API            string            `json:"api"`
	Fields         map[string]string `json:"fields"`
	Flow           string            `json:"flow"`
	ConversationID string            `json:"conversation_id"`
	TestCaseID     string            `json:"test_case_id"`
}

// callAPI carries out a call_api: of an API of the flow, or of an address. A failure is recorded in the trace and
// does not end the turn.
func (t *turn) callAPI(ctx context.Context, name string) {
	known := t.fields()
	api := t.flow.api(name)
	start := t.Now()
	result, err := t.stubbed(name)
	if errors.Is(err, errNoStub) {
		result, err = nil, fmt.Errorf("there is no api %q in the flow", clip(name, 100))
		if api != nil {
			body := compact(apiBody{name, known, t.flow.ID, t.in.ConversationID, t.in.TestCaseID})
			result, err = t.call(ctx, api, body, t.field)
		}
	}
	if err == nil && api != nil {
		t.save(api, result)
	}
	t.noteCall(name, known, result, err, t.Now().Sub(start))
}

// api returns the API of that name; an address is one without headers, anything else nil.
func (f *Flow) api(name string) *Remote {
	if api, ok := f.apis[name]; ok {
		return api
	}
	if isAddress(name) {
		return &Remote{Name: name, URL: name, Method: defaultMethod, Timeout: defaultCallTimeout}
	}
	return nil
}

func isAddress(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// call sends one request.
func (t *turn) call(ctx context.Context, r *Remote, body []byte, field fields) (json.RawMessage, error) {
	switch {
	case t.flow.inline:
		return nil, errors.New("a flow in a request calls nothing but stubs")
	case t.Remote == nil:
		return nil, errors.New("nothing can be called from here")
	}
	address, err := r.address(field)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, ErrCallLimit)
	defer cancel()
	return t.Remote.Call(ctx, Request{
		Method: r.Method, URL: address, Headers: r.Headers, Body: body, Timeout: r.Timeout,
	})
}

// save keeps what an API has answered in fields.
func (t *turn) save(api *Remote, result json.RawMessage) {
	for _, field := range slices.Sorted(maps.Keys(api.Save)) {
		if value, ok := valueAt(result, api.Save[field]); ok {
			t.collect(field, value)
		}
	}
}

// valueAt returns the value at a dotted path of JSON, as text; ok is false where there is none.
func valueAt(data json.RawMessage, path string) (text string, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var at any
	if decoder.Decode(&at) != nil {
		return "", false
	}
	for part := range strings.SplitSeq(path, ".") {
		switch value := at.(type) {
		case map[string]any:
			if at, ok = value[part]; !ok {
				return "", false
			}
		case []any:
			var i int
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(value) {
				return "", false
			}
			at = value[i]
		default:
			return "", false
		}
	}
	switch value := at.(type) {
	case nil:
		return "", false
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	}
	return string(compact(at)), true
}

// useTool carries out the model's call of a tool of the flow. The arguments fill the address, too, and go before
// fields.
func (t *turn) useTool(ctx context.Context, tool *Remote, args json.RawMessage) (any, error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(orEmpty(args), &given) != nil || given == nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	argument := func(name string) (string, bool) {
		for key, value := range given {
			if NormalKey(key) == name {
				return scalarText(value)
			}
		}
		return t.field(name)
	}
	result, err := t.call(ctx, tool, orEmpty(args), argument)
	if err != nil {
		return nil, err
	}
	return result, nil
}
