package enrich

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// presetAt returns a preset for another address.
func presetAt(c HTTPConfig, base string, tr http.RoundTripper) HTTPConfig {
	c.URL, c.Transport = base, tr
	return c
}

func TestSnitcher(t *testing.T) {
	const script = "8211/a"
	answers := map[string]func(http.ResponseWriter){
		"known": func(w http.ResponseWriter) {
			reply(w, http.StatusOK,
				`{"ip":"1.2.3.4","fuzzy":true,"domain":"snitcher.com","type":"business","company":{"name":"Snitcher",
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
		if r.Method != http.MethodPost ||
			r.URL.EscapedPath() != "/radar/operator/v1/tracking-scripts/8211%2Fa/company/find" ||
			r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s %s, %s", r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"))
		}
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body) != 1 {
			t.Errorf("%v, %v", body, err)
		}
		answers[body["session_uuid"]](w)
	})
	s, err := NewHTTP(presetAt(Snitcher(testKey, script), base, tr))
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]Profile{
		"known": {
			Status: Completed, CompanyName: "Snitcher", CompanyDomain: "snitcher.com",
			Sector: "Information Technology and Services", CompanyDescription: "Supports B2B teams",
		},
		"part": {Status: Partial, CompanyName: "Acme"},
		"isp":  {}, "queued": {}, "nobody": {}, "odd": {}, "": {}, strings.Repeat("x", 101): {},
	} {
		got, err := s.Lookup(t.Context(), Visitor{SessionID: session})
		if err != nil {
			t.Errorf("%s: %v", session, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", session, d)
		}
	}
}

func TestEnrichso(t *testing.T) {
	base, tr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/api/ip-to-company-lookup" ||
			r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s %s, %s", r.Method, r.URL.Path, r.Header.Get("Authorization"))
		}
		switch r.URL.Query().Get("ip") {
		case "203.0.113.7":
			reply(w, http.StatusOK, `{"success":true,"data":{"name":"Acme","domain":"acme.example","description":"Databases","type":"private",
				"category":{"sector":"Information Technology","industry":"Internet","subIndustry":"Databases"}}}`)
		case "203.0.113.8":
			reply(w, http.StatusOK, `{"error":true,"message":"No company record found for the given IP"}`)
		default:
			reply(w, http.StatusNotFound, `{}`)
		}
	})
	s, err := NewHTTP(presetAt(Enrichso(testKey), base, tr))
	if err != nil {
		t.Fatal(err)
	}
	for ip, want := range map[string]Profile{
		"::ffff:203.0.113.7": {
			Status: Completed, CompanyName: "Acme", CompanyDomain: "acme.example", CompanyDescription: "Databases",
			Sector: "Information Technology", SubSector: "Databases",
		},
		"203.0.113.8": {}, "203.0.113.9": {}, "10.0.0.1": {}, "x": {},
	} {
		got, err := s.Lookup(t.Context(), Visitor{IP: ip})
		if err != nil {
			t.Errorf("%s: %v", ip, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", ip, d)
		}
	}
}

// A preset can be changed: version 3 has another path, and takes the key in another header.
func TestEnrichsoVersion3(t *testing.T) {
	base, tr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v3/lookup" || r.Header.Get("x-api-key") != testKey ||
			r.Header.Get("Authorization") != "" {
			t.Errorf("%s, %v", r.URL.Path, r.Header)
		}
		reply(w, http.StatusOK,
			`{"success":true,"data":{"searchIp":"203.0.113.7","ipDomain":"acme.example","ipOrganization":"Acme",
			"ipCity":"Bonn"},"meta":{"city":7}}`)
	})
	c := presetAt(Enrichso(testKey), base+"/api/v3", tr)
	c.KeyHeader, c.Path, c.Fields["tier"] = "x-api-key", "/lookup", []string{"data.none", "meta.city"}
	s, err := NewHTTP(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Lookup(t.Context(), visitor)
	if d := cmp.Diff(Profile{
		Status: Completed, CompanyName: "Acme", CompanyDomain: "acme.example", Tier: "7",
	}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}
