package langfusetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// isProtobuf reports whether a request brings spans as protobuf, which Langfuse takes besides JSON.
func isProtobuf(r *http.Request) bool {
	return r.Header.Get("Content-Type") == "application/x-protobuf" && strings.HasSuffix(r.URL.Path, "/otel/v1/traces")
}

// spansAsJSON returns the JSON of spans that came as protobuf, as the document describes it: ids in hex, the kinds of
// enumerations and the values of attributes as numbers.
func spansAsJSON(body []byte) ([]byte, error) {
	var sent collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &sent); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&sent)
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	var all object
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	for _, resource := range list(all["resourceSpans"]) {
		numbers(child(resource, "resource"))
		for _, scope := range list(resource["scopeSpans"]) {
			for _, span := range list(scope["spans"]) {
				numbers(span)
				for _, name := range []string{"traceId", "spanId", "parentSpanId"} {
					if id, ok := span[name].(string); ok {
						raw, err := base64.StdEncoding.DecodeString(id)
						if err != nil {
							return nil, fmt.Errorf("spans: %w", err)
						}
						span[name] = hex.EncodeToString(raw)
					}
				}
			}
		}
	}
	return json.Marshal(all)
}

// numbers makes numbers of the integers in attributes, which protobuf's JSON writes as texts.
func numbers(of object) {
	for _, a := range list(of["attributes"]) {
		if v := child(a, "value"); v["intValue"] != nil {
			v["intValue"] = json.Number(v["intValue"].(string))
		}
	}
}
