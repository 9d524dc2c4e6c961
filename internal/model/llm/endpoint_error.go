package llm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// fail completes an error with who was asked and takes every secret out of its texts.
func (e *endpoint) fail(err *Error) *Error {
	err.Model, err.At = e.model.String(), e.at
	err.Message, err.Hint = e.secrets.scrub(err.Message), e.secrets.scrub(err.Hint)
	return err
}

// refusal is the error of an answer with a status that isn't a success.
func (e *endpoint) refusal(res *http.Response, body []byte) *Error {
	// Scrubbed before it is clipped, or half a key could stay at the end.
	wait := cmp.Or(retry.After(res.Header, time.Now()), googleRetry(body))
	err := statusError(res.StatusCode, wait, e.secrets.scrub(serverMessage(body)))
	switch {
	case err.Fault == Unauthorized && e.keyName != "":
		err.Hint = "check the key in " + e.keyName
	case err.Fault == Unauthorized:
		err.Hint = "name the variable that holds the key: api_key_env"
	case res.StatusCode == http.StatusNotFound:
		err.Hint = e.vendor.missing(e.model)
	case err.Fault == RateLimited:
		err.Hint = "use fewer workers or set requests_per_minute"
	case res.StatusCode < http.StatusBadRequest:
		err.Message = fmt.Sprintf("answered with the redirect %d, which is not followed", res.StatusCode)
		if to, bad := res.Location(); bad == nil {
			err.Message = fmt.Sprintf("answered with a redirect (%d) to %s, which is not followed", res.StatusCode,
				clip(to.Host))
			err.Hint = "if the server has moved, use its new address as the base URL: " + clip(shownAddress(to))
		}
	}
	return e.fail(err)
}

// unreachable is the error of a call that got no complete answer.
func (e *endpoint) unreachable(cause error) *Error {
	err := &Error{Fault: Unreachable, Err: e.secrets.cause(cause)}
	var dns *net.DNSError
	var timeout net.Error
	var private *httpclient.PrivateError
	switch {
	case errors.As(cause, &private): // another attempt is refused, too
		err.Fault, err.Message = Refused, private.Error()
	case errors.As(cause, &dns):
		err.Message = "the host " + dns.Name + " was not found"
		err.Hint = "check the host name in " + e.vendor.baseEnv + " or base_url"
	case errors.Is(cause, syscall.ECONNREFUSED):
		err.Message = "the connection was refused"
		err.Hint = "is the server running? check " + e.vendor.baseEnv + " or base_url"
	case brokeOff(cause):
		err.Message = brokenOff
	case errors.As(cause, &timeout) && timeout.Timeout():
		err.Message = "no connection in time"
		err.Hint = "is the server running? check " + e.vendor.baseEnv + " or base_url"
	default:
		if link, ok := errors.AsType[*url.Error](cause); ok { // its text repeats the address
			cause = link.Err
		}
		err.Message = "no connection: " + clip(e.secrets.scrub(oneLine(cause.Error())))
	}
	return e.fail(err)
}

// brokeOff reports whether a connection broke that had been made.
func brokeOff(cause error) bool {
	return errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) || errors.Is(cause, syscall.ECONNRESET) ||
		errors.Is(cause, syscall.EPIPE)
}

const brokenOff = "the connection broke before the answer was complete"

func (e *endpoint) malformed(cause error) *Error {
	return e.fail(&Error{Fault: Malformed, Message: clip(e.secrets.scrub(oneLine(cause.Error())))})
}

// undecoded is the error of an answer that is complete but cannot be used; nil stays nil.
func (e *endpoint) undecoded(err error) error {
	if err == nil {
		return nil
	}
	if said, ok := asError(err); ok {
		return e.fail(said)
	}
	return e.malformed(err)
}

// statusError classifies a status; message is what the server said about it, in full.
func statusError(status int, wait time.Duration, message string) *Error {
	err := &Error{Fault: Refused, Status: status, RetryAfter: wait}
	what := "refused the request"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		err.Fault, what = Unauthorized, "refused the key"
	case status == http.StatusNotFound:
		what = "found nothing there"
	case status == http.StatusTooManyRequests:
		err.Fault, what = RateLimited, "asks for fewer requests"
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		err.Fault, what = Unavailable, "is not available"
	}
	err.Message = fmt.Sprintf("%s (%d): %s", what, status, cmp.Or(clip(message), "it gave no reason"))
	return err
}
