package enrich

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnrichso(t *testing.T) {
	base, tr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != EnrichsoPath || r.Header.Get("Authorization") != "Bearer "+testKey {
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
	s, err := NewEnrichso(EnrichsoConfig{Key: testKey, URL: base, Transport: tr})
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
		got, err := s.Look(t.Context(), Visitor{IP: ip})
		if err != nil {
			t.Errorf("%s: %v", ip, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", ip, d)
		}
	}
}

func TestEnrichsoVersion3(t *testing.T) {
	base, tr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v3/lookup" || r.Header.Get("x-api-key") != testKey || r.Header.Get("Authorization") != "" {
			t.Errorf("%s, %v", r.URL.Path, r.Header)
		}
		reply(w, http.StatusOK, `{"success":true,"data":{"searchIp":"203.0.113.7","ipDomain":"acme.example","ipOrganization":"Acme",
			"ipCity":"Bonn"},"meta":{"city":7}}`)
	})
	s, err := NewEnrichso(EnrichsoConfig{
		Key: testKey, KeyHeader: "x-api-key", URL: base + "/api/v3", Path: "/lookup", Transport: tr, Fields: Fields{"tier": {"data.none", "meta.city"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Look(t.Context(), visitor)
	if d := cmp.Diff(Profile{Status: Completed, CompanyName: "Acme", CompanyDomain: "acme.example", Tier: "7"}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}
