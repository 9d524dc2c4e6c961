package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// oneAnswer is the answer to a single event.
type oneAnswer struct {
	ID    string `json:"event_id"`
	Added bool   `json:"added"`
}

// one is POST /api/v1/events: an event in, 201 when it was new, 200 when it was there.
func (s *Events) one(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSONUpTo(w, r, maxEventMB, "leave out of the payload what replays do not need")
	if err != nil {
		return err
	}
	if !json.Valid(body) {
		return newProblem(http.StatusBadRequest, codeInvalid, "the body is not JSON",
			"send one event as a JSON object").at("")
	}
	var e replay.Event
	var wrong error
	if err := limited(r.Context(), func() error { e, wrong = readEvent(body); return nil }); err != nil {
		return err
	}
	if wrong != nil {
		return notAnEvent(wrong.Error())
	}
	if err := s.admit(1); err != nil {
		return err
	}
	added, refused, err := s.add(r.Context(), e)
	switch {
	case refused:
		s.Log.WarnContext(r.Context(), "the store refuses an event", "event", clean(e.ID), "error", err)
		return notAnEvent(refusedEvent)
	case err != nil:
		return err
	}
	writeBody(w, statusOfEvent(added[0]), "application/json", oneAnswer{e.ID, added[0]})
	return nil
}

// refusedEvent tells a client that the store refuses an event. The store's own reason might reveal internals.
const refusedEvent = "the store cannot keep it; the server's log says why"

func statusOfEvent(added bool) int {
	if added {
		return http.StatusCreated
	}
	return http.StatusOK
}

func notAnEvent(reason string) *Problem {
	return newProblem(http.StatusUnprocessableEntity, codeNoEvent, "the body is not an event: "+clip(reason, maxDetail),
		`send {"event_id", "event_type", "unit_type", "unit_id", "experiments", "context": {"session_id", "flow_id"}, "metrics", "payload", "timestamp"}`).at("")
}

// maxNesting bounds the nesting of an event's JSON to a depth that every store can keep.
const maxNesting = 200

// readEvent reads an event. The error says why it cannot be kept.
func readEvent(data []byte) (replay.Event, error) {
	if len(data) > maxEventMB<<20 {
		return replay.Event{}, errors.New("it is larger than 1 MB")
	}
	if nestedDeeper(data, maxNesting) {
		return replay.Event{}, errors.New("it is nested deeper than 200 levels")
	}
	return replay.ParseEvent(data)
}

// nestedDeeper reports whether JSON is nested deeper than most levels. For invalid JSON the result has no meaning.
func nestedDeeper(data []byte, most int) bool {
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case text:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
