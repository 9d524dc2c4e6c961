package langfuse

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"time"
)

// Dataset is a set of items.
type Dataset struct {
	ID string `json:"id"`
	// Name may contain slashes, which Langfuse shows as folders.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Metadata is any JSON; null or empty when there is none.
	Metadata  json.RawMessage `json:"metadata"`
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
}

func (d Dataset) lacks() string { return lacking("id", d.ID, "name", d.Name) }
func (d Dataset) key() string   { return d.ID }

// lacking returns the name of the first empty value. pairs alternates names and values.
func lacking(pairs ...string) string {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] == "" {
			return pair[0]
		}
	}
	return ""
}

// Dataset returns the dataset with a name, or ErrNotFound.
func (c *Client) Dataset(ctx context.Context, name string) (Dataset, error) {
	var d Dataset
	err := c.do(ctx, request{
		what: "get the dataset " + quote(name), method: http.MethodGet, path: []string{"v2", "datasets", name},
		retry: true,
	}, &d)
	return d, err
}

// Datasets yields all datasets of the project, each once, even if some are added or deleted meanwhile. An error ends
// the sequence.
func (c *Client) Datasets(ctx context.Context) iter.Seq2[Dataset, error] {
	return pages[Dataset](ctx, c, request{
		what: "list the datasets", method: http.MethodGet, path: []string{"v2", "datasets"}, retry: true,
	})
}

// CreateDataset creates a dataset with d's name, description and metadata, or updates the one with that name.
func (c *Client) CreateDataset(ctx context.Context, d Dataset) (Dataset, error) {
	what := "create the dataset " + quote(d.Name)
	body, err := c.encode(what, struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Metadata    json.RawMessage `json:"metadata,omitempty"`
	}{d.Name, d.Description, d.Metadata})
	if err != nil {
		return Dataset{}, err
	}
	if _, err := escape([]string{d.Name}); err != nil { // Langfuse could not return it
		return Dataset{}, c.invalid(what, "%s", err)
	}
	var created Dataset
	err = c.do(ctx, request{
		what: what, method: http.MethodPost, path: []string{"v2", "datasets"}, body: body, retry: true,
	}, &created)
	return created, err
}

// encode writes a body. It returns an error for a caller's JSON that is not valid.
func (c *Client) encode(what string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, c.invalid(what, "cannot be written as JSON: %s", clip(c.secrets.scrub(err.Error()), maxMessage))
	}
	return data, nil
}
