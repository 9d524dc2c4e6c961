package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// EventLog stores logged events. It is safe for concurrent use.
type EventLog interface {
	// Add adds all of the events or none, and returns for each whether it was new. An event with a known ID changes
	// nothing. An error with a method Refused that returns true means that the store works but cannot keep one of the
	// events.
	Add(ctx context.Context, events []replay.Event) (added []bool, err error)
}

// EventsConfig is what a server of logged events uses. Only Store is required.
type EventsConfig struct {
	Store EventLog
	// Log gets a line when the store fails, without the events' text; nil discards it.
	Log *slog.Logger

	// MaxRequests is the number of concurrent requests (16). PerSecond is how many events are accepted (5,000), with
	// bursts of twice as many.
	MaxRequests, PerSecond int
	// MaxTime is the time limit of the store (10 s).
	MaxTime time.Duration
}

// The limits of requests with events that docs/replay.md publishes.
const (
	maxEventMB     = 1
	maxBatchMB     = 8
	maxBatchEvents = 1_000
)

// Events accepts logged events of a running product. It is safe for concurrent use. Put it behind Front, which checks
// access.
type Events struct {
	EventsConfig
	places gate
	rate   *rate.Limiter
}

// NewEvents returns a server of logged events.
func NewEvents(c EventsConfig) *Events {
	c.Log = logOrDiscard(c.Log)
	c.MaxTime = cmp.Or(c.MaxTime, 10*time.Second)
	c.PerSecond = cmp.Or(c.PerSecond, 5_000)
	return &Events{
		EventsConfig: c, places: make(gate, cmp.Or(c.MaxRequests, 16)),
		rate: rate.NewLimiter(rate.Limit(c.PerSecond), max(2*c.PerSecond, maxBatchEvents)),
	}
}

func (s *Events) table() table {
	return table{
		{
			pattern: "POST /api/v1/events", scope: access.Test, handle: s.bounded(s.one),
			summary: "Keep a logged event", body: anyObject, answers: answers{201: oneAnswer{}, 200: oneAnswer{}},
		},
		{
			pattern: "POST /api/v1/events/batch", scope: access.Test, handle: s.bounded(s.batch), summary: "Keep many",
			body: json.RawMessage(`{}`), answers: answers{200: batchAnswer{}, 207: batchAnswer{}},
		},
	}
}

// The codes of problems with events.
const (
	codeNoEvent     = "invalid_event"
	codeTooMany     = "too_many_requests"
	codeStoreFailed = "store_unavailable"
)

// bounded admits a bounded number of requests, because their bodies are in memory.
func (s *Events) bounded(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.places.enter() {
			writeProblem(w,
				newProblem(http.StatusTooManyRequests, codeTooMany, "too many requests with events are under way",
					"try again in a moment, and send many events as one batch").after(time.Second))
			return
		}
		defer s.places.leave()
		if err := handle(w, r); err != nil {
			writeProblem(w, problemOf(err))
		}
	}
}

// admit counts events against the limit per second.
func (s *Events) admit(events int) error {
	taken := s.rate.ReserveN(time.Now(), events)
	if wait := taken.Delay(); wait > 0 {
		taken.Cancel()
		return newProblem(http.StatusTooManyRequests, codeTooMany,
			fmt.Sprintf("more than %d events a second were sent", s.PerSecond),
			"wait for as long as Retry-After says; `rehearse replay import` loads many events").after(wait)
	}
	return nil
}

// add adds events and returns which were new. A failure of the store is temporary; refused means that the store cannot
// keep an event.
func (s *Events) add(ctx context.Context, events ...replay.Event) (added []bool, refused bool, err error) {
	within, cancel := context.WithTimeout(ctx, s.MaxTime)
	defer cancel()
	added, err = s.Store.Add(within, events)
	if err == nil {
		return added, false, nil
	}
	if no, ok := errors.AsType[interface {
		error
		Refused() bool
	}](err); ok && no.Refused() {
		return nil, true, err
	}
	if ctx.Err() == nil { // otherwise the client has gone
		s.Log.ErrorContext(ctx, "events were not kept", "events", len(events), "error", err)
	}
	return nil, false, newProblem(http.StatusServiceUnavailable, codeStoreFailed,
		"the store of events cannot be written to; the server's log says why",
		"send the same again later: what is there already is not added twice").after(5 * time.Second)
}
