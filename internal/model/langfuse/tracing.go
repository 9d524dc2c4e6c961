package langfuse

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// OpenTraces returns a context whose spans go to the collector that the environment names, without its secrets. Turns
// of visitors of chatbots go to the environment's Langfuse, too. sent sends what is left; Warn gets what could not be
// sent. No request is made before there is a span.
func OpenTraces(ctx context.Context, to telemetry.Options) (traced context.Context, sent func()) {
	getenv := func(name string) string {
		if to.LookupEnv == nil {
			return ""
		}
		value, _ := to.LookupEnv(name)
		return value
	}
	all := telemetry.OpenTraces(to)
	visitors := all
	if p, ok := traceResource(getenv); ok {
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

// traceResource returns where the environment's Langfuse takes traces. Errors of its variables are reported where a
// client is needed.
func traceResource(getenv func(string) string) (p telemetry.Resource, ok bool) {
	c, err := FromEnv(getenv)
	if err != nil || Disabled(getenv) {
		return p, false
	}
	host, err := url.Parse(cmp.Or(c.Host, CloudHost))
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
