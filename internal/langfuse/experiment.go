package langfuse

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// since is the beginning of the period for which experiments are asked, which Langfuse 4 requires: a day before Langfuse existed.
const since = "2020-01-01T00:00:00Z"

// experiment is a run in the form of Langfuse 4.
type experiment struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Metadata    json.RawMessage `json:"metadata"`
	DatasetID   string          `json:"datasetId"`
	StartTime   time.Time       `json:"startTime"`
}

func (e experiment) lacks() string { return lacking("id", e.ID, "name", e.Name) }
func (e experiment) key() string   { return e.ID }

// experiments yields the runs of a dataset from Langfuse 4.
func (c *Client) experiments(ctx context.Context, dataset string) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		d, err := c.Dataset(ctx, dataset)
		if err != nil {
			yield(Run{}, err)
			return
		}
		for e, err := range stretches[experiment](ctx, c, request{
			what: "list the experiments with the dataset " + quote(dataset), method: http.MethodGet, path: []string{"experiments"}, retry: true,
			query: url.Values{"fromStartTime": {since}, "datasetId": {d.ID}, "fields": {"core,metadata"}},
		}) {
			run := Run{
				ID: e.ID, Name: e.Name, Description: e.Description, Metadata: e.Metadata,
				DatasetID: d.ID, Dataset: d.Name, CreatedAt: e.StartTime,
			}
			if err != nil {
				run = Run{}
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// experimentItem is a run item in the form of Langfuse 4.
type experimentItem struct {
	ID        string    `json:"id"`
	TraceID   string    `json:"traceId"`
	StartTime time.Time `json:"startTime"`
	RunID     string    `json:"experimentId"`
	Run       string    `json:"experimentName"`
	ItemID    string    `json:"experimentItemId"`
}

func (i experimentItem) lacks() string {
	return lacking("id", i.ID, "traceId", i.TraceID, "experimentId", i.RunID, "experimentItemId", i.ItemID)
}
func (i experimentItem) key() string { return i.ID }

// experiment returns the run with a name from Langfuse 4, the latest if there are several. If there is none, it returns the error absent.
func (c *Client) experiment(ctx context.Context, dataset, name string, absent error) (Run, []RunItem, error) {
	var found Run
	for run, err := range c.experiments(ctx, dataset) {
		switch {
		case gone(err): // Langfuse 3 has no experiments
			return Run{}, nil, absent
		case err != nil:
			return Run{}, nil, err
		case run.Name == name && !run.CreatedAt.Before(found.CreatedAt):
			found = run
		}
	}
	if found.ID == "" {
		return Run{}, nil, absent
	}
	items := []RunItem{}
	for i, err := range stretches[experimentItem](ctx, c, request{
		what: "list the items of the experiment " + quote(name), method: http.MethodGet, path: []string{"experiment-items"}, retry: true,
		query: url.Values{"fromStartTime": {since}, "experimentId": {found.ID}, "fields": {"core"}},
	}) {
		if err != nil {
			return Run{}, nil, err
		}
		items = append(items, RunItem{
			ID: i.ID, RunID: i.RunID, Run: i.Run, ItemID: i.ItemID, TraceID: i.TraceID, ObservationID: i.ID, CreatedAt: i.StartTime,
		})
	}
	return found, items, nil
}
