package siteconfig_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

const example = "../site/testdata/example.site.yaml"

// table returns a table of the test's own, created as the package's comment has it.
func table(t testing.TB) siteconfig.Postgres {
	t.Helper()
	p := siteconfig.Postgres{URL: servertest.Postgres(t).String(), Table: "sites_" + strings.ToLower(rand.Text())}
	execute(t, "create table "+p.Table+
		" (site text primary key, config jsonb not null, updated_at timestamptz not null default now())")
	t.Cleanup(func() { execute(t, "drop table if exists "+p.Table) })
	return p
}

// execute runs a statement as somebody else would.
func execute(t testing.TB, sql string, args ...any) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, servertest.Postgres(t).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
}

func insert(t testing.TB, p siteconfig.Postgres, name, config string) {
	t.Helper()
	execute(t, "insert into "+p.Table+" (site, config) values ($1, $2::text::jsonb)", name, config)
}

// names loads a table and returns the names of its sites.
func names(t testing.TB, s siteconfig.Source) []string {
	t.Helper()
	library, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return namesOf(library)
}

func namesOf(library *site.Library) []string {
	var all []string
	for _, s := range library.Sites() {
		all = append(all, s.Name)
	}
	return all
}

// TestPostgresSameAsFile stores a file and reads the same site back.
func TestPostgresSameAsFile(t *testing.T) {
	p := table(t)
	file, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	value, err := source.ParseYAML(example, file)
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(value.Any())
	if err != nil {
		t.Fatal(err)
	}
	insert(t, p, "acme.example", string(config))
	library, err := p.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := library.Find("WWW.acme.example.")
	if err != nil {
		t.Fatal(err)
	}
	want, err := site.Load("example.site.yaml", file) // relative paths start where a row's do
	if err != nil {
		t.Fatal(err)
	}
	if got.File != p.Table+"[acme.example]" || got.Dir != "." {
		t.Errorf("file %q in %q", got.File, got.Dir)
	}
	byField := cmpopts.SortSlices(func(a, b site.FormField) bool { return a.Field < b.Field }) // jsonb sorts keys
	ignored := cmp.Options{
		cmpopts.IgnoreFields(site.Site{}, "File", "Warnings"), cmpopts.IgnoreUnexported(site.Site{}), byField,
	}
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Errorf("-file +row:\n%s", diff)
	}
}

func TestPostgresOrderAndNames(t *testing.T) {
	p := table(t)
	insert(t, p, "b.example", `{"site": "b.example"}`)
	insert(t, p, "C.example.", `{"aliases": "www.c.example", "company": {"name": "Größe 😀 \"x\" \\ / \u0001"}}`)
	insert(t, p, "a.example", `{"site": null}`)
	// bytewise, as files are
	if diff := cmp.Diff([]string{"c.example", "a.example", "b.example"}, names(t, p)); diff != "" {
		t.Error(diff)
	}
	library, err := p.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := library.Find("www.c.example")
	if want := "Größe 😀 \"x\" \\ / \x01"; c.Company.Name != want {
		t.Errorf("company %q, want %q", c.Company.Name, want)
	}
}

// TestPostgresHostileRows reads rows that are no sites, and finds all faults at once.
func TestPostgresHostileRows(t *testing.T) {
	p := table(t)
	insert(t, p, "fine.example", `{}`)
	insert(t, p, "list.example", `[1, 2]`)
	insert(t, p, "text.example", `"site: text.example"`)
	insert(t, p, "null.example", `null`)
	insert(t, p, "keys.example", `{"companny": {}, "cta": {"min_turn": "soon"}}`)
	insert(t, p, "other.example", `{"site": "fine.example"}`)
	insert(t, p, "../../etc/x", `{"knowledge_base": "kb"}`)
	insert(t, p, "line\nbreak", `{}`)
	insert(t, p, "large.example", `{"company": {"description": "`+strings.Repeat("x", 2<<20)+`"}}`)
	insert(t, p, strings.Repeat("n", 1000), `{}`)
	insert(t, p, "deep.example", `{"company": `+strings.Repeat("[", 3000)+strings.Repeat("]", 3000)+`}`)
	_, err := p.Load(t.Context())
	var faults source.Problems
	if !errors.As(err, &faults) {
		t.Fatalf("Load: %v", err)
	}
	for _, want := range []string{
		"[list.example]: expected a mapping, got a list",
		"[text.example]: expected a mapping, got text", "[null.example]: expected a mapping",
		`[keys.example]: companny: unknown key "companny" (did you mean "company"?)`,
		"[keys.example]: cta.min_turn: expected a whole number",
		`[other.example]: site: the configuration is of "fine.example", but the row of "other.example"`,
		"[../../etc/x]: site: ", "[line·break]: site: ", "[large.example]: the configuration is larger than 1 MB",
		"[nnnnnnnn", "[deep.example]: ",
	} {
		if !strings.Contains(err.Error(), p.Table+want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	for _, p := range faults {
		if p.Line != 0 || len(p.String()) > 1500 {
			t.Errorf("problem %.200s", p)
		}
	}
}

func TestPostgresDuplicateAlias(t *testing.T) {
	p := table(t)
	insert(t, p, "a.example", `{"aliases": ["shared.example"]}`)
	insert(t, p, "b.example", `{"aliases": ["Shared.example"]}`)
	_, err := p.Load(t.Context())
	want := p.Table + `[b.example]: aliases[0]: "shared.example" is a name of the site in ` + p.Table +
		"[a.example] too"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPostgresLimits(t *testing.T) {
	p := table(t)
	if _, err := p.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no site in postgres://") {
		t.Errorf("empty: %v", err)
	}
	execute(t, "insert into "+p.Table+" select 's' || n, '{}' from generate_series(1, 10000) n")
	if got := names(t, p); len(got) != 10_000 {
		t.Errorf("%d sites", len(got))
	}
	insert(t, p, "one.more", "{}")
	if _, err := p.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 10000 rows") {
		t.Errorf("too many: %v", err)
	}
}

func TestPostgresTotalLimit(t *testing.T) {
	p := table(t)
	execute(t, "insert into "+p.Table+
		` select 's' || n, jsonb_build_object('company', jsonb_build_object('description', repeat('x', 1000000)))
		from generate_series(1, 70) n`)
	if _, err := p.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 64 MB") {
		t.Errorf("%.300v", err)
	}
}
