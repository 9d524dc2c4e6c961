package enrich

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReveal(t *testing.T) {
	r, err := NewReveal(Fields{"feature_list": {"features"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, sent string
		want       Profile
		err        string
	}{
		{name: "nothing", sent: ``},
		{name: "null", sent: `null`},
		{
			name: "Clearbit", sent: `{"ip":"1.2.3.4","fuzzy":false,"domain":"acme.example","type":"company","confidenceScore":"high","company":
				{"name":"Acme","domain":"acme.example","category":{"sector":"IT","industry":"Internet"},"tags":["a"]}}`,
			want: Profile{
				Status: Completed, CompanyName: "Acme", CompanyDomain: "acme.example", Sector: "IT",
				SubSector: "Internet", SectorConfidence: "high",
			},
		},
		{name: "an internet provider", sent: `{"type":"ISP","company":{"name":"Telco","domain":"telco.example"}}`},
		{
			name: "a domain alone", sent: `{"domain":"acme.example","company":null}`,
			want: Profile{Status: Partial, CompanyDomain: "acme.example"},
		},
		{
			name: "our own names, and what a browser has no say in",
			sent: `{"company_name":"Acme","sector":"n/a","status":"completed","source":"cache","ip_address":"8.8.8.8",
				"email":"x@y.zz","features":["a",1,null,"a","none"]}`,
			want: Profile{Status: Partial, CompanyName: "Acme", FeatureList: []string{"a", "1"}},
		},
		{name: "hostile shapes", sent: `{"company":"x","domain":{"a":1},"company_name":[true],"sector":false}`},
		{
			name: "a text without end", sent: `{"company_name":"` + strings.Repeat("é", 5000) + `"}`,
			want: Profile{Status: Partial, CompanyName: strings.Repeat("é", longest)},
		},
		{name: "too much", sent: `"` + strings.Repeat("x", maxReveal) + `"`, err: "more than 64 KB"},
		{name: "no JSON", sent: `{`, err: "not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := r.Lookup(t.Context(), Visitor{Reveal: json.RawMessage(c.sent)})
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("got the error %v, want %q", err, c.err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
