package remote_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestFetchReplay: a report counts only where the record of its run says the same, and a run without one never passes.
func TestFetchReplay(t *testing.T) {
	passed := `{"run": {"evaluation_run_id": "r"}, "gate": {"outcome": "passed", "exit_code": 0}}`
	failed := `{"run": {"evaluation_run_id": "r"}, "gate": {"outcome": "not_passed", "exit_code": 1}}`
	none := `{"type":"about:blank","title":"Not Found","status":404,"code":"not_found","detail":"no such file"}`
	for name, test := range map[string]struct {
		status int
		body   string
		run    client.Run
		// code is the exit code of a run without a report; -1 wants another error, 0 a report.
		code int
		says string
	}{
		"they agree":              {200, passed, client.Run{ExitCode: new(0)}, 0, ""},
		"both failed":             {200, failed, client.Run{ExitCode: new(1)}, 0, ""},
		"the record is greener":   {200, failed, client.Run{ExitCode: new(0)}, -1, "disagree"},
		"the report is greener":   {200, passed, client.Run{ExitCode: new(1)}, -1, "disagree"},
		"the record says nothing": {200, passed, client.Run{}, -1, "disagree"},
		"no JSON":                 {200, "passed", client.Run{ExitCode: new(0)}, -1, "read the report"},
		"none, and it passed": {
			404, none, client.Run{ExitCode: new(0), Status: "completed"}, result.ExitNotRun,
			"no report: it is completed",
		},
		"none, and it failed": {
			404, none, client.Run{ExitCode: new(1), Error: new("every lane failed")}, 1, "every lane failed",
		},
		"none, and no word": {404, none, client.Run{Status: "cancelled"}, result.ExitNotRun, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.status == http.StatusNotFound {
					w.Header().Set("Content-Type", "application/problem+json")
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			c, err := client.New(client.Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			test.run.ID = "r"
			report, err := remote.FetchReplay(t.Context(), c, test.run)
			without, is := errors.AsType[*remote.NoReportError](err)
			switch {
			case test.code == 0 && (err != nil || report.Run.ID != "r"):
				t.Errorf("%v", err)
			case test.code != 0 && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("%v, want %q", err, test.says)
			case test.code > 0 && (!is || without.Code != test.code), test.code < 0 && is:
				t.Errorf("%v (%T), want the exit code %d", err, err, test.code)
			}
		})
	}
}
