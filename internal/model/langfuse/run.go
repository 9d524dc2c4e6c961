package langfuse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// RunItem links an item with the trace of its part in a run.
type RunItem struct {
	ID      string `json:"id"`
	RunID   string `json:"datasetRunId"`
	Run     string `json:"datasetRunName"`
	ItemID  string `json:"datasetItemId"`
	TraceID string `json:"traceId"`
	// ObservationID is the span that the link points to; it may be empty for the whole trace.
	ObservationID string    `json:"observationId"`
	CreatedAt     time.Time `json:"createdAt"`
}

func (i RunItem) lacks() string {
	return lacking("id", i.ID, "datasetRunId", i.RunID, "datasetItemId", i.ItemID, "traceId", i.TraceID)
}

// NewRunItem is the argument of AddRunItem. Run, ItemID and TraceID are required.
type NewRunItem struct {
	// Run is the run's name; the first item with a name creates the run.
	Run           string
	Description   string
	Metadata      json.RawMessage
	ItemID        string
	TraceID       string
	ObservationID string
}

// AddRunItem adds an item to a run. The error is ErrNotFound for an item that does not exist or is archived. It is not
// retried when the connection breaks, since Langfuse would then show the item twice.
//
// Langfuse 4 accepts it and does nothing: there, the spans' Experiment makes the run, and Score.RunID is the
// experiment's ID.
func (c *Client) AddRunItem(ctx context.Context, i NewRunItem) (RunItem, error) {
	what := "add the item " + quote(i.ItemID) + " to the run " + quote(i.Run)
	if missing := lacking("run", i.Run, "item", i.ItemID, "trace", i.TraceID); missing != "" {
		return RunItem{}, c.invalid(what, "it has no %s", missing)
	}
	body, err := c.encode(what, struct {
		Run           string          `json:"runName"`
		Description   string          `json:"runDescription,omitempty"`
		Metadata      json.RawMessage `json:"metadata,omitempty"`
		ItemID        string          `json:"datasetItemId"`
		TraceID       string          `json:"traceId"`
		ObservationID string          `json:"observationId,omitempty"`
	}(i))
	if err != nil {
		return RunItem{}, err
	}
	var added RunItem
	err = c.do(ctx, request{
		what: what, method: http.MethodPost, path: []string{"dataset-run-items"}, body: body,
	}, &added)
	return added, err
}

// gone reports whether the thing or the whole endpoint does not exist. Langfuse 4 lacks some endpoints of Langfuse 3;
// it answers 404, or 410 in its cloud.
func gone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}
