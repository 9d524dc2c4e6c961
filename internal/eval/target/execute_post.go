package target

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// executeError is a failed call with the attempts that it took.
type executeError struct {
	err      error
	attempts int
}

func (e *executeError) Error() string { return e.err.Error() }
func (e *executeError) Unwrap() error { return e.err }

// Tries returns the number of attempts.
func (e *executeError) Tries() int { return e.attempts }

// policy retries calls that may succeed at the next attempt. A retry is safe: the request carries the whole state.
func (s *executeSession) policy() retry.Policy {
	return retry.Policy{
		Retries: max(0, s.Retries), Transient: transient, After: retryAfter, MaxAfter: s.bounds.RetryAfterMax,
	}
}

func retryAfter(err error) time.Duration {
	if answered, ok := errors.AsType[*httpError](err); ok {
		return answered.after
	}
	if answered, ok := errors.AsType[*statusError](err); ok {
		return answered.after
	}
	return 0
}

func transient(err error) bool {
	if answered, ok := errors.AsType[*httpError](err); ok {
		switch answered.status {
		case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return err != nil && !errors.As(err, new(*httpclient.PrivateError))
}

// httpError is an answer with a status other than 200. A 504 counts as a timeout.
type httpError struct {
	url    string
	status int
	detail string
	// after is the wait that the server asks for; 0 when it asks for none.
	after time.Duration
}

func (e *httpError) Error() string {
	return fmt.Sprintf("%s answered %d %s%s", e.url, e.status, http.StatusText(e.status), e.detail)
}

func (e *httpError) Unwrap() error {
	if e.status == http.StatusGatewayTimeout {
		return context.DeadlineExceeded
	}
	return nil
}

// defaultTimeout bounds a call when no timeout is configured; it is the same for models.
const defaultTimeout = 2 * time.Minute

func (s *executeSession) post(ctx context.Context, body []byte) (result []byte, err error) {
	ctx, span := sending(ctx, "execute", s.URL)
	defer func() { sent(span, err) }()
	limit := s.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, s.unreached(err)
	}
	request.Header = s.Header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set(trace.ParentHeader, trace.Parent(ctx))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Test-Case-Id", headerSafe(s.next.TestCaseID))
	request.Header.Set("X-Conversation-Id", headerSafe(s.next.ConversationID))
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, s.tooLong(ctx, limit, err)
	}
	defer response.Body.Close() //nolint:errcheck // the body was read to its end or is abandoned
	most := cmp.Or(s.bounds.MaxBytes, maxResult)
	data, err := io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, s.tooLong(ctx, limit, err)
	case err != nil:
		return nil, fmt.Errorf("%s: the answer broke off: %w", s.at(), err)
	case len(data) > most:
		return nil, fmt.Errorf("%s: %w", s.at(), answer.Large(most))
	case response.StatusCode != http.StatusOK:
		return nil, &httpError{
			s.at(), response.StatusCode, detailOf(response, data), retry.After(response.Header, time.Now()),
		}
	}
	return data, nil
}

// tooLong says what the limit of a call was, if err is that it ran out.
func (s *executeSession) tooLong(ctx context.Context, limit time.Duration, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return s.unreached(err)
	}
	return &timeoutError{fmt.Sprintf("%s: no answer within %s (raise timeout if it needs longer)", s.at(), limit)}
}

// timeoutError is a call that took too long.
type timeoutError struct{ message string }

func (e *timeoutError) Error() string { return e.message }
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// detailOf returns, after a colon, where an answer redirects to, or the detail of its problem document (RFC 9457).
func detailOf(answer *http.Response, data []byte) string {
	if redirect := httpclient.RedirectAddress(answer); redirect != "" {
		return ": " + redirect + ", which is not followed"
	}
	var p struct {
		Detail string `json:"detail"`
		Title  string `json:"title"`
	}
	_ = json.Unmarshal(data, &p) // any other body has no detail to show
	for _, said := range []string{p.Detail, p.Title} {
		if said != "" {
			return ": " + said
		}
	}
	return ""
}

// at is the address as it is shown: without what may be a credential.
func (e *Execute) at() string { return text.Address(e.URL) }

// unreached is the error of a request that could not be made. That of the client repeats the whole address.
func (e *Execute) unreached(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("%s: %w", e.at(), err)
}
