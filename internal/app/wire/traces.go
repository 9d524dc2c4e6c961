package wire

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Traces returns a context whose spans go to the collector that the environment of o names, without its secrets. Turns
// of visitors of chatbots go to the environment's Langfuse, too. sent sends what is left; Warn gets what could not be
// sent. No request is made before there is a span.
func Traces(ctx context.Context, o Options, version string) (traced context.Context, sent func()) {
	to := telemetry.Options{LookupEnv: o.LookupEnv, Version: version, Mask: o.Secrets.Text, Warn: o.Warn}
	all := telemetry.OpenTraces(to)
	visitors := all
	if p, ok := langfuseTraces((&shared{Options: o}).Getenv); ok {
		visitors = telemetry.OpenWith(to, p, all)
	}
	if all == nil && visitors == nil {
		return ctx, func() {}
	}
	return trace.With(ctx, all.Tracer(), visitors.Tracer()), func() {
		if visitors != all {
			visitors.Close()
		}
		all.Close()
	}
}

// langfuseTraces returns where the environment's Langfuse takes traces. What is wrong with its variables is told where
// a client is needed.
func langfuseTraces(getenv func(string) string) (p telemetry.Resource, ok bool) {
	c, err := langfuse.FromEnv(getenv)
	if err != nil || langfuse.Disabled(getenv) {
		return p, false
	}
	host, err := url.Parse(cmp.Or(c.Host, langfuse.CloudHost))
	if err != nil {
		return p, false
	}
	p.URL = host.JoinPath("api/public/otel/v1/traces")
	p.Headers = [][2]string{
		{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(c.PublicKey+":"+c.SecretKey))},
		{"X-Langfuse-Ingestion-Version", "4"}, // without, Langfuse 4 shows them ten minutes later
	}
	if c.Environment != "" {
		p.Resource = map[string]string{"langfuse.environment": c.Environment}
	}
	return p, true
}
