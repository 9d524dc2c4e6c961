package siteconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestSupabasePages(t *testing.T) {
	rows := map[string]string{}
	for i := range 250 {
		rows[fmt.Sprintf("s%03d.example", i)] = `{"company": {"name": "\ud83d\ude00 <b>"}}`
	}
	for _, c := range []struct{ most, pages int }{{0, 4}, {40, 8}} {
		fake, s := supabase(t, rows)
		fake.most = c.most
		library, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sortedNames(rows), namesOf(library)); diff != "" || fake.pages != c.pages {
			t.Errorf("%d pages of %d: %s", fake.pages, c.most, diff)
		}
		if got := library.Sites()[0].Company.Name; got != "😀 <b>" {
			t.Errorf("company %q", got)
		}
	}
}

func TestSupabaseTableAndPath(t *testing.T) {
	fake, s := supabase(t, map[string]string{"acme.example": `{"site": "acme.example"}`})
	fake.path, fake.schema = "/sites", "config"
	s.Path, s.Table, s.Key = "/", "config.sites", " "+serviceKey+"\n"
	if got := names(t, s); len(got) != 1 {
		t.Error(got)
	}
}

func TestSupabaseHostileRows(t *testing.T) {
	_, s := supabase(t, map[string]string{
		"a.example": `{"aliases": ["b.example"]}`, "text.example": `"x"`,
		"null.example": `null`, "keys.example": `{"companny": 1}`,
		"large.example": `{"company": {"description": "` + strings.Repeat("x", 2<<20) + `"}}`, "a,b&c=(d)\n%": `{}`,
		"twice.example": `{"language": "en", "language": "fr"}`,
	})
	_, err := s.Load(t.Context())
	for _, want := range []string{
		"[text.example]: expected a mapping", "[null.example]: the row has no configuration",
		"[keys.example]: companny: unknown key", "[large.example]: the configuration is larger than 1 MB",
		"[a,b&c=(d)·%]: site: ", "[twice.example]: not valid JSON",
	} {
		if err == nil || !strings.Contains(err.Error(), "site_configs"+want) {
			t.Errorf("no %q in %.3000v", want, err)
		}
	}
}

func TestSupabaseFaults(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"key": {
			status(401, `{"message": "Invalid API key `+serviceKey+`"}`),
			"status 401: check the key in SUPABASE_SERVICE_KEY (Invalid API key ***)",
		},
		"forbidden": {
			status(403, `{"message": "permission denied for table site_configs"}`),
			"check the key in SUPABASE_SERVICE_KEY (permission denied",
		},
		"table": {
			status(404, `{"code": "PGRST205", "message": "Could not find the table"}`),
			"create the table (Could not find the table)",
		},
		"column": {
			status(400, `{"code": "42703", "message": "column site_configs.config does not exist"}`),
			"status 400: column site_configs.config does not exist",
		},
		"proxy":  {status(502, "<html>"), "status 502: try again later"},
		"page":   {status(200, "<html>"), "no list of rows"},
		"object": {status(200, `{"site": "a"}`), "no list of rows"},
		"row":    {status(200, `[{"config": {}}]`), "a row without site"},
		"again":  {status(200, `[{"site": "a.example", "config": {}}]`), "the same rows again"},
		"empty":  {status(200, `[]`), "there is no site in http://"},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "[")
		}, "unexpected EOF"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "status 307: it redirects"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for range 66 {
				fmt.Fprint(w, strings.Repeat(" ", 1<<20))
			}
		}, "an answer is larger than 64 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, s := supabase(t, nil)
			fake.answer = c.answer
			_, err := s.Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Load: %v, want %s", err, c.want)
			}
			hides(t, err, serviceKey)
			if name != "again" && fake.pages != 1 {
				t.Errorf("%d requests", fake.pages)
			}
		})
	}
}

func TestSupabaseUnreachable(t *testing.T) {
	_, err := siteconfig.Supabase{URL: "http://127.0.0.1:" + servertest.FreePort(t), Key: serviceKey}.Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "check the address, and that the server runs") {
		t.Errorf("Load: %v", err)
	}
	hides(t, err, serviceKey)
	fake, s := supabase(t, nil)
	fake.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.Load(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Load: %v", err)
	}
	hides(t, err, serviceKey)
	s.Key = "line\nbreak"
	if _, err = s.Load(t.Context()); err == nil {
		t.Error("a key that is no header was sent")
	} else {
		hides(t, err, s.Key, "break")
	}
}
