package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"rehearse/internal/replay"
)

// EventLog keeps logged events. It is safe for concurrent use.
type EventLog interface {
	// Add adds events, all or none, and returns for each whether it was new: one whose id is known already changes nothing. An error whose
	// method Refused returns true says that the store is well and will not have one of them.
	Add(ctx context.Context, events []replay.Event) (added []bool, err error)
}

// EventsConfig is what a server of logged events works with. Only Store is needed.
type EventsConfig struct {
	Store EventLog
	// Log gets a line when the store fails, without what was said; nil discards it.
	Log *slog.Logger

	// MaxRequests is how many may be under way at once (16), PerSecond how many events are taken (5,000), with twice as many at a time.
	MaxRequests, PerSecond int
	// MaxTime is how long the store may take (10 s).
	MaxTime time.Duration
}

// Limits of requests with events, as docs/replay.md publishes them.
const (
	maxEventMB     = 1
	maxBatchMB     = 8
	maxBatchEvents = 1_000
)

// Events takes logged events of a running product: POST /api/v1/events one, POST /api/v1/events/batch many. It is safe for concurrent use.
// Stand it behind Front, which decides who may come in.
type Events struct {
	EventsConfig
	places gate
	rate   *rate.Limiter
	routes http.Handler
}

// NewEvents returns a server of logged events.
func NewEvents(c EventsConfig) *Events {
	c.Log = logOrDiscard(c.Log)
	c.MaxTime = cmp.Or(c.MaxTime, 10*time.Second)
	c.PerSecond = cmp.Or(c.PerSecond, 5_000)
	s := &Events{
		EventsConfig: c, places: make(gate, cmp.Or(c.MaxRequests, 16)),
		rate: rate.NewLimiter(rate.Limit(c.PerSecond), max(2*c.PerSecond, maxBatchEvents)),
	}
	s.routes = table{
		eventsPath:            {http.MethodPost: s.bounded(s.one)},
		eventsPath + "/batch": {http.MethodPost: s.bounded(s.batch)},
	}.handler()
	return s
}

const eventsPath = "/api/v1/events"

// Beside serves the paths of events, and leaves all others to next.
func (s *Events) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == eventsPath || r.URL.Path == eventsPath+"/batch" {
			s.routes.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// The codes of problems with events.
const (
	codeNoEvent     = "invalid_event"
	codeTooMany     = "too_many_requests"
	codeStoreFailed = "store_unavailable"
)

// bounded lets a bounded number of requests in, whose bodies then are in memory.
func (s *Events) bounded(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.places.enter() {
			writeProblem(w, newProblem(http.StatusTooManyRequests, codeTooMany, "too many requests with events are under way",
				"try again in a moment, and send many events as one batch").after(time.Second))
			return
		}
		defer s.places.leave()
		if err := handle(w, r); err != nil {
			writeProblem(w, problemOf(err))
		}
	}
}

// admit takes so many events from what may come in a second.
func (s *Events) admit(events int) error {
	taken := s.rate.ReserveN(time.Now(), events)
	if wait := taken.Delay(); wait > 0 {
		taken.Cancel()
		return newProblem(http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("more than %d events a second were sent", s.PerSecond),
			"wait for as long as Retry-After says; `rehearse replay import` loads many events").after(wait)
	}
	return nil
}

// add adds events and says what became of them. What the store fails at is a problem that passes; refused is one that will not.
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
	if ctx.Err() == nil { // else the client has gone
		s.Log.ErrorContext(ctx, "events were not kept", "events", len(events), "error", err)
	}
	return nil, false, newProblem(http.StatusServiceUnavailable, codeStoreFailed, "the store of events cannot be written to; the server's log says why",
		"send the same again later: what is there already is not added twice").after(5 * time.Second)
}
