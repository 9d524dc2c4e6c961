package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/rehearse-dev/rehearse/internal/web/api"
	"github.com/rehearse-dev/rehearse/internal/web/api/apitest"
)

// TestDocument: every route is documented, and other programs can read the document.
func TestDocument(t *testing.T) {
	whole, err := api.FullDocument("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	read, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if read.OpenAPI != "3.1.0" || read.Paths.Find("/api/v1/runs/{run_id}/results").Get == nil ||
		read.Paths.Find("/execute").Post == nil {
		t.Errorf("%.300s", data)
	}
	ids := map[string]bool{}
	for path, item := range read.Paths.Map() {
		for method, o := range item.Operations() {
			if ids[o.OperationID] {
				t.Errorf("two operations are called %s", o.OperationID)
			}
			ids[o.OperationID] = true
			if o.Summary == "" || o.Responses.Len() < 2 {
				t.Errorf("%s %s says too little", method, path)
			}
		}
	}
}

// TestAnswersAreHeldToTheDocument: the check that scripts use sees what is wrong with an answer.
func TestAnswersAreHeldToTheDocument(t *testing.T) {
	answers, err := apitest.New()
	if err != nil {
		t.Fatal(err)
	}
	run := `{"id": "a", "schema": 1, "kind": "suite", "name": "", "status": "queued", "labels": {}, "schedule": null, "fingerprint": "", "suites": [],
		"targets": [], "created_at": "2026-01-31T12:00:00Z", "started_at": null, "ended_at": null, "progress": {"conversations": 3, "done": 0, "running": 0},
		"totals": null, "pass_rate": null, "pass_rate_bounds": null, "pass_rate_interval": null, "exit_reason": null, "exit_code": null, "error": null}`
	problem := `{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no", "code": "not_found"}`
	for name, c := range map[string]struct {
		method, path, media, body string
		status                    int
		wrong                     string
	}{
		"a run": {"GET", "/api/v1/runs/a", "application/json", run, 200, ""},
		"a page": {
			"GET", "/api/v1/runs", "application/json", `{"items": [` + run + `], "next_cursor": null}`, 200, "",
		},
		"a problem": {"GET", "/nowhere", "application/problem+json", problem, 404, ""},
		"nothing":   {"DELETE", "/api/v1/runs/a", "", "", 204, ""},
		"a member too few": {
			"GET", "/api/v1/runs/a", "application/json", strings.Replace(run, `"kind": "suite", `, "", 1), 200, "kind",
		},
		"a member too many": {
			"GET", "/api/v1/runs/a", "application/json", strings.Replace(run, `{`, `{"odd": 1, `, 1), 200, "odd",
		},
		"another type": {
			"GET", "/api/v1/runs/a", "application/json", strings.Replace(run, `"done": 0`, `"done": "0"`, 1), 200,
			"done",
		},
		"no time": {
			"GET", "/api/v1/runs/a", "application/json", strings.Replace(run, "2026-01-31T12:00:00Z", "yesterday", 1),
			200, "created_at",
		},
		"another status":     {"GET", "/api/v1/runs/a", "application/json", run, 201, "201"},
		"another media type": {"GET", "/api/v1/runs/a", "text/html", run, 200, "text/html"},
		"nowhere":            {"GET", "/nowhere", "application/json", "{}", 200, "not in the document"},
		"no problem":         {"GET", "/api/v1/runs/a", "application/problem+json", `{"title": "x"}`, 404, "code"},
		"events":             {"GET", "/api/v1/runs/a/events", "text/event-stream", "id: 1", 200, ""},
		"a file":             {"GET", "/api/v1/runs/a/report.md", "text/markdown", "# x", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if c.media != "" {
				header.Set("Content-Type", c.media)
			}
			err := answers.Check(c.method, c.path, c.status, header, []byte(c.body))
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
		})
	}
}
