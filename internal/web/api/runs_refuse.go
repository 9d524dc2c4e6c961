package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// The codes of problems with runs.
const (
	codeSpec       = "invalid_spec"
	codeQuery      = "invalid_request"
	codeCursor     = "invalid_cursor"
	codeFinished   = "run_finished"
	codeUnfinished = "run_unfinished"
	codeMissing    = "missing_blobs"
	codeHash       = "hash_mismatch"
	codeQueueFull  = "queue_full"
	codeMismatch   = "idempotency_mismatch"
)

// runsProblem is a problem with what is wrong in a spec, or which blobs are missing.
type runsProblem struct {
	*Problem
	Errors  source.Problems `json:"errors,omitempty"`
	Missing []string        `json:"missing,omitempty"`
}

// refuse answers with the problem of an error.
func (s *Runs) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := runsProblem{}
	missing, lacks := errors.AsType[*store.MissingBlobsError](err)
	invalid, faulty := errors.AsType[*coordinator.InvalidError](err)
	known, is := errors.AsType[*Problem](err)
	refused, may := errors.AsType[*wire.RefusedError](err)
	switch {
	case is:
		p.Problem = known
	case faulty:
		p.Problem, p.Errors = newProblem(http.StatusUnprocessableEntity, codeSpec, invalid.Message,
			"`rehearse validate` finds the same in suites"), invalid.Problems
	case may:
		status := http.StatusUnprocessableEntity
		if refused.Code == wire.RefusedCommands {
			status = http.StatusForbidden
		}
		p.Problem = newProblem(status, refused.Code, refused.Message, refused.Hint)
		if status == http.StatusForbidden && !caller(r).Commands {
			p.Scope = access.Admin
		}
	case lacks:
		p.Problem = newProblem(http.StatusConflict, codeMissing, "files are named by hashes that are not here",
			"send each with PUT /api/v1/blobs/SHA256 first")
		p.Missing = missing.SHA256
	case errors.Is(err, store.ErrUnknown):
		p.Problem = newProblem(http.StatusNotFound, codeNotFound, "there is no such run or result",
			"GET "+runsPath+" lists the runs")
	case errors.Is(err, store.ErrRunEnded):
		p.Problem = newProblem(http.StatusConflict, codeFinished, "the run has ended", "")
	case errors.Is(err, store.ErrRunUnfinished):
		p.Problem = newProblem(http.StatusConflict, codeUnfinished, "the run has not ended", "cancel it first")
	case errors.Is(err, store.ErrQueueFull):
		p.Problem = newProblem(http.StatusTooManyRequests, codeQueueFull, "too many runs wait",
			"try again when some have ended").after(10 * time.Second)
	case errors.Is(err, store.ErrOtherSubmission):
		p.Problem = newProblem(http.StatusUnprocessableEntity, codeMismatch,
			"the Idempotency-Key was used for another submission within 24 hours",
			"send a new key, or the same body as before")
	case errors.Is(err, store.ErrCursor):
		p.Problem = newProblem(http.StatusBadRequest, codeCursor, "the cursor was not given out by this list",
			"use next_cursor as it came")
	case errors.Is(err, store.ErrHash):
		p.Problem = newProblem(http.StatusUnprocessableEntity, codeHash, "the bytes do not have the hash in the path",
			"send the SHA-256 of the bytes, in lower case")
	case errors.Is(err, store.ErrInvalid):
		p.Problem = newProblem(http.StatusBadRequest, codeQuery, "the request names what cannot be", "")
	case store.IsUnavailable(err):
		s.Log.ErrorContext(r.Context(), "the store of runs is away", "error", err)
		p.Problem = unavailable()
	default:
		s.Log.ErrorContext(r.Context(), "a request failed", "at", r.Method+" "+r.URL.Path, "error", err)
		p.Problem = problemOf(nil)
	}
	if p.retryAfter > 0 {
		setRetryAfter(w.Header(), p.retryAfter)
	}
	writeBody(w, p.Status, "application/problem+json", p)
}
