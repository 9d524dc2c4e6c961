package langfuse

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"time"
)

// Run is one evaluation of a dataset: a dataset run of Langfuse 3, an experiment of Langfuse 4.
type Run struct {
	// ID is the value for Score.RunID.
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Metadata    json.RawMessage `json:"metadata"`
	DatasetID   string          `json:"datasetId"`
	Dataset     string          `json:"datasetName"`
	CreatedAt   time.Time       `json:"createdAt"`
}

func (r Run) lacks() string { return lacking("id", r.ID, "name", r.Name) }
func (r Run) key() string   { return r.ID }

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

// AddRunItem adds an item to a run. The error is ErrNotFound for an item that does not exist or is archived. It is not retried when the
// connection breaks, since Langfuse would then show the item twice.
//
// Langfuse 4 accepts it and does nothing: there, the spans' Experiment makes the run, and Score.RunID is the experiment's ID.
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
	err = c.do(ctx, request{what: what, method: http.MethodPost, path: []string{"dataset-run-items"}, body: body}, &added)
	return added, err
}

// Runs yields the runs of a dataset, newest first, each once. An error ends the sequence; it is ErrNotFound for a dataset that does not
// exist.
func (c *Client) Runs(ctx context.Context, dataset string) iter.Seq2[Run, error] {
	r := request{
		what: "list the runs of the dataset " + quote(dataset), method: http.MethodGet, path: []string{"datasets", dataset, "runs"}, retry: true,
	}
	return func(yield func(Run, error) bool) {
		some := false
		for run, err := range pages[Run](ctx, c, r) {
			if gone(err) && !some {
				c.experiments(ctx, dataset)(yield)
				return
			}
			if some = true; !yield(run, err) {
				return
			}
		}
	}
}

// Run returns a run of a dataset with its items, or ErrNotFound.
func (c *Client) Run(ctx context.Context, dataset, name string) (Run, []RunItem, error) {
	what := "get the run " + quote(name) + " of the dataset " + quote(dataset)
	var found runWithItems
	err := c.do(ctx, request{what: what, method: http.MethodGet, path: []string{"datasets", dataset, "runs", name}, retry: true}, &found)
	if gone(err) {
		return c.experiment(ctx, dataset, name, err)
	}
	if err != nil {
		return Run{}, nil, err
	}
	return found.Run, *found.Items, nil
}

type runWithItems struct {
	Run
	Items *[]RunItem `json:"datasetRunItems"`
}

func (r *runWithItems) lacks() string {
	if missing := r.Run.lacks(); missing != "" {
		return missing
	}
	if r.Items == nil {
		return "datasetRunItems"
	}
	for _, i := range *r.Items {
		if missing := i.lacks(); missing != "" {
			return "datasetRunItems." + missing
		}
	}
	return ""
}

// DeleteRun deletes a run of a dataset; its traces stay. The error is ErrNotFound for a run that does not exist, and always on Langfuse 4,
// which cannot delete a run without its traces.
func (c *Client) DeleteRun(ctx context.Context, dataset, name string) error {
	return c.remove(ctx, request{
		what: "delete the run " + quote(name) + " of the dataset " + quote(dataset), path: []string{"datasets", dataset, "runs", name},
	})
}

// gone reports whether the thing or the whole endpoint does not exist. Langfuse 4 lacks some endpoints of Langfuse 3; it answers 404, or
// 410 in its cloud.
func gone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}
