package langfuse

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// The sentinels that an *Error matches by errors.Is.
var (
	// ErrNotFound says that what was asked for does not exist (404).
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized says that the keys are refused or lack a permission (401, 403).
	ErrUnauthorized = errors.New("not authorized")
)

// Error is a failed call. Its text is one line of bounded length without keys.
type Error struct {
	// Where is the host, What the operation.
	Where, What string
	// Status is the status of the answer; 0 without an answer, or when the request was not sent.
	Status int
	// Message says what happened, in the server's own words if it gave any.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	// RetryAfter is the wait that the server asked for; 0 when it asked for none.
	RetryAfter time.Duration
	// Attempts is the number of attempts.
	Attempts int
	// retry is true when another attempt may help and does no harm, trouble when the fault is not in the request.
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

// Is reports whether the error matches ErrNotFound or ErrUnauthorized.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	}
	return false
}

// Absent reports whether Langfuse itself said that something does not exist. A 404 of a proxy does not count.
func Absent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound && e.Hint == ""
}

// invalid returns the error of a call that is not sent.
func (c *Client) invalid(what, format string, args ...any) error {
	return &Error{Where: c.where, What: what, Message: fmt.Sprintf(format, args...)}
}

func (c *Client) malformed(r request, message string) error {
	return &Error{Where: c.where, What: r.what, Message: message}
}

func (c *Client) tooLarge(r request, status int) error {
	return &Error{
		Where: c.where, What: r.what, Status: status,
		Message: fmt.Sprintf("the answer is larger than %d bytes", c.maxAnswer),
	}
}

// unreached returns the error of a request without an answer; late means that its time ran out. Without a connection,
// nothing was done.
func (c *Client) unreached(r request, err error, late bool) error {
	e := &Error{
		Where: c.where, What: r.what, Hint: "check " + HostEnv + ", and that the server runs", trouble: true,
		retry: r.retry,
	}
	if late {
		e.Message = "no answer within " + c.timeout.String()
		return e
	}
	if u, ok := errors.AsType[*url.Error](err); ok { // its own text repeats the whole address
		err = u.Err
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		e.retry = true
	}
	e.Message = clip(c.secrets.scrub(err.Error()), maxMessage)
	return e
}

// broken returns the error of an incomplete answer; late means that its time ran out.
func (c *Client) broken(r request, err error, late bool) error {
	e := &Error{Where: c.where, What: r.what, trouble: true, retry: r.retry}
	e.Message = "the answer broke off: " + clip(c.secrets.scrub(err.Error()), maxMessage)
	if late {
		e.Message = "the answer was not complete within " + c.timeout.String()
	}
	return e
}

// refusal returns the error of an answer with a status of failure.
func (c *Client) refusal(r request, res *http.Response, data []byte) error {
	e := &Error{Where: c.where, What: r.what, Status: res.StatusCode, Message: c.said(data)}
	var object map[string]json.RawMessage
	foreign := json.Unmarshal(data, &object) != nil
	switch status := res.StatusCode; {
	case status/100 == 3:
		e.Message = c.said(nil) // the answer's own words repeat the whole address
		e.Hint = "it redirects: set " + HostEnv + " to the address that it redirects" +
			cmp.Or(strings.TrimPrefix(httpclient.Redirect(res), "it redirects"), " to")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Hint = "check " + PublicKeyEnv + " and " + SecretKeyEnv + ", and that they belong to " + HostEnv
	case status == http.StatusNotFound && foreign:
		e.Hint = "this is no answer of Langfuse's API: check " + HostEnv
	case status == http.StatusRequestEntityTooLarge:
		e.Hint = "send less at once"
	case status == http.StatusTooManyRequests: // refused before anything was carried out
		e.retry, e.trouble = true, true
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError &&
		status != http.StatusNotImplemented:
		e.retry, e.trouble = r.retry, true
	}
	if e.RetryAfter = retry.After(res.Header, time.Now()); e.trouble && e.RetryAfter > maxAfter {
		e.retry, e.Hint = false, "it asks to wait "+e.RetryAfter.Round(time.Second).String()+
			": try again then, or send less at a time"
	}
	return e
}
