package enrich

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnitcher(t *testing.T) {
	const script = "8211/a"
	answers := map[string]func(http.ResponseWriter){
		"known": func(w http.ResponseWriter) {
			reply(w, http.StatusOK, `{"ip":"1.2.3.4","fuzzy":true,"domain":"snitcher.com","type":"business","company":{"name":"Snitcher",
				"domain":"snitcher.com","industry":"Information Technology and Services","founded_year":"2015","annual_revenue":2000000,
				"total_funding":null,"description":"Supports\nB2B teams\u0007"}}`)
		},
		"isp": func(w http.ResponseWriter) {
			reply(w, http.StatusOK, `{"type":"isp","company":{"name":"Telco","domain":"telco.example"}}`)
		},
		"part":   func(w http.ResponseWriter) { reply(w, http.StatusOK, `{"company":{"name":"Acme","domain":null}}`) },
		"queued": func(w http.ResponseWriter) { reply(w, http.StatusAccepted, `{"status":202,"message":"Queued"}`) },
		"nobody": func(w http.ResponseWriter) { reply(w, http.StatusNotFound, `{"message":"Not found"}`) },
		"odd":    func(w http.ResponseWriter) { reply(w, http.StatusOK, `{"company":["x"]}`) },
	}
	base, tr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.EscapedPath() != "/radar/operator/v1/tracking-scripts/8211%2Fa/company/find" ||
			r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s %s, %s", r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"))
		}
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body) != 1 {
			t.Errorf("%v, %v", body, err)
		}
		answers[body["session_uuid"]](w)
	})
	s, err := NewSnitcher(SnitcherConfig{Key: testKey, Script: script, URL: base, Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]Profile{
		"known": {
			Status: Completed, CompanyName: "Snitcher", CompanyDomain: "snitcher.com", Sector: "Information Technology and Services",
			CompanyDescription: "Supports B2B teams",
		},
		"part": {Status: Partial, CompanyName: "Acme"},
		"isp":  {}, "queued": {}, "nobody": {}, "odd": {}, "": {}, strings.Repeat("x", 101): {},
	} {
		got, err := s.Look(t.Context(), Visitor{SessionID: session})
		if err != nil {
			t.Errorf("%s: %v", session, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", session, d)
		}
	}
}
