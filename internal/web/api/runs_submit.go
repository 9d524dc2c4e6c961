package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// withSpec reads the RunSpec of a body, and runs what plans it while the server has a place for it.
func withSpec(w http.ResponseWriter, r *http.Request, plan func(runspec.Spec) error) error {
	body, err := readJSONUpTo(w, r, maxSpecMB,
		"send large files with PUT /api/v1/blobs/SHA256 and name them by their hashes")
	if err != nil {
		return err
	}
	return limited(r.Context(), func() error {
		if !json.Valid(body) {
			return newProblem(http.StatusBadRequest, codeQuery, "the body is not JSON", "send one JSON object").at("")
		}
		spec, err := specOf(body)
		if err != nil {
			return err
		}
		return plan(spec)
	})
}

// specOf reads a RunSpec. What is no RunSpec is a bad request; what is one and cannot be meant is an invalid spec.
func specOf(body []byte) (runspec.Spec, error) {
	spec, err := runspec.Read(body)
	if err == nil {
		return spec, nil
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return spec, newProblem(http.StatusBadRequest, codeQuery,
			"a value of the kind "+typed.Value+" cannot stand here", "send "+source.KindOf(typed.Type)).
			at("/" + strings.ReplaceAll(typed.Field, ".", "/"))
	}
	if p := keyProblem(err, codeQuery); p != nil {
		return spec, p
	}
	return spec, &coordinator.InvalidError{Message: err.Error()}
}

// caller says what whoever sends a request may submit.
func caller(r *http.Request) coordinator.Caller {
	grant := access.Of(r.Context())
	return coordinator.Caller{ID: grant.ID, Commands: grant.Scopes.Open(access.Admin)}
}

func (s *Runs) submit(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Load() {
		return stoppingProblem()
	}
	var run store.Run
	var created bool
	err := withSpec(w, r, func(spec runspec.Spec) error {
		key, err := idempotencyKey(r)
		if err == nil {
			run, created, err = s.Leader.Submit(r.Context(), spec, key, caller(r))
		}
		return err
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	w.Header().Set("Location", runsPath+"/"+url.PathEscape(run.ID))
	writeBody(w, status, "application/json", run)
	return nil
}

// idempotencyHeader describes the header of idempotencyKey.
var idempotencyHeader = parameter{
	"Idempotency-Key",
	"a key of the sending token: within 24 hours it gives the same run; another body is 422 idempotency_mismatch",
}

// idempotencyKey returns the key with which a run is submitted; empty for none.
func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > store.MaxIdempotencyKey {
		return "", newProblem(http.StatusBadRequest, codeQuery, fmt.Sprintf("the Idempotency-Key has %d bytes",
			len(key)), fmt.Sprintf("use at most %d", store.MaxIdempotencyKey))
	}
	return key, nil
}

// validation is the outcome of a check; Errors is empty if Valid.
type validation struct {
	Errors source.Problems `json:"errors"`
	Valid  bool            `json:"valid"`
}

func (s *Runs) validate(w http.ResponseWriter, r *http.Request) error {
	err := withSpec(w, r, func(spec runspec.Spec) error {
		_, err := s.Leader.Check(r.Context(), spec, caller(r))
		return err
	})
	invalid, faulty := errors.AsType[*coordinator.InvalidError](err)
	if err != nil && !faulty {
		return err
	}
	found := source.Problems{}
	if faulty {
		if found = invalid.Problems; len(found) == 0 {
			found = source.Problems{{Message: invalid.Message}}
		}
	}
	writeBody(w, http.StatusOK, "application/json", validation{found, !faulty})
	return nil
}
