package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

const (
	// eventsPoll is the time between two looks for events, eventsBeat that between two comments.
	eventsPoll, eventsBeat = 250 * time.Millisecond, 15 * time.Second
	// eventsAtOnce is how many events are read at once.
	eventsAtOnce = 500
)

// events plays the events of a run from the store, and goes on until its end.
func (s *Runs) events(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("run_id")
	after, err := lastEvent(r)
	if err != nil {
		return err
	}
	if _, err := s.Store.Run(r.Context(), id); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	turns, quiet := s.turns(id)
	defer quiet()
	out, beat, told, ended := http.NewResponseController(w), time.Now(), time.Time{}, false
	write := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails for a recorder in a test
		_, err := w.Write([]byte(text))
		return err == nil && out.Flush() == nil
	}
	look := time.NewTicker(eventsPoll)
	defer look.Stop()
	for {
		found, err := s.Store.RunEvents(r.Context(), id, after, eventsAtOnce)
		if err != nil {
			panic(http.ErrAbortHandler) // the client comes back with the last id
		}
		for _, e := range found {
			if !write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, e.Data)) {
				return nil
			}
			if after = e.ID; e.Kind == store.EventEnd {
				return nil
			}
		}
		if len(found) == eventsAtOnce {
			continue
		}
		if ended { // the client has had the end already
			return nil
		}
		if time.Since(told) >= time.Second {
			told = time.Now()
			run, err := s.Store.Run(r.Context(), id)
			if err == nil && run.Status == store.RunRunning &&
				!write("event: progress\ndata: "+progressOf(run)+"\n\n") {
				return nil
			}
			if ended = err == nil && run.Status.Ended(); ended {
				continue // its last events may be new
			}
		}
		if time.Since(beat) >= eventsBeat {
			beat = time.Now()
			if !write(": still here\n\n") {
				return nil
			}
		}
		for waiting := true; waiting; {
			select {
			case <-look.C:
				waiting = false
			case turn := <-turns:
				if !write("event: turn\ndata: " + turn + "\n\n") {
					return nil
				}
			case <-s.ended:
				return nil
			case <-r.Context().Done():
				return nil
			}
		}
	}
}

// progressOf returns how far a run is. Its totals are what the store counts.
func progressOf(run store.Run) string {
	n := run.Counts
	completed := n.Passed + n.Failed + n.Errors + n.Ungraded
	data, _ := json.Marshal(map[string]any{ // numbers
		"conversations": run.Progress.Conversations, "done": run.Progress.Done, "running": run.Progress.Running,
		"totals": map[string]int{
			"tests": completed + n.Skipped, "completed": completed, "passed": n.Passed, "failed": n.Failed,
			"errors": n.Errors, "ungraded": n.Ungraded, "skipped": n.Skipped,
		},
	})
	return string(data)
}

// turnsKept is how many turns wait for a client. It misses those behind them.
const turnsKept = 256

// turns returns the turns of a run as they are answered from now on, until quiet is called.
func (s *Runs) turns(id string) (turns <-chan string, quiet func()) {
	out := make(chan string, turnsKept)
	quiet, err := s.Workers.Notices(id, func(n natsconn.Notice) {
		if n.Turn == 0 { // the conversation has begun
			return
		}
		data, err := json.Marshal(map[string]any{
			"suite": n.Key.Suite, "test_id": n.Key.TestID, "target": wire.Shown(n.Key.Target), "trial": n.Key.Trial,
			"turn": n.Turn, "of": n.Of,
		})
		if err != nil {
			return
		}
		select {
		case out <- string(data):
		default: // nothing rests on it
		}
	})
	if err != nil {
		s.Log.Warn("turns of a run cannot be told", "run_id", id, "error", err)
		return out, func() {}
	}
	return out, quiet
}

// lastEvent reads after which event a stream begins.
func lastEvent(r *http.Request) (int64, error) {
	written := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if written == "" {
		written = r.URL.Query().Get("last_event_id")
	}
	if written == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(written, 10, 64)
	if err != nil || after < 0 {
		return 0, newProblem(http.StatusBadRequest, codeQuery, "the id of the last event cannot be read",
			"send the id as it came")
	}
	return after, nil
}
