package setup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"rehearse/internal/outbound"
)

// endpointTimeout bounds Endpoint: a server that is there lists its models at once.
const endpointTimeout = 3 * time.Second

// Endpoint asks an OpenAI-compatible endpoint for its models. lists is false of one that answers but has no list. Nothing is asked of a model.
func (s *shared) Endpoint(ctx context.Context, base, key string) (lists bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return false, fmt.Errorf("OPENAI_BASE_URL is no address: it should look like http://127.0.0.1:8089/v1")
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := s.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("%s does not answer: is the server running?", base)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // only so that the connection can be used again
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return false, nil
	}
	if redirect := outbound.Redirect(response); redirect != "" {
		return false, fmt.Errorf("%s answers GET /models with %s: %s, which is not followed", base, response.Status, redirect)
	}
	if response.StatusCode >= 400 {
		return false, fmt.Errorf("%s answers GET /models with %s", base, response.Status)
	}
	return true, nil
}
