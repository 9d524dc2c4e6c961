package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// batchAnswer is the answer to many events.
type batchAnswer struct {
	// Added counts the new events, Known those that were there already, Rejected those that cannot be kept.
	Added    int `json:"added"`
	Known    int `json:"known"`
	Rejected int `json:"rejected"`
	// Results has an entry for each event, unless all were kept.
	Results []eventResult `json:"results,omitempty"`
}

// eventResult is the outcome of one event of a batch.
type eventResult struct {
	Index int    `json:"index"`
	ID    string `json:"event_id,omitempty"`
	// Status is the status that a request with this event alone would get: 201, 200 or 422.
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
}

// batch is POST /api/v1/events/batch: events in; 200 when all of them are kept, 207 when some cannot be.
func (s *Events) batch(w http.ResponseWriter, r *http.Request) error {
	items, err := readBatch(w, r)
	if err != nil {
		return err
	}
	if len(items) > maxBatchEvents {
		return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge,
			fmt.Sprintf("there are more than %d events in the batch", maxBatchEvents),
			"send them in several batches").at("")
	}
	if err := s.admit(len(items)); err != nil {
		return err
	}
	b := eventBatch{results: make([]eventResult, len(items))}
	err = limited(r.Context(), func() error {
		for i, item := range items {
			b.take(i, item)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.addBatch(r.Context(), &b); err != nil {
		return err
	}
	answer := b.answer()
	status := http.StatusOK
	if answer.Rejected > 0 {
		status = http.StatusMultiStatus
	}
	writeBody(w, status, "application/json", answer)
	return nil
}

// readBatch returns the events of a body as unread JSON. The body is a list, {"events": […]}, or lines.
func readBatch(w http.ResponseWriter, r *http.Request) ([]json.RawMessage, error) {
	const shorten = "send the events in several batches"
	if linesMedia(r.Header.Get("Content-Type")) {
		body, err := readUpTo(w, r, maxBatchMB, shorten)
		if err == nil {
			err = checkNodes(body, shorten)
		}
		return linesOf(body), err
	}
	body, err := readJSONUpTo(w, r, maxBatchMB, shorten)
	if err != nil {
		return nil, err
	}
	var whole struct {
		Events *batchItems `json:"events"`
	}
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		err = json.Unmarshal(text, &whole.Events)
	} else if err = json.Unmarshal(text, &whole); err == nil && whole.Events == nil {
		err = errors.New(`it has no "events"`)
	}
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, codeInvalid,
			"the body is not a batch of events: "+clip(err.Error(), maxDetail),
			`send [event, …], {"events": [event, …]}, or an event a line with Content-Type: application/x-ndjson`).
			at("")
	}
	return *whole.Events, nil
}

// batchItems is a list. It keeps at most one item more than a batch may have, which shows that it is too long.
type batchItems []json.RawMessage

// UnmarshalJSON reads a list.
func (b *batchItems) UnmarshalJSON(data []byte) error {
	*b = batchItems{}
	list := json.NewDecoder(bytes.NewReader(data))
	if start, err := list.Token(); err != nil || start != json.Delim('[') {
		return errors.New("the events are not a list")
	}
	for list.More() && len(*b) <= maxBatchEvents {
		var item json.RawMessage
		if err := list.Decode(&item); err != nil {
			return err
		}
		*b = append(*b, item)
	}
	return nil
}

// linesMedia reports whether a body is declared as JSON Lines.
func linesMedia(header string) bool {
	media, _, err := mime.ParseMediaType(header)
	switch strings.TrimPrefix(media, "application/") {
	case "x-ndjson", "ndjson", "jsonl", "x-jsonl", "jsonlines", "x-jsonlines", "json-lines":
		return err == nil
	}
	return false
}

// linesOf returns the lines that are not empty. It stops at one more than a batch may have.
func linesOf(body []byte) (lines []json.RawMessage) {
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
		if len(lines) > maxBatchEvents {
			break
		}
	}
	return lines
}

// eventBatch is a batch with the outcome of each event.
type eventBatch struct {
	results []eventResult
	// events are the events that can be kept, with their index in results.
	events []replay.Event
	at     []int
}

// take reads an event of the batch.
func (b *eventBatch) take(index int, item json.RawMessage) {
	e, err := readEvent(item)
	if err != nil {
		_ = json.Unmarshal(item, &b.results[index]) // for its ID, if it has one
		b.results[index] = eventResult{Index: index, ID: clip(b.results[index].ID, maxDetail)}
		b.reject(index, err.Error())
		return
	}
	b.results[index] = eventResult{Index: index, ID: e.ID}
	b.events, b.at = append(b.events, e), append(b.at, index)
}

func (b *eventBatch) reject(index int, reason string) {
	b.results[index].Status, b.results[index].Error = http.StatusUnprocessableEntity, clip(reason, maxDetail)
}

func (b *eventBatch) answer() batchAnswer {
	var a batchAnswer
	for _, r := range b.results {
		switch r.Status {
		case http.StatusCreated:
			a.Added++
		case http.StatusOK:
			a.Known++
		default:
			a.Rejected++
		}
	}
	if a.Rejected > 0 {
		a.Results = b.results
	}
	return a
}

// addBatch adds the events of a batch at once. If the store refuses them, it adds them one by one to find the one that
// cannot be kept.
func (s *Events) addBatch(ctx context.Context, b *eventBatch) error {
	if len(b.events) == 0 {
		return nil
	}
	added, refused, err := s.add(ctx, b.events...)
	if err != nil && !refused {
		return err
	}
	for i, index := range b.at {
		if !refused {
			b.results[index].Status = statusOfEvent(added[i])
			continue
		}
		one, alone, err := s.add(ctx, b.events[i])
		switch {
		case alone:
			s.Log.WarnContext(ctx, "the store refuses an event", "event", clean(b.events[i].ID), "error", err)
			b.reject(index, refusedEvent)
		case err != nil:
			return err
		default:
			b.results[index].Status = statusOfEvent(one[0])
		}
	}
	return nil
}
