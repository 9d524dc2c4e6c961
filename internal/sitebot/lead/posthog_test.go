package lead

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestPostHog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []map[string]any
		var deliveries log
		q := NewQueue(nil, deliveries.add)
		p, err := NewPostHog(q, "https://eu.i.posthog.com/", apiKey, wire(func(w http.ResponseWriter, r *http.Request) error {
			if r.Method != http.MethodPost || r.URL.String() != "https://eu.i.posthog.com/capture/" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if bodies = append(bodies, body); len(bodies) == 1 {
				w.WriteHeader(http.StatusBadGateway)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		c := capture("s1")
		for range 2 {
			if err := p.EmailCaptured(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		known := capture("s2")
		known.Person = "person-7"
		if err := p.EmailCaptured(known); err != nil {
			t.Fatal(err)
		}
		finish(t, q)
		if len(bodies) != 3 {
			t.Fatalf("%d requests", len(bodies))
		}
		ids := map[any]int{}
		for _, body := range bodies {
			ids[body["uuid"]]++
			if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(body["uuid"].(string)) {
				t.Errorf("uuid %v", body["uuid"])
			}
			delete(body, "uuid")
		}
		event := func(session, person string) map[string]any {
			return map[string]any{
				"api_key": apiKey, "event": "rw_email_captured", "distinct_id": person, "timestamp": "2026-01-02T03:04:05Z",
				"properties": map[string]any{"rw_capture_context": "in_chat_booking", "site_name": "acme.example", "session_id": session},
			}
		}
		// The second request is either the first one's repetition or the other session's event.
		if d := cmp.Diff(event("s1", "s1"), bodies[0]); d != "" {
			t.Error(d)
		}
		if len(ids) != 2 {
			t.Errorf("uuids %v", ids)
		}
		for _, body := range bodies[1:] {
			if !cmp.Equal(body, event("s1", "s1")) && !cmp.Equal(body, event("s2", "person-7")) {
				t.Errorf("got %v", body)
			}
		}
	})
}
