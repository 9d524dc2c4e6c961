package enrich

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows is a PostgREST server with one table, as far as the adapter uses it.
type rows struct {
	t    *testing.T
	mu   sync.Mutex
	rows map[string]map[string]string // by ip_hash
}

func (r *rows) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Header.Get("apikey") != testKey || req.Header.Get("Authorization") != "Bearer "+testKey {
		reply(w, http.StatusUnauthorized, `{"message":"Invalid API key"}`)
		return
	}
	if req.URL.Path != "/rest/v1/visitor_profiles" {
		reply(w, http.StatusNotFound,
			`{"code":"PGRST205","message":"Could not find the table 'public.other' in the schema cache"}`)
		return
	}
	query := req.URL.Query()
	switch req.Method {
	case http.MethodGet:
		hash, ok := strings.CutPrefix(query.Get("ip_hash"), "eq.")
		if !ok || query.Get("limit") != "1" {
			r.t.Errorf("query %s", req.URL.RawQuery)
		}
		found := []map[string]string{}
		if row, ok := r.rows[hash]; ok {
			found = append(found, row)
		}
		data, _ := json.Marshal(found)
		reply(w, http.StatusOK, string(data))
	case http.MethodPost:
		if query.Get("on_conflict") != "ip_hash" ||
			req.Header.Get("Prefer") != "resolution=merge-duplicates,return=minimal" {
			r.t.Errorf("upsert %s, %q", req.URL.RawQuery, req.Header.Get("Prefer"))
		}
		var row map[string]string
		if err := json.NewDecoder(req.Body).Decode(&row); err != nil {
			r.t.Error(err)
		}
		hash := row["ip_hash"]
		if r.rows[hash] == nil {
			r.rows[hash] = map[string]string{}
		}
		maps.Copy(r.rows[hash], row)
		w.WriteHeader(http.StatusCreated)
	}
}

func TestSupabase(t *testing.T) {
	server := &rows{t: t, rows: map[string]map[string]string{}}
	base, tr := serve(t, server.ServeHTTP)
	s, err := NewSupabase(SupabaseConfig{
		URL: base + "/", Key: testKey, Salt: "salt", Transport: tr,
		Columns: map[string]string{"company_name": "name", "tier": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Lookup(t.Context(), visitor); err != nil || p.Status != "" {
		t.Errorf("an empty table: %v, %v", p, err)
	}
	found := Profile{
		Status: Completed, Source: "snitcher", Tier: "gold", CompanyName: "Acme", CompanyDomain: "acme.example",
		Email: "jo@acme.example", IPAddress: visitor.IP,
	}
	if err := s.Save(t.Context(), visitor, found); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), visitor, Profile{
		Status: Completed, Sector: "Software", CompanyName: "unknown",
	}); err != nil {
		t.Fatal(err)
	}
	hash := Hash("salt", visitor.IP)
	want := map[string]map[string]string{hash: {
		"ip_hash": hash, "status": "completed", "source": "snitcher", "name": "Acme", "company_domain": "acme.example",
		"sector": "Software",
	}}
	if d := cmp.Diff(want, server.rows); d != "" {
		t.Errorf("the table: %s", d)
	}
	p, err := s.Lookup(t.Context(), visitor)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(acmeFrom("snitcher"), p); d != "" {
		t.Error(d)
	}
	delete(server.rows[hash], "status") // a table that has no such column
	if p, err := s.Lookup(t.Context(), visitor); err != nil || p.Status != Completed {
		t.Errorf("without a status: %v, %v", p, err)
	}
	other, err := NewSupabase(SupabaseConfig{URL: base, Key: testKey, Salt: "salt", Table: "other", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Lookup(t.Context(), visitor); err == nil ||
		!strings.Contains(err.Error(), "status 404: Could not find the table") {
		t.Errorf("a table that is not there: %v", err)
	}
}
