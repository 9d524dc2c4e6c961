package siteconfig_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
)

const serviceKey = "eyJhbGciOi.service-key"

// postgrest is a fake of PostgREST with one table. It checks every request against the protocol.
type postgrest struct {
	t testing.TB
	// path is where the table is, schema the one that is asked for; most are the rows that it sends at once, 0 for any
	// number.
	path, schema string
	most         int

	mu    sync.Mutex
	rows  map[string]string
	pages int
	// answer replaces that of the table.
	answer http.HandlerFunc
}

// supabase starts a fake and returns how to reach it.
func supabase(t testing.TB, rows map[string]string) (*postgrest, siteconfig.Supabase) {
	fake := &postgrest{t: t, path: "/rest/v1/site_configs", rows: rows}
	server := httptest.NewServer(fake)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return fake, siteconfig.Supabase{URL: server.URL, Key: serviceKey, Transport: transport}
}

func (p *postgrest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages++
	p.check(r)
	if p.answer != nil {
		p.answer(w, r)
		return
	}
	after, filtered := strings.CutPrefix(r.URL.Query().Get("site"), "gt.")
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if p.most > 0 {
		limit = min(limit, p.most)
	}
	sent := []map[string]any{}
	for _, name := range sortedNames(p.rows) {
		if (!filtered || name > after) && len(sent) < limit {
			sent = append(sent, map[string]any{"site": name, "config": json.RawMessage(p.rows[name])})
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(sent)
}

func sortedNames(rows map[string]string) []string {
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *postgrest) check(r *http.Request) {
	query := r.URL.Query()
	for what, pair := range map[string][2]string{
		"method": {r.Method, http.MethodGet}, "path": {r.URL.Path, p.path},
		"Accept":         {r.Header.Get("Accept"), "application/json"},
		"apikey":         {r.Header.Get("apikey"), serviceKey},
		"Authorization":  {r.Header.Get("Authorization"), "Bearer " + serviceKey},
		"Accept-Profile": {r.Header.Get("Accept-Profile"), p.schema},
		"select":         {query.Get("select"), "site,config"}, "order": {query.Get("order"), "site.asc"},
		"limit": {query.Get("limit"), "100"},
	} {
		if pair[0] != pair[1] {
			p.t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}
	for name, values := range query {
		if len(values) != 1 || !slices.Contains([]string{"select", "order", "limit", "site"}, name) {
			p.t.Errorf("parameter %s=%q", name, values)
		}
	}
	if filter, ok := query["site"]; ok && !strings.HasPrefix(filter[0], "gt.") {
		p.t.Errorf("filter %q", filter)
	}
}
