package langfuse

import (
	"context"
	"net/http"
)

// Health is Langfuse's state as it reports it.
type Health struct {
	// Version is the server's, such as 3.150.0.
	Version string `json:"version"`
	Status  string `json:"status"`
}

func (h *Health) lacks() string { return lacking("version", h.Version) }

// Health asks whether Langfuse runs and reaches its database. It does not check the keys. An unhealthy answer is an error at once; only
// a failure to connect is retried.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.do(ctx, request{what: "ask for its health", method: http.MethodGet, path: []string{"health"}}, &h)
	return h, err
}
