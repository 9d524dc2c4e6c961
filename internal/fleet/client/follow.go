package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/sse"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Event is news of a run: one of its fields is set.
type Event struct {
	// Status is the run at a change of its status.
	Status *Run
	// Result is a result that was stored.
	Result *Result
	// Progress says how far the run is.
	Progress *Progress
}

// Result is a stored result in short.
type Result struct {
	Suite   string         `json:"suite"`
	TestID  string         `json:"test_id"`
	Target  string         `json:"target"`
	Trial   int            `json:"trial"`
	Verdict result.Verdict `json:"verdict"`
}

// Progress counts conversations.
type Progress struct {
	Conversations *int `json:"conversations"`
	Done          int  `json:"done"`
	Running       int  `json:"running"`
}

const (
	// maxEvent is the largest event, in bytes.
	maxEvent = 16 << 20
	// silence is how long nothing may come before a connection counts as lost: a server sends a comment every 15 s.
	silence = time.Minute
)

// mostFruitless is how many streams may break off one after the other without an event, before the run itself is asked
// whether it has ended.
const mostFruitless = 3

// over reports whether a run of a status goes on no more.
func over(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled" || status == "partial"
}

// errLost says that a stream ended before the run did.
var errLost = errors.New("the stream of events broke off")

// Follow tells of everything that happens to a run until its end, and returns the run as it ended. Each result is told
// of once. A lost connection is taken up again, until ctx ends.
func (c *Client) Follow(ctx context.Context, id string, tell func(Event)) (Run, error) {
	last, lost, fruitless := "", false, 0
	for {
		before := last
		ended, _, err := retry.Do(ctx, c.patient(), func(ctx context.Context) (*Run, error) {
			ended, err := c.events(ctx, id, &last, tell)
			if err != nil && transient(err) && ctx.Err() == nil && !lost {
				lost = true
				c.Note(fmt.Sprintf("the connection to the server is lost (%v); run %s goes on there; trying again", err,
					id))
			}
			switch {
			case !errors.Is(err, errLost):
				fruitless = 0
			case last != before:
				fruitless = 0
				return nil, nil // it was up in between: begin with short waits
			default:
				fruitless++
			}
			if fruitless >= mostFruitless {
				if run, asked := c.Show(ctx, id); asked == nil && over(run.Status) {
					return &run, nil
				}
			}
			return ended, err
		})
		if err != nil {
			return Run{}, fmt.Errorf("follow run %s: %w", id, err)
		}
		if ended != nil {
			return *ended, nil
		}
		lost = false
	}
}

// events reads the events of a run behind the last one, and keeps last up to date. It returns the run when it has
// ended.
func (c *Client) events(ctx context.Context, id string, last *string, tell func(Event)) (*Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	header := map[string]string{"Cache-Control": "no-store"}
	if *last != "" {
		header["Last-Event-ID"] = *last
	}
	answer, err := c.send(ctx, call{
		method: http.MethodGet, path: pathOf(id) + "/events", accept: "text/event-stream", header: header,
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	for e, err := range sse.SSE(&received{answer.Body, silent}, maxEvent) {
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errLost, err)
		}
		if e.Unended { // it may have been cut
			break
		}
		ended, err := dispatch(e, tell)
		if err != nil {
			return nil, &RefusedError{
				Status: answer.StatusCode, Detail: fmt.Sprintf("an event cannot be read: %v", err),
			}
		}
		if e.ID != "" {
			*last = e.ID
		}
		if ended != nil {
			return ended, nil
		}
	}
	return nil, errLost
}

// dispatch passes an event on. It returns the run of the last event.
func dispatch(e sse.Event, tell func(Event)) (ended *Run, err error) {
	switch e.Name {
	case "end", "status":
		run, err := readRun(e.Data)
		if err != nil {
			return nil, err
		}
		if e.Name == "end" {
			return &run, nil
		}
		tell(Event{Status: &run})
	case "result":
		r := &Result{}
		if err := json.Unmarshal(e.Data, r); err != nil {
			return nil, err
		}
		tell(Event{Result: r})
	case "progress":
		p := &Progress{}
		if err := json.Unmarshal(e.Data, p); err != nil {
			return nil, err
		}
		tell(Event{Progress: p})
	}
	return nil, nil
}

// received reads a stream and puts the end of a silence off.
type received struct {
	from   io.Reader
	silent *time.Timer
}

func (h *received) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.silent.Reset(silence)
	}
	return n, err
}
