package telemetry

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// httpPort is where collectors take OTLP over HTTP.
const httpPort = "4318"

// environment reads the standard variables
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/, …/specs/otel/configuration/sdk-environment-variables/).
type environment struct {
	lookup func(string) (string, bool)
	warn   func(string)
}

func (e environment) get(names ...string) (value, name string) {
	for _, name := range names {
		if value, _ := e.lookup(name); strings.TrimSpace(value) != "" {
			return strings.TrimSpace(value), name
		}
	}
	return "", ""
}

func (e environment) disabled() bool {
	text, _ := e.get("OTEL_SDK_DISABLED")
	return strings.EqualFold(text, "true")
}

// place returns where spans go; nil for nowhere.
func (e environment) place() *Resource {
	if e.disabled() {
		return nil
	}
	whole, name := e.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	text := whole
	if whole == "" {
		text, name = e.get("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if text == "" {
		return nil
	}
	to, err := url.Parse(text)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" { // the value may hold a password
		e.warn(name + " is not an http or https address, such as http://localhost:" + httpPort + ": no traces are sent")
		return nil
	}
	if whole == "" {
		to = to.JoinPath("v1/traces")
	}
	p := &Resource{URL: to}
	if p.Headers, err = e.headers(); err != nil {
		e.warn(err.Error() + ": no traces are sent")
		return nil
	}
	switch protocol, name := e.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
	default:
		e.warn(fmt.Sprintf(
			"%s=%s is not supported: traces are sent as http/protobuf to %s; collectors take that at port %s", name,
			protocol, p.shown(), httpPort))
	}
	return p
}

// headers reads KEY=VALUE,KEY=VALUE, percent-encoded as in the header baggage.
func (e environment) headers() ([][2]string, error) {
	text, name := e.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
	var headers [][2]string
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		key = strings.TrimSpace(key)
		if !ok || err != nil || !isToken(key) || strings.ContainsAny(decoded, "\r\n\x00") {
			return nil, fmt.Errorf("%s is not a list of KEY=VALUE pairs with percent-encoded values", name)
		}
		headers = append(headers, [2]string{key, decoded})
	}
	return headers, nil
}

// isToken reports whether a name can be that of a header.
func isToken(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", c) {
			return false
		}
	}
	return name != ""
}

func (e environment) sampler() sdk.Sampler {
	name, _ := e.get("OTEL_TRACES_SAMPLER")
	plain, parents := strings.CutPrefix(name, "parentbased_")
	var s sdk.Sampler
	switch plain {
	case "always_on":
		s = sdk.AlwaysSample()
	case "always_off":
		s = sdk.NeverSample()
	case "traceidratio":
		s = sdk.TraceIDRatioBased(e.share())
	default:
		if name != "" {
			e.warn("OTEL_TRACES_SAMPLER=" + name + " is unknown: every trace is kept")
		}
		return sdk.ParentBased(sdk.AlwaysSample())
	}
	if parents {
		return sdk.ParentBased(s)
	}
	return s
}

// share reads OTEL_TRACES_SAMPLER_ARG; everything is kept without one.
func (e environment) share() float64 {
	text, _ := e.get("OTEL_TRACES_SAMPLER_ARG")
	if text == "" {
		return 1
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= 1) { // also not a number
		e.warn("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1: every trace is kept")
		return 1
	}
	return share
}
