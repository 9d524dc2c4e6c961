package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

type threeWorkers struct{ noCrew }

func (threeWorkers) Workers(context.Context) ([]natsconn.Worker, error) {
	return []natsconn.Worker{{Name: "a"}, {Name: "b"}, {Name: "c"}}, nil
}

// Workers are listed in pages like everything else.
func TestWorkersPages(t *testing.T) {
	s := NewRuns(RunsConfig{Workers: threeWorkers{}})
	var seen []string
	for at := "/api/v1/workers?limit=2"; at != ""; {
		w := httptest.NewRecorder()
		s.table().handler().ServeHTTP(w, reading(at))
		var page store.Page[natsconn.Worker]
		if err := json.Unmarshal(w.Body.Bytes(), &page); w.Code != http.StatusOK || err != nil || len(seen) > 3 {
			t.Fatalf("%d %s, %v", w.Code, w.Body, err)
		}
		for _, one := range page.Items {
			seen = append(seen, one.Name)
		}
		if at = ""; page.Next != nil {
			at = "/api/v1/workers?limit=2&cursor=" + *page.Next
		}
	}
	if strings.Join(seen, "") != "abc" {
		t.Errorf("%v", seen)
	}
	for _, query := range []string{"limit=0", "limit=1001", "name=a", "cursor=zzz", "limit=1&limit=2"} {
		w := httptest.NewRecorder()
		s.table().handler().ServeHTTP(w, reading("/api/v1/workers?"+query))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// A key that cannot be kept is refused, by whoever takes one.
func TestLongKeysAreRefused(t *testing.T) {
	s := NewRuns(RunsConfig{})
	for at, body := range map[string]string{
		runsPath: `{"schema": 1, "suites": ["a"], "files": {"a": ""}}`, schedulesPath + "/nightly/run": "",
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, at, strings.NewReader(body))
		r.Header.Set("Idempotency-Key", strings.Repeat("k", store.MaxIdempotencyKey+1))
		s.table().handler().ServeHTTP(w,
			r.WithContext(access.With(r.Context(), access.Grant{Scopes: []access.Scope{access.Run}})))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), codeQuery) {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
}
