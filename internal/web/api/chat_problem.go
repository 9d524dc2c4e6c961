package api

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// chatProblem returns an error as the client sees it. Visitors see no details of internal failures; the log has them.
func chatProblem(err error) *Problem {
	fault, ok := errors.AsType[*sitebot.Error](err)
	if !ok {
		return problemOf(err)
	}
	detail, hint := fault.Message, fault.Hint
	switch {
	case inside(fault.Fault):
		hint = cmp.Or(hint, "try again in a moment")
	case fault.Err != nil && fault.Fault != sitebot.Busy: // the cause would reveal the server's internals
		detail += ": " + fault.Err.Error()
	}
	p := newProblem(statusOfChat(fault.Fault), string(fault.Fault), clip(detail, maxDetail), clip(hint, maxDetail))
	switch {
	case fault.RetryAfter > 0:
		p = p.after(roundUpSeconds(fault.RetryAfter))
	case p.Status == http.StatusServiceUnavailable:
		p = p.after(time.Second)
	}
	return p
}

// roundUpSeconds rounds up, as the header for waits has whole seconds.
func roundUpSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// inside reports whether a fault is the server's own, not the request's.
func inside(f sitebot.Fault) bool {
	return statusOfChat(f) >= http.StatusInternalServerError && f != sitebot.SessionFull
}

func statusOfChat(f sitebot.Fault) int {
	switch f {
	case sitebot.InvalidRequest:
		return http.StatusBadRequest
	case sitebot.UnknownSite, sitebot.UnknownSession, sitebot.UnknownTurn:
		return http.StatusNotFound
	case sitebot.UnknownField:
		return http.StatusUnprocessableEntity
	case sitebot.Busy, sitebot.RateLimited, sitebot.TooManyTurns:
		return http.StatusTooManyRequests
	case sitebot.Failed:
		return http.StatusBadGateway
	case sitebot.StoreFailed, sitebot.SiteBusy, sitebot.BudgetSpent:
		return http.StatusServiceUnavailable
	case sitebot.SessionFull:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// timedOut is the problem of a turn that exceeded its time limit.
func timedOut(most time.Duration) *Problem {
	return newProblem(http.StatusGatewayTimeout, string(flow.TimedOut), "the answer took longer than "+most.String(),
		"try again in a moment")
}

// writeChatProblem answers with a problem document. The answer of a busy session has a published body of its own.
func writeChatProblem(w http.ResponseWriter, p *Problem) {
	if p.Code != string(sitebot.Busy) {
		writeProblem(w, p)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"error":"session_busy"}`)
}
