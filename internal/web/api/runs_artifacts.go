package api

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/run/artifact"
)

// artifacts answers with a page of what was kept of the conversations of a run.
func (s *Runs) artifacts(w http.ResponseWriter, r *http.Request) error {
	q := query{r.URL.Query(), nil}
	page, err := q.page()
	if err != nil {
		return err
	}
	found, err := s.Store.Artifacts(r.Context(), r.PathValue("run_id"), page)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", found)
	return nil
}

// artifact answers with the bytes of an artifact that a run has. A browser does not show them: an agent may have said
// anything.
func (s *Runs) artifact(w http.ResponseWriter, r *http.Request) error {
	hash := r.PathValue("sha256")
	none := newProblem(http.StatusNotFound, codeNotFound, "no run has such an artifact",
		"GET "+runsPath+"/RUN/artifacts lists those of a run")
	if s.Artifacts == nil || !artifact.IsHash(hash) {
		return none
	}
	has, err := s.Store.HasArtifact(r.Context(), hash)
	if err != nil {
		return err
	}
	if !has {
		return none
	}
	data, err := s.Artifacts.Get(r.Context(), hash)
	if errors.Is(err, artifact.ErrNone) {
		return newProblem(http.StatusNotFound, codeNotFound, "a run has this artifact, but its bytes are not here",
			"with a folder for artifacts, ask the server that led the run")
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", `attachment; filename="`+hash+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, immutable, max-age=31536000")
	_, _ = w.Write(data)
	return nil
}
