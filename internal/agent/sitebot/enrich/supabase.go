package enrich

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// SupabaseConfig says where the table of companies is.
type SupabaseConfig struct {
	// URL is that of the project, such as https://abc.supabase.co, or of a PostgREST server with Path "/".
	URL string
	// Key is the service key; it is sent as apikey and as bearer token.
	Key string
	// Salt is that of Hash.
	Salt string
	// Path is where PostgREST is; "/rest/v1/" without.
	Path string
	// Table has a row for each address; "visitor_profiles" without. Its column ip_hash is unique and holds Hash; the
	// others are named like the fields of a Profile, but for email, job_to_be_done, feature_list, intent and
	// ip_address, which it need not have.
	Table string
	// Columns names columns that are called otherwise, by the JSON names of a Profile; "" for one that is not there.
	Columns map[string]string
	// Transport sends the requests; nil is that of outbound.Client.
	Transport http.RoundTripper
}

// Supabase is the source that looks visitors up in a table, by a salted hash of their address, and keeps companies
// there. It speaks the protocol of PostgREST (docs.postgrest.org, "Tables and Views", "Upsert"). It is safe for
// concurrent use.
type Supabase struct {
	service *service
	path    string
	salt    string
	columns map[string]string
}

// NewSupabase returns the source supabase.
func NewSupabase(c SupabaseConfig) (*Supabase, error) {
	s, err := newService("supabase", c.URL, c.Key, c.Transport)
	if err != nil {
		return nil, err
	}
	if c.Salt == "" {
		return nil, errNoSalt
	}
	s.header.Set("Apikey", c.Key)
	s.header.Set("Authorization", "Bearer "+c.Key)
	columns, err := columns(c.Columns)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(c.Path, "/rest/v1/") + url.PathEscape(cmp.Or(c.Table, "visitor_profiles"))
	return &Supabase{service: s, path: path, salt: c.Salt, columns: columns}, nil
}

// columns returns the column of each field that is kept.
func columns(named map[string]string) (map[string]string, error) {
	all := map[string]string{"status": "status"}
	for _, f := range new(Profile).companyTexts() {
		all[f.name] = f.name
	}
	for name, column := range named {
		if _, ok := all[name]; !ok {
			return nil, fmt.Errorf("supabase: columns: %q is not kept: write some of %s", name,
				strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		all[name] = column
	}
	return all, nil
}

// Lookup returns the row of the visitor's address.
func (s *Supabase) Lookup(ctx context.Context, v Visitor) (Profile, error) {
	hash := Hash(s.salt, v.IP)
	answer, err := s.service.call(ctx, request{
		method: http.MethodGet, path: s.path, private: []string{hash},
		query: url.Values{"ip_hash": {"eq." + hash}, "select": {"*"}, "limit": {"1"}},
	})
	if err != nil {
		return Profile{}, err
	}
	rows, ok := answer.([]any)
	switch {
	case !ok && answer != nil:
		return Profile{}, s.service.errorf("the answer is no list of rows: is the table right?")
	case len(rows) == 0:
		return Profile{}, nil
	}
	return s.read(rows[0]), nil
}

func (s *Supabase) read(row any) Profile {
	values, _ := row.(map[string]any)
	var p Profile
	for _, f := range p.companyTexts() {
		*f.text = plain(values[s.columns[f.name]])
	}
	p.Status = Status(plain(values[s.columns["status"]]))
	if p.Status.rank() < 0 { // a table without the column
		p.Status = p.assess()
	}
	return p
}

// Save inserts or updates the row of the visitor's address. Columns that the profile leaves empty stay as they are.
func (s *Supabase) Save(ctx context.Context, v Visitor, p Profile) error {
	hash := Hash(s.salt, v.IP)
	row := map[string]string{"ip_hash": hash}
	if column := s.columns["status"]; column != "" {
		row[column] = string(p.Status)
	}
	for _, f := range p.companyTexts() {
		if column := s.columns[f.name]; column != "" && known(*f.text) {
			row[column] = *f.text
		}
	}
	_, err := s.service.call(ctx, request{
		method: http.MethodPost, path: s.path, query: url.Values{"on_conflict": {"ip_hash"}}, body: row,
		private: []string{hash}, header: http.Header{"Prefer": {"resolution=merge-duplicates,return=minimal"}},
	})
	return err
}
