package artifact

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

// Open returns the place that a name says: a folder, nats, or s3://BUCKET/PREFIX. Getenv finds the AWS_* variables,
// transport carries requests to S3.
func Open(name string, conn *natsconn.Conn, getenv func(string) string, transport http.RoundTripper) (Storage, error) {
	switch scheme, rest, ok := strings.Cut(name, "://"); {
	case name == "nats":
		return inNATS{conn.Artifacts()}, nil
	case ok && scheme == "s3":
		return openS3(rest, getenv, transport)
	case ok || name == "":
		return nil, source.Invalid("--artifacts %q: write a folder, nats, or s3://BUCKET/PREFIX", name)
	}
	return Folder{Dir: name}, nil
}

// inNATS keeps artifacts in NATS.
type inNATS struct{ *natsconn.Artifacts }

// Get returns the bytes.
func (n inNATS) Get(ctx context.Context, sha256 string) ([]byte, error) {
	data, err := n.Artifacts.Get(ctx, sha256)
	if errors.Is(err, natsconn.ErrNoArtifact) {
		return nil, ErrNone
	}
	return data, err
}
