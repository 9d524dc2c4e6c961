package setup

import (
	"context"

	"rehearse/internal/telemetry"
)

// Traces returns a context whose spans go to the collector that the environment of o names, without its secrets. sent sends what is left of them;
// Warn is told of what could not be sent. Without a collector the context is ctx, and nothing is opened.
func Traces(ctx context.Context, o Options, version string) (traced context.Context, sent func()) {
	t := telemetry.OpenTraces(telemetry.Options{LookupEnv: o.LookupEnv, Version: version, Mask: o.Secrets.Text, Warn: o.Warn})
	return t.Into(ctx), t.Close
}
