package langfuse

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"rehearse/internal/retry"
)

// Sentinels that an *Error is, by errors.Is.
var (
	// ErrNotFound is that what was asked for does not exist (404).
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized is that the keys are refused, or may not do it (401, 403).
	ErrUnauthorized = errors.New("not authorized")
)

// Error is a call that failed. Its text is one line, of bounded length, and holds no key.
type Error struct {
	// Where is the host, What was to be done.
	Where, What string
	// Status is that of the answer; 0 where there was none, or it was not sent.
	Status int
	// Message says what happened: the server's own words where it had any.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	// RetryAfter is how long the server asked to wait; 0 if it did not.
	RetryAfter time.Duration
	// Attempts is how often it was tried.
	Attempts int
	// retry is that another attempt may help and does no harm, trouble that the fault is not in the request.
	retry, trouble bool
}

func (e *Error) Error() string {
	text := e.Where + ": " + e.What + ": "
	if e.Status != 0 {
		text += fmt.Sprintf("status %d: ", e.Status)
	}
	text += e.Message
	if e.Attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Is makes errors.Is know ErrNotFound and ErrUnauthorized.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	}
	return false
}

// Absent reports whether Langfuse has said that there is no such thing. A 404 of anything else, such as a proxy, is none.
func Absent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound && e.Hint == ""
}

// invalid is the error of a call that is not sent.
func (c *Client) invalid(what, format string, args ...any) error {
	return &Error{Where: c.where, What: what, Message: fmt.Sprintf(format, args...)}
}

func (c *Client) malformed(r request, message string) error {
	return &Error{Where: c.where, What: r.what, Message: message}
}

func (c *Client) tooLarge(r request, status int) error {
	return &Error{Where: c.where, What: r.what, Status: status, Message: fmt.Sprintf("the answer is larger than %d bytes", c.maxAnswer)}
}

// unreached is the error of a request that got no answer, late if its time ran out. Where no connection came about, nothing was carried out.
func (c *Client) unreached(r request, err error, late bool) error {
	e := &Error{Where: c.where, What: r.what, Hint: "check " + HostEnv + ", and that the server runs", trouble: true, retry: r.retry}
	if late {
		e.Message = "no answer within " + c.timeout.String()
		return e
	}
	if u, ok := errors.AsType[*url.Error](err); ok { // whose own text repeats the whole address
		err = u.Err
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		e.retry = true
	}
	e.Message = clip(c.secrets.scrub(err.Error()), maxMessage)
	return e
}

// broken is the error of an answer that ended too early, late if its time ran out.
func (c *Client) broken(r request, err error, late bool) error {
	e := &Error{Where: c.where, What: r.what, trouble: true, retry: r.retry}
	e.Message = "the answer broke off: " + clip(c.secrets.scrub(err.Error()), maxMessage)
	if late {
		e.Message = "the answer was not complete within " + c.timeout.String()
	}
	return e
}

// refusal is the error of an answer that is no success.
func (c *Client) refusal(r request, res *http.Response, data []byte) error {
	e := &Error{Where: c.where, What: r.what, Status: res.StatusCode, Message: c.said(data)}
	var object map[string]json.RawMessage
	foreign := json.Unmarshal(data, &object) != nil
	switch status := res.StatusCode; {
	case status/100 == 3:
		e.Hint = "it redirects; set " + HostEnv + " to the address that it redirects to"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Hint = "check " + PublicKeyEnv + " and " + SecretKeyEnv + ", and that they belong to " + HostEnv
	case status == http.StatusNotFound && foreign:
		e.Hint = "this is no answer of Langfuse's API: check " + HostEnv
	case status == http.StatusRequestEntityTooLarge:
		e.Hint = "send less at once"
	case status == http.StatusTooManyRequests: // refused before anything was carried out
		e.retry, e.trouble = true, true
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		e.retry, e.trouble = r.retry, true
	}
	if e.RetryAfter = retry.After(res.Header, time.Now()); e.trouble && e.RetryAfter > maxAfter {
		e.retry, e.Hint = false, "it asks to wait "+e.RetryAfter.Round(time.Second).String()+"; try again then, or send less at a time"
	}
	return e
}
