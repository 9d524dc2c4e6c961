package enrich

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVisits follows an address through every store: the first visit asks a service, the second the cache, and one
// after a restart the table.
func TestVisits(t *testing.T) {
	table := &rows{t: t, rows: map[string]map[string]string{}}
	tableURL, tr := serve(t, table.ServeHTTP)
	asked := 0
	serviceURL, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		reply(w, http.StatusOK, `{"data":{"name":"Acme","domain":"acme.example"}}`)
	})
	start := func() *Chain {
		cached, err := NewCached(&Memory{}, "salt")
		if err != nil {
			t.Fatal(err)
		}
		supabase, err := NewSupabase(SupabaseConfig{URL: tableURL, Key: testKey, Salt: "salt", Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		service, err := NewHTTP(presetAt(Enrichso(testKey), serviceURL, tr))
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewChain(Options{
			Sources: map[string]Source{"cache": cached, "supabase": supabase, "enrich_so": service},
			Failed:  func(source string, err error) { t.Errorf("%s: %v", source, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := Profile{Status: Completed, Source: "enrich_so", CompanyName: "Acme", CompanyDomain: "acme.example"}
	visit := func(c *Chain, tried ...string) {
		t.Helper()
		got, attempts := c.Find(t.Context(), visitor)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(tried, outcomes(attempts)); d != "" {
			t.Error(d)
		}
	}
	first := start()
	visit(first, "cache not_found", "supabase not_found", "enrich_so completed")
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	visit(first, "cache completed")
	visit(start(), "cache not_found", "supabase completed")
	if asked != 1 {
		t.Errorf("the service was asked %d times", asked)
	}
}
