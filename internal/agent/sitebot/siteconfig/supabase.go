package siteconfig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Supabase is a table of sites behind PostgREST (docs.postgrest.org, "Tables and Views"), as Supabase serves it.
type Supabase struct {
	// URL is that of the project, such as https://abc.supabase.co, or of a PostgREST server with Path "/".
	URL string
	// Key is the service key; it is sent as apikey and as bearer token.
	Key string
	// Path is where PostgREST is; "/rest/v1/" without.
	Path string
	// Table is the name of the table, perhaps SCHEMA.TABLE; DefaultTable without.
	Table string
	// Transport sends the requests; nil is that of outbound.Client.
	Transport http.RoundTripper
}

// pageRows are asked for at once. The server may send fewer: its own limit is not known.
const pageRows = 100

// String says where the table is, without the key.
func (s Supabase) String() string {
	c, err := s.client()
	if err != nil {
		return "supabase"
	}
	return c.where
}

// Load reads all sites.
func (s Supabase) Load(ctx context.Context) (*site.Library, error) {
	c, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return c.library()
}

func (s Supabase) read(ctx context.Context) (*collection, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	all := &collection{where: client.where, table: cmp.Or(s.Table, DefaultTable)}
	for last := ""; ; {
		rows, err := client.page(ctx, last)
		if err != nil || len(rows) == 0 {
			return all, err
		}
		for _, r := range rows {
			if err := all.add(r); err != nil {
				return nil, err
			}
		}
		next := rows[len(rows)-1].site
		if next == last {
			return nil, client.errorf("the server sends the same rows again: is it PostgREST?")
		}
		last = next
	}
}

// page returns the rows whose names follow one. Pages by name lose no row when others are deleted meanwhile, as offsets
// would.
func (c *client) page(ctx context.Context, after string) ([]row, error) {
	query := url.Values{"select": {"site,config"}, "order": {"site.asc"}, "limit": {strconv.Itoa(pageRows)}}
	if after != "" {
		query.Set("site", "gt."+after)
	}
	data, err := c.get(ctx, query)
	if err != nil {
		return nil, err
	}
	var sent []struct {
		Site   *string
		Config json.RawMessage
	}
	if err := json.Unmarshal(data, &sent); err != nil {
		return nil, c.errorf("the answer is no list of rows with site and config: check the address and the table")
	}
	rows := make([]row, 0, len(sent))
	for _, one := range sent {
		if one.Site == nil {
			return nil, c.errorf("the answer has a row without site: check the address and the table")
		}
		r := row{site: *one.Site, config: one.Config, size: len(one.Config)}
		if string(r.config) == "null" {
			r.config = nil
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// client checks the configuration.
func (s Supabase) client() (*client, error) {
	schema, table, err := tableName(s.Table)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New(
			"sites: the address of the project is not an http one: write supabase+https://PROJECT.supabase.co")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil,
			errors.New("sites: the address of the project has more than host and path: put the key into " + KeyEnv)
	}
	key := strings.TrimSpace(s.Key)
	if key == "" {
		return nil, errors.New("sites: there is no key for " + u.Host + ": set " + KeyEnv)
	}
	c := &client{
		where: u.Scheme + "://" + u.Host + " table " + cmp.Or(s.Table, DefaultTable), key: key, transport: s.Transport,
		address: u.JoinPath(cmp.Or(s.Path, "/rest/v1/"), table),
		header:  http.Header{"Accept": {"application/json"}, "Apikey": {key}, "Authorization": {"Bearer " + key}},
	}
	if schema != "" {
		c.header.Set("Accept-Profile", schema)
	}
	return c, nil
}
