package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/template"
)

// extras are what a configuration adds to every request of a model. The zero value adds nothing.
type extras struct {
	// headers are set last; nil takes one away.
	headers map[string]*template.Template
	body    *template.Template
}

func newExtras(m config.Model) (extras, error) {
	x := extras{headers: map[string]*template.Template{}}
	for name, value := range m.Headers {
		if value == nil {
			x.headers[name] = nil
			continue
		}
		t, err := template.Of(*value, template.Scope{})
		if err != nil {
			return extras{}, err
		}
		x.headers[name] = t
	}
	if len(m.Body) == 0 {
		return x, nil
	}
	var err error
	x.body, err = template.Of(map[string]any(m.Body), template.Scope{})
	return x, err
}

func (x extras) setHeaders(h http.Header, v *template.Values) error {
	for name, t := range x.headers {
		if t == nil {
			h.Del(name)
			if http.CanonicalHeaderKey(name) == "User-Agent" { // net/http has one of its own
				h.Set(name, "")
			}
			continue
		}
		text, ok, err := t.Text(v, template.Header)
		if err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
		if ok {
			h.Set(name, text)
		}
	}
	return nil
}

// merge returns a body with the configured one merged into it: mappings deep, anything else in place of what was there.
func (x extras) merge(body []byte, v *template.Values) ([]byte, error) {
	if x.body == nil {
		return body, nil
	}
	more, _, err := x.body.JSON(v)
	if err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	base, err := numbered(body)
	if err != nil {
		return nil, err
	}
	added, err := numbered(more)
	if err != nil {
		return nil, err
	}
	return encodeJSON(merged(base, added))
}

// numbered decodes JSON with its numbers as they are written.
func numbered(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func merged(base, added any) any {
	into, ok := base.(map[string]any)
	more, both := added.(map[string]any)
	if !ok || !both {
		return added
	}
	for name, value := range more {
		if was, ok := into[name]; ok {
			value = merged(was, value)
		}
		into[name] = value
	}
	return into
}

// valuesOf returns what placeholders stand for in a request. Of a model that is not the target of a conversation
// nothing is known but what it is asked, and in which test.
func valuesOf(ctx context.Context, r Request) template.Values {
	if r.Conversation != nil {
		return *r.Conversation
	}
	held := ConversationOf(ctx)
	v := template.Values{TestID: held.Test, Trial: max(1, held.Trial), History: r.Messages}
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != chat.User {
			continue
		}
		if v.Turn++; v.Turn == 1 {
			v.Message, v.History = m.Content.String(), r.Messages[:i]
		}
	}
	return v
}

// instructed is a model with a system message of its own, for requests that have none.
type instructed struct {
	model  Model
	system *template.Template
}

// instruct returns model with the configured system message, if there is one.
func instruct(model Model, m config.Model) (Model, error) {
	if m.System == "" {
		return model, nil
	}
	t, err := template.Of(m.System, template.Scope{})
	if err != nil {
		return nil, &Error{
			Fault: Refused, Model: m.String(), Message: clip(oneLine(err.Error())),
			Hint: "check `system:` of the model", Err: err,
		}
	}
	return &instructed{model, t}, nil
}

func (m *instructed) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return m.Stream(ctx, r, nil)
}

func (m *instructed) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	kept := r.Thread != nil && r.Thread.ID != "" // the provider has it from the first request
	if !kept && !slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return m.Role == chat.System }) {
		v := valuesOf(ctx, r)
		text, _, err := m.system.Text(&v, template.Plain)
		if err != nil {
			return chat.Reply{}, &Error{
				Fault: Refused, Message: "the system message: " + clip(oneLine(err.Error())), Err: err,
			}
		}
		r.Messages = slices.Insert(slices.Clone(r.Messages), 0, chat.NewMessage(chat.System, text))
	}
	return ask(ctx, m.model, r, token)
}
