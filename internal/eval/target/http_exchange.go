package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// httpCall is one request with its values filled in.
type httpCall struct {
	method, url string
	body        string
	// media is the type of the body.
	media string
	filledHeaders
}

// recordedCall is what a recording knows a request by: neither the host nor headers that are always the same, which
// hold keys.
type recordedCall struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Header map[string]string `json:"headers,omitempty"`
	Body   string            `json:"body,omitempty"`
}

// prompt returns what the agent is sent: the body, or the address of a request without one.
func (c *httpCall) prompt() []byte {
	if c.body != "" {
		return []byte(c.body)
	}
	return []byte(c.method + " " + c.recorded().Path)
}

func (c *httpCall) recorded() recordedCall {
	path := c.url
	if _, rest, ok := strings.Cut(path, "://"); ok {
		path = "/"
		if at := strings.IndexAny(rest, "/?#"); at >= 0 {
			path = rest[at:]
		}
	}
	return recordedCall{c.method, path, c.said, c.body}
}

// httpAnswer is what is kept of a successful answer.
type httpAnswer struct {
	Status int    `json:"status"`
	Type   string `json:"content_type,omitempty"`
	// Header and Cookie are the values of those that bear the session's id.
	Header   string         `json:"session_header,omitempty"`
	Cookie   string         `json:"session_cookie,omitempty"`
	Streamed bool           `json:"streamed,omitempty"`
	Events   []answer.Event `json:"events,omitempty"`
	Body     string         `json:"body,omitempty"`
}

// call fills in the values of a request.
func (r *httpRequest) call(v *template.Values) (*httpCall, error) {
	c := &httpCall{method: r.method}
	var err error
	if c.url, _, err = r.url.Text(v, template.Address); err != nil {
		return nil, err
	}
	if r.query != nil {
		query, err := r.query.Form(v)
		if err != nil {
			return nil, err
		}
		c.url = withQuery(c.url, query)
	}
	if c.filledHeaders, err = r.headers.filled(v); err != nil {
		return nil, err
	}
	if r.sessionHeader != "" && v.SessionID != "" {
		c.header.Set(r.sessionHeader, v.SessionID)
	}
	return c, r.fill(c, v)
}

// maxShown bounds how much of an address is shown, in characters: the user's message may stand in it.
const maxShown = 300

// shownAddress returns an address as errors have it: without credentials, and of bounded length.
func shownAddress(address string) string { return text.OneLine(text.Address(address), maxShown) }

func withQuery(address, query string) string {
	address, fragment, _ := strings.Cut(address, "#")
	switch {
	case query == "":
	case strings.Contains(address, "?"):
		address += "&" + query
	default:
		address += "?" + query
	}
	if fragment != "" {
		address += "#" + fragment
	}
	return address
}

func (r *httpRequest) fill(c *httpCall, v *template.Values) (err error) {
	switch {
	case r.body == nil:
	case r.form:
		c.body, err = r.body.Form(v)
		c.media = "application/x-www-form-urlencoded"
	case r.body.IsText():
		if c.body, _, err = r.body.Text(v, template.Plain); c.body != "" {
			c.media = "text/plain; charset=utf-8"
		}
		if r.body.Only("messages") || r.body.Only("history") || r.body.Only("messages_parts") {
			data, _, err := r.body.JSON(v)
			c.body, c.media = string(data), "application/json"
			return err
		}
	default:
		data, _, err := r.body.JSON(v)
		c.body, c.media = string(data), "application/json"
		return err
	}
	return err
}

// exchange sends a request, again where that helps, and returns its answer, live or from a recording. Taken has the
// time and the attempts.
func (s *httpSession) exchange(ctx context.Context, r *httpRequest,
	v *template.Values) (got httpAnswer, taken chat.Reply, err error) {
	c, err := r.call(v)
	if err != nil {
		return got, taken, err
	}
	return s.classifierRequest(ctx, c, r == &s.config.turn)
}

// classifierRequest sends a request as exchange does. Turn is true of one that says the user's message, whose answer
// may be a stream.
func (s *httpSession) classifierRequest(ctx context.Context, c *httpCall,
	turn bool) (got httpAnswer, taken chat.Reply, err error) {
	asked, err := json.Marshal(c.recorded())
	if err != nil {
		return got, taken, err
	}
	collect.Put(ctx, collect.Prompt, c.prompt)
	at := shownAddress(c.url)
	m := llm.Model(httpAttempt{s, c, turn})
	limits := config.Model{
		Provider: "http", Concurrency: s.bounds.Concurrency, RequestsPerMinute: s.bounds.RequestsPerMinute,
	}
	if s.parts.Limited != nil {
		m = s.parts.Limited(m, limits, text.Address(s.config.URL))
	}
	m = llm.Retry(m, llm.Policy{
		Model: at, Retries: *s.bounds.Retries, MaxAfter: s.bounds.RetryAfterMax, Breaker: s.breaker,
	})
	m = s.parts.Recorded("http", httpOutcome{m, at})
	taken, err = m.Generate(ctx, llm.Request{Messages: []chat.Message{chat.NewMessage(chat.User, string(asked))}})
	if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Fault != llm.Unrecorded {
		return got, taken, &executeError{failedExchange{failed}, failed.Attempts}
	}
	if err != nil {
		return got, taken, err
	}
	if err := json.Unmarshal([]byte(taken.Text), &got); err != nil {
		return got, taken, fmt.Errorf("read the recorded answer of %s: %w", at, err)
	}
	return got, taken, nil
}

// sendOnce sends a request once, and only where nothing is played.
func (s *httpSession) sendOnce(ctx context.Context, r *httpRequest, v *template.Values) error {
	c, err := r.call(v)
	if err != nil || s.parts.Playing {
		return err
	}
	_, err = httpAttempt{s, c, false}.Generate(ctx, llm.Request{})
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		return errors.New(shownAddress(c.url) + failed.Message)
	}
	return err
}

// httpFault is a request that failed.
type httpFault struct {
	// fault is what it is called in the end.
	fault   llm.Fault
	status  int
	message string
	after   time.Duration
	// again is true where the message may be sent again.
	again bool
}

func (f *httpFault) Error() string { return f.message }

// error returns the fault as a model's, by which Retry tells whether to send again.
func (f *httpFault) error(at string) *llm.Error {
	fault := f.fault
	switch {
	case !f.again:
		fault = llm.Refused
	case fault == llm.Malformed:
		fault = llm.Unavailable
	}
	return &llm.Error{Fault: fault, Model: at, Status: f.status, Message: f.message, RetryAfter: f.after, Err: f}
}

// httpOutcome says of a failed call what it is in the end, as it is recorded.
type httpOutcome struct {
	llm.Model
	at string
}

// Generate asks the agent.
func (o httpOutcome) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := o.Model.Generate(ctx, r)
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return reply, err
	}
	end := &llm.Error{
		Fault: failed.Fault, Model: o.at, Status: failed.Status, Message: o.at + failed.Message,
		Attempts: failed.Attempts,
	}
	f, ok := errors.AsType[*httpFault](err)
	if !ok { // nobody was there too often
		end.Message = fmt.Sprintf("%s cannot be reached: it %s (%s)", o.at, failed.Message,
			cmp.Or(failed.Hint, "is the server running?"))
		return chat.Reply{}, end
	}
	end.Fault = f.fault
	return chat.Reply{}, end
}
