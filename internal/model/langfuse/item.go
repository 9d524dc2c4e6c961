package langfuse

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Status says whether an item takes part in runs.
type Status string

// The statuses.
const (
	Active   Status = "ACTIVE"
	Archived Status = "ARCHIVED"
)

// Item is one case of a dataset. JSON fields are as they were written; null or empty when there is none.
type Item struct {
	// ID is unique in the project, not only in the dataset, and has at most 255 characters.
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Dataset is the dataset's name. DatasetID is its ID, which is set in answers only.
	Dataset        string          `json:"datasetName"`
	DatasetID      string          `json:"datasetId"`
	Input          json.RawMessage `json:"input"`
	ExpectedOutput json.RawMessage `json:"expectedOutput"`
	Metadata       json.RawMessage `json:"metadata"`
	// SourceTraceID is the trace from which the item was made; it may be empty.
	SourceTraceID string    `json:"sourceTraceId"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
}

func (i Item) lacks() string {
	return lacking("id", i.ID, "status", string(i.Status), "datasetName", i.Dataset)
}
func (i Item) key() string { return i.ID }

// ItemsOptions select the items that Items yields.
type ItemsOptions struct {
	// Archived includes archived items.
	Archived bool
	// At is the time whose items are wanted; the zero time means the present. A Langfuse too old to support it yields
	// the present.
	At time.Time
}

// Items yields the items of a dataset, newest first, each once, also while others add and delete items (see pages). An
// error ends the sequence; it is ErrNotFound for a dataset that does not exist.
func (c *Client) Items(ctx context.Context, dataset string, o ItemsOptions) iter.Seq2[Item, error] {
	r := request{
		what: "list the items of the dataset " + quote(dataset), method: http.MethodGet,
		path: []string{"dataset-items"}, retry: true, query: url.Values{"datasetName": {dataset}},
	}
	if !o.At.IsZero() {
		r.query.Set("version", o.At.UTC().Format(time.RFC3339Nano))
	}
	return func(yield func(Item, error) bool) {
		if dataset == "" { // without a name, Langfuse would list the whole project
			yield(Item{}, c.invalid(r.what, "no dataset is named"))
			return
		}
		for item, err := range pages[Item](ctx, c, r) {
			if err == nil && item.Status != Active && !o.Archived {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// Item returns the item with an ID, or ErrNotFound.
func (c *Client) Item(ctx context.Context, id string) (Item, error) {
	var item Item
	err := c.do(ctx, request{
		what: "get the item " + quote(id), method: http.MethodGet, path: []string{"dataset-items", id}, retry: true,
	}, &item)
	return item, err
}

// PutItem creates the item item.ID in the dataset item.Dataset, or updates it. Empty fields leave an existing item's
// values. The error is ErrNotFound when the dataset does not exist or another dataset has the ID.
func (c *Client) PutItem(ctx context.Context, item Item) (Item, error) {
	what := "put the item " + quote(item.ID)
	if item.ID == "" || len(item.ID) > 255 || item.Dataset == "" {
		return Item{}, c.invalid(what, "an item needs a dataset and an id of 1 to 255 bytes")
	}
	body, err := c.encode(what, struct {
		Dataset        string          `json:"datasetName"`
		ID             string          `json:"id"`
		Input          json.RawMessage `json:"input,omitempty"`
		ExpectedOutput json.RawMessage `json:"expectedOutput,omitempty"`
		Metadata       json.RawMessage `json:"metadata,omitempty"`
		SourceTraceID  string          `json:"sourceTraceId,omitempty"`
		Status         Status          `json:"status,omitempty"`
	}{item.Dataset, item.ID, item.Input, item.ExpectedOutput, item.Metadata, item.SourceTraceID, item.Status})
	if err != nil {
		return Item{}, err
	}
	var put Item
	err = c.do(ctx, request{
		what: what, method: http.MethodPost, path: []string{"dataset-items"}, body: body, retry: true,
	}, &put)
	return put, err
}

// PutItems puts items one after the other and continues after a failure. Unless all are put, the error is a *PushError
// with the outcome of each item by ID.
func (c *Client) PutItems(ctx context.Context, items []Item) error {
	return push("dataset items", parcels(items, Item.key, func(item Item) error {
		_, err := c.PutItem(ctx, item)
		return err
	}))
}

// DeleteItem deletes the item with an ID, and its parts in runs. The error is ErrNotFound for an item that does not
// exist.
func (c *Client) DeleteItem(ctx context.Context, id string) error {
	return c.remove(ctx, request{what: "delete the item " + quote(id), path: []string{"dataset-items", id}})
}

// DeleteItems deletes items one after the other and continues after a failure. An item that does not exist is not a
// failure. Unless all are gone, the error is a *PushError with the outcome of each item by ID.
func (c *Client) DeleteItems(ctx context.Context, ids []string) error {
	return push("deletions", parcels(ids, func(id string) string { return id }, func(id string) error {
		err := c.DeleteItem(ctx, id)
		if Absent(err) {
			return nil
		}
		return err
	}))
}

// CountItems returns the number of items of a dataset, archived ones included, by one request. The error is ErrNotFound
// when there is no such dataset.
func (c *Client) CountItems(ctx context.Context, dataset string) (int, error) {
	r := request{
		what:   "count the items of the dataset " + quote(dataset),
		method: http.MethodGet, path: []string{"dataset-items"}, retry: true,
		query: url.Values{"datasetName": {dataset}, "page": {"1"}, "limit": {"1"}},
	}
	if dataset == "" { // without a name, Langfuse would count the whole project
		return 0, c.invalid(r.what, "no dataset is named")
	}
	var p page[Item]
	if err := c.do(ctx, r, &p); err != nil {
		return 0, err
	}
	return *p.Meta.TotalItems, nil
}

// remove sends the request of a deletion. When a later attempt finds nothing, an earlier one has deleted the thing and
// its answer was lost.
func (c *Client) remove(ctx context.Context, r request) error {
	r.method, r.retry = http.MethodDelete, true
	err := c.do(ctx, r, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Attempts > 1 && errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
