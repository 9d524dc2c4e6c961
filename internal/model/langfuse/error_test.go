package langfuse_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

// TestRefusals has the server answer in every wrong way. No error may tell a key, or be longer than a line.
func TestRefusals(t *testing.T) {
	half := strings.Repeat("x", 290)
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
		is     error
	}{
		{
			"keys refused", 401, `{"message":"Invalid credentials."}`,
			"status 401: Invalid credentials.; check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, " +
				"and that they belong to LANGFUSE_HOST",
			langfuse.ErrUnauthorized,
		},
		{
			"not allowed", 403, `{"message":"Ingestion suspended"}`,
			"status 403: Ingestion suspended; check LANGFUSE_PUBLIC_KEY", langfuse.ErrUnauthorized,
		},
		{
			"absent", 404, `{"message":"Dataset not found","error":"LangfuseNotFoundError"}`,
			"status 404: Dataset not found", langfuse.ErrNotFound,
		},
		{
			"another server", 404, `<html><h1>Not Found</h1>`,
			"status 404: <html><h1>Not Found</h1>; this is no answer of Langfuse's API: check LANGFUSE_HOST",
			langfuse.ErrNotFound,
		},
		{
			"faults listed", 400, `{"message":"Invalid request data","error":[{"code":"x","path":["batch",0,"name"],"message":"Required"},{}]}`,
			"Invalid request data: batch.0.name: Required", nil,
		},
		{"only an error", 400, `{"error":"Invalid content type"}`, "status 400: Invalid content type", nil},
		{"odd message", 400, `{"message":{"a":[1]}}`, `status 400: {"a":[1]}`, nil},
		{"nothing", 405, ``, "status 405: it gave no reason", nil},
		{"too large", 413, `Body exceeded 4.5mb limit`, "Body exceeded 4.5mb limit; send less at once", nil},
		{
			"keys quoted", 400, `{"message":"bad ` + langfusetest.SecretKey + ` for ` + langfusetest.PublicKey + `"}`,
			"bad *** for ***", nil,
		},
		{"a key at the edge", 422, `{"message":"` + half + langfusetest.SecretKey + `"}`, half + "***", nil},
		{
			"a key torn by a control character", 422,
			`{"message":"` + langfusetest.SecretKey[:4] + `\u0007` + langfusetest.SecretKey[4:] + `"}`, "***", nil,
		},
		{"the whole header", 400, `cGstbGYtMDEyMzQ1Njc4OTpzay1sZi1hYmNkZWZnaGlq`, "***", nil},
		{"a terminal", 400, "{\"message\":\"a\\u001b[31m\\n\\nb\"}", "a[31m b", nil},
		{"a novel", 400, strings.Repeat("long ", 1e5), "long long", nil},
		{"redirect", 302, ``, "status 302: it gave no reason; it redirects: set LANGFUSE_HOST", nil},
		{"no JSON", 200, `<html>`, "the answer is not JSON: is LANGFUSE_HOST the address of a Langfuse?", nil},
		{"half of it", 200, `{"id":"x","name":`, "the answer broke off", nil},
		{"empty", 200, ``, "the answer is not JSON", nil},
		{"no name", 200, `{"id":"x","name":null}`, "the answer lacks name", nil},
		{"another type", 200, `{"id":1}`, "in the answer id is of a type that", nil},
		{"giant", 200, `{"id":"` + strings.Repeat("x", 17<<20) + `"}`, "the answer is larger than 16777216 bytes", nil},
		{"giant refusal", 500, strings.Repeat("x", 17<<20), "status 500: the answer is larger", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := answering(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/base/api/public/v2/datasets/d" {
					t.Errorf("asked %s", r.URL.Path)
				}
				w.Header().Set("Location", "http://169.254.169.254/")
				says(c.status, c.body)(w, r)
			})
			_, err := client.Dataset(t.Context(), "d")
			wants(t, err, c.want)
			wants(t, err, `langfuse http://langfuse.example: get the dataset "d": `)
			if e, ok := errors.AsType[*langfuse.Error](err); !ok || e.Attempts != 1 ||
				e.Status != c.status && c.status != 200 {
				t.Errorf("%+v", e)
			}
			for _, sentinel := range []error{langfuse.ErrNotFound, langfuse.ErrUnauthorized} {
				if errors.Is(err, sentinel) != errors.Is(c.is, sentinel) {
					t.Errorf("%v is %v: %t", err, sentinel, !errors.Is(c.is, sentinel))
				}
			}
		})
	}
}

// TestWrongKeys asks the fake with other keys.
func TestWrongKeys(t *testing.T) {
	s := langfusetest.New(t)
	client, err := langfuse.New(langfuse.Config{
		Host: s.URL, PublicKey: langfusetest.PublicKey, SecretKey: "sk-lf-wrong", Transport: s.Transport(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Item(t.Context(), "x"); !errors.Is(err, langfuse.ErrUnauthorized) {
		t.Error(err)
	}
	if h, err := client.Health(t.Context()); err != nil || h.Version != "3.150.0" || h.Status != "OK" {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestCutOff breaks answers off on a real connection.
func TestCutOff(t *testing.T) {
	s, _ := online(t)
	s.AddDataset("d")
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	client := connect(t, s, tr, langfuse.Config{Attempts: 1})
	s.Fail(langfusetest.Fault{Cut: true})
	wants(t, second(client.Dataset(t.Context(), "d")), "the answer broke off: unexpected EOF")
	if _, err := client.Dataset(t.Context(), "d"); err != nil {
		t.Error(err)
	}
}
