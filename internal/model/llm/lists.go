package llm

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Lists asks the address of a model which models it has, with the key; nothing is asked of a model. It is false of a
// server that answers but has no list. The error is an *Error or the context's.
func Lists(ctx context.Context, m config.Model, o Options) (bool, error) {
	e, err := newEndpoint(m, o)
	if err != nil {
		return false, err
	}
	res, err := e.open(ctx, call{method: http.MethodGet, requestPath: requestPath{path: e.vendor.list}, bare: true})
	if failed := (*Error)(nil); errors.As(err, &failed) {
		switch failed.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // only so that the connection can be used again
	_ = res.Body.Close()
	return true, nil
}
