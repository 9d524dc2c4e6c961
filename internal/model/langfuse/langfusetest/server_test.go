package langfusetest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v4"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCut checks the part of the published API that is shipped: that it is valid and small, and, when
// REHEARSE_LANGFUSE_OPENAPI names the whole document, that it is the same there.
func TestCut(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(langfusetest.Published)
	if err != nil {
		t.Fatal(err)
	}
	spec.Info.Version = "4" // Langfuse leaves it empty, which is not allowed
	if err := spec.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if size := len(langfusetest.Published); size > 150<<10 {
		t.Errorf("it has %d bytes", size)
	}
	file := os.Getenv("REHEARSE_LANGFUSE_OPENAPI")
	if file == "" {
		t.Log("REHEARSE_LANGFUSE_OPENAPI names no document to compare it with")
		return
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ours, published := sections(t, langfusetest.Published), sections(t, whole)
	for name, section := range ours {
		if len(section) == 0 {
			t.Errorf("%s is empty", name)
		}
		for key, value := range section {
			if d := cmp.Diff(published[name][key], value); d != "" {
				t.Errorf("%s %s is not as published: %s", name, key, d)
			}
		}
	}
}

// sections reads the paths and schemas of a document.
func sections(t *testing.T, data []byte) map[string]map[string]any {
	t.Helper()
	var document struct {
		Paths      map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return map[string]map[string]any{"path": document.Paths, "schema": document.Components.Schemas}
}

// recorder is a T that remembers what failed.
type recorder struct {
	*testing.T
	failed []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

// TestWrongRequests sends what a wrong client might send. Each has to fail the test.
func TestWrongRequests(t *testing.T) {
	const span = `{"traceId":"%s","spanId":"0123456789abcdef","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"2"}`
	const spans = `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span + `]}]}]}`
	late := strings.ReplaceAll(fmt.Sprintf(spans, strings.Repeat("a", 32)), `"1"`, `"now"`)
	for _, c := range []struct{ name, method, path, body, want string }{
		{"right", "POST", "/api/public/v2/datasets", `{"name":"d"}`, ""},
		{"no such path", "GET", "/api/public/datasets", ``, "the published API has no such call"},
		{"no such method", "PUT", "/api/public/v2/datasets", `{}`, "no such call"},
		{"a name that was not escaped", "GET", "/api/public/v2/datasets/a/b", ``, "no such call"},
		{"no body", "POST", "/api/public/v2/datasets", ``, "value is required"},
		{
			"a required key that is missing", "POST", "/api/public/dataset-items", `{"id":"x"}`,
			`/datasetName: property "datasetName" is missing`,
		},
		{"another type", "POST", "/api/public/v2/datasets", `{"name":7}`, "/name: value must be a string"},
		{
			"a wrong word", "POST", "/api/public/dataset-items", `{"datasetName":"d","status":"active"}`,
			"/status: value is not one of the allowed values",
		},
		{
			"a key that nobody knows", "POST", "/api/public/dataset-items", `{"datasetName":"d","expected_output":1}`,
			`there is no key "expected_output"`,
		},
		{
			"a parameter that nobody knows", "GET", "/api/public/dataset-items?dataset=d", ``,
			`there is no parameter "dataset"`,
		},
		{"a parameter of another type", "GET", "/api/public/v2/datasets?page=one", ``, "page"},
		{"no JSON", "POST", "/api/public/v2/datasets", `{`, "not as published"},
		{"a score of two values", "POST", "/api/public/scores", `{"name":"n","value":{"a":1}}`, "/value"},
		{
			"a span without header", "POST", "/api/public/otel/v1/traces", fmt.Sprintf(spans, strings.Repeat("a", 32)),
			"without the header",
		},
		{"a span of a wrong trace", "POST", "/api/public/otel/v1/traces", fmt.Sprintf(spans, "x"), "has a wrong id"},
		{"a span at a wrong time", "POST", "/api/public/otel/v1/traces", late, "no time in nanoseconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{T: t}
			s := langfusetest.New(r)
			request, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path,
				bytes.NewReader([]byte(c.body)))
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(langfusetest.PublicKey, langfusetest.SecretKey)
			request.Header.Set("Content-Type", "application/json")
			response, err := s.Transport().RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			failed := strings.Join(r.failed, "\n")
			if c.want == "" && failed != "" || c.want != "" && !strings.Contains(failed, c.want) {
				t.Errorf("failed with %q, want %q", failed, c.want)
			}
			if len(failed) > 2500 {
				t.Errorf("the failure has %d bytes", len(failed))
			}
		})
	}
}

// TestWrongAnswers has the server itself answer what Langfuse would not.
func TestWrongAnswers(t *testing.T) {
	r := &recorder{T: t}
	s := langfusetest.New(r)
	s.AddDataset("d")
	s.AddPrompt("p", 7, "production")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/public/v2/prompts/p", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(langfusetest.PublicKey, langfusetest.SecretKey)
	if _, err := s.Transport().RoundTrip(request); err != nil {
		t.Fatal(err)
	}
	if failed := strings.Join(r.failed, "\n"); !strings.Contains(failed, "the answer is not as published") {
		t.Errorf("failed with %q", failed)
	}
}
