package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// showState is GET /api/v1/chat/{site_name}/{session_id}/state.
func (s *Chats) showState(w http.ResponseWriter, r *http.Request) {
	state, err := s.Bot.State(r.Context(), r.PathValue("site_name"), r.PathValue("session_id"))
	if err != nil {
		s.refuseState(w, r, err)
		return
	}
	writeState(w, state)
}

// injectState is PATCH of the same path. The body is an object of state fields, applied through the reducers; the
// answer is the new state.
func (s *Chats) injectState(w http.ResponseWriter, r *http.Request) {
	patch, replace, err := readPatch(w, r)
	if err != nil {
		s.refuseState(w, r, err)
		return
	}
	site, session := r.PathValue("site_name"), r.PathValue("session_id")
	if err := s.Bot.UpdateState(r.Context(), site, session, patch, replace); err != nil {
		s.refuseState(w, r, err)
		return
	}
	s.Log.InfoContext(r.Context(), "state injected", "site", clean(site), "replace", replace, "bytes", len(patch))
	state, err := s.Bot.State(r.Context(), site, session)
	if err != nil { // the state was injected nevertheless
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeState(w, state)
}

// readPatch reads a state patch, and whether it may replace the state of a session. The error is a *Problem.
func readPatch(w http.ResponseWriter, r *http.Request) (patch json.RawMessage, replace bool, err error) {
	if asked := r.URL.Query().Get("replace"); asked != "" {
		if replace, err = strconv.ParseBool(asked); err != nil {
			return nil, false, invalidChat(fmt.Sprintf("replace cannot be %q", clean(asked)),
				"use ?replace=1, or leave it out", "")
		}
	}
	if session := r.PathValue("session_id"); clean(session) != session || !utf8.ValidString(session) {
		return nil, false, invalidChat("the session_id cannot be used",
			fmt.Sprintf("use at most %d printable characters", maxID), "")
	}
	if patch, err = readJSONBody(w, r); err != nil {
		return nil, false, err
	}
	var fields json.RawMessage
	if err := limited(r.Context(), func() error { return decodeUTF8(patch, &fields) }); err != nil {
		return nil, false, err
	}
	if !bytes.HasPrefix(fields, []byte("{")) {
		return nil, false, invalidChat("a state is an object", "send one JSON object of state fields", "")
	}
	return fields, replace, nil
}

// erase is DELETE /api/v1/chat/{site_name}/{session_id}: nothing of the session is left. Under --public whoever knows
// its id may, with a token of less than admin, too, if the id cannot be guessed.
func (s *Chats) erase(w http.ResponseWriter, r *http.Request) {
	site, session := r.PathValue("site_name"), r.PathValue("session_id")
	if clean(session) != session || !utf8.ValidString(session) {
		s.refuseState(w, r, invalidChat("the session_id cannot be used",
			fmt.Sprintf("use at most %d printable characters", maxID), ""))
		return
	}
	if !access.Of(r.Context()).Scopes.Open(access.Admin) && !s.strongID(session, site) {
		writeProblem(w, newProblem(http.StatusBadRequest, codeWeakID, weakIDProblem, weakIDHint))
		return
	}
	if err := s.Bot.Erase(r.Context(), site, session); err != nil {
		s.refuseState(w, r, err)
		return
	}
	s.Log.InfoContext(r.Context(), "session erased", "site", clean(site))
	w.WriteHeader(http.StatusNoContent)
}

func (s *Chats) refuseState(w http.ResponseWriter, r *http.Request, err error) {
	p := chatProblem(err)
	if p.Status >= http.StatusInternalServerError {
		s.Log.WarnContext(r.Context(), "state failed", "method", r.Method, "site", clean(r.PathValue("site_name")),
			"code", p.Code, "error", sessionindex.Anonymous(err, r.PathValue("session_id")))
	}
	writeChatProblem(w, p)
}

func writeState(w http.ResponseWriter, state json.RawMessage) {
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, http.StatusOK, "application/json", state)
}
