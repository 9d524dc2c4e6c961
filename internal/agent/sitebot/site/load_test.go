package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// usualLimits are those of a site that names none.
var usualLimits = site.Limits{
	VisitorPerMinute: 20, VisitorBurst: 20, VisitorTurns: 4, SitePerMinute: 600, PromptTokens: 16_000,
}

// A site file that holds nothing but a name is complete.
func TestLoadMinimal(t *testing.T) {
	got, err := site.Load("sites/x.yaml", []byte("site: X.Example."))
	if err != nil {
		t.Fatal(err)
	}
	want := &site.Site{
		File: "sites/x.yaml", Dir: "sites", Name: "x.example", Language: "en",
		Locale: "en", Company: site.Company{Name: "x.example"},
		Qualification: site.Qualification{InterestSignals: site.InterestSignals{Threshold: 10}},
		CTA:           site.CTA{MinTurn: 2},
		Booking:       site.Booking{Fields: []site.BookingField{{ID: "email", Type: site.Email}}},
		Suggestions:   site.Suggestions{FollowUps: true, Answers: true},
		Enrichment:    site.Enrichment{Sources: []string{"cache", "supabase", "reveal", "snitcher", "enrich_so"}},
		Limits:        usualLimits,
		Widget:        site.Widget{Position: site.Right},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(site.Site{})); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// The file that fixes the names of the keys.
func TestLoadExample(t *testing.T) {
	got, err := site.LoadFile("testdata/example.site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fields := []site.Field{
		{ID: "company_stage", Question: "What stage is your company at?", Required: true},
		{
			ID: "profile_type", Question: "Business or technical profile?", Required: true,
			Choices: []string{"business", "technical"},
		},
	}
	want := &site.Site{
		File: "testdata/example.site.yaml", Dir: "testdata", Name: "acme.example",
		Aliases: []string{"www.acme.example"}, Language: "en", Locale: "en",
		Company: site.Company{Name: "Acme Cloud", Description: "Managed databases for small teams"},
		Prompts: site.Prompts{
			Meta: "response-agents/meta-template", Answer: "response-agents/answer/template",
			Redirect: "response-agents/redirect/template", Booking: "response-agents/booking/template",
			Instructions: "response-agents/{agent}/instructions/{site}",
		},
		Models: site.Models{Default: "scripted", Fast: "scripted"},
		Qualification: site.Qualification{
			Profiling: site.Profiling{Forms: []site.Form{{
				ID: "lead", Groups: []site.FieldGroup{{ID: "company", Fields: fields}},
			}}},
			InterestSignals: site.InterestSignals{Threshold: 10, Signals: []site.Signal{
				{ID: "pricing", Weight: 4, When: "asks about prices or plans"},
				{ID: "migration", Weight: 3, When: "talks about moving existing data"},
				{ID: "urgency", Weight: 5, When: "names a date or a deadline"},
			}},
		},
		CTA: site.CTA{
			MinTurn: 2, URL: "https://acme.example/demo",
			FormFields: []site.FormField{{"company_stage", "stage"}, {"email", "email"}},
		},
		Booking: site.Booking{
			Fields:         []site.BookingField{{"email", site.Email}},
			PostConversion: []site.BookingField{{"company_size", site.Text}},
		},
		ContentGating: site.ContentGating{Enabled: true, Asset: "The migration checklist"},
		Suggestions:   site.Suggestions{FollowUps: true, Answers: true},
		KnowledgeBase: site.KnowledgeBase{Folder: filepath.Join("testdata", "kb", "acme")},
		Enrichment: site.Enrichment{
			Sources:       []string{"cache", "supabase", "reveal", "snitcher", "enrich_so"},
			IPHashSaltEnv: "REHEARSE_IP_SALT",
		},
		Integrations: site.Integrations{
			LeadWebhook: site.LeadWebhook{URLEnv: "ACME_LEAD_WEBHOOK", SecretEnv: "ACME_LEAD_SECRET"},
			PostHog:     site.PostHog{HostEnv: "POSTHOG_HOST", KeyEnv: "POSTHOG_KEY"},
		},
		Limits: usualLimits,
		Widget: site.Widget{Position: site.Right},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(site.Site{}),
		cmpopts.IgnoreFields(site.Site{}, "Warnings")); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	if text := got.Warnings.Error(); len(got.Warnings) != 1 ||
		!strings.Contains(text, "there is no folder testdata/kb/acme") {
		t.Errorf("warnings: %s", text)
	}
}

func TestLoadVariants(t *testing.T) {
	got, err := site.Load("s.yaml", []byte(`
site: x
aliases: www.x
language: pt-BR
booking:
  fields: [work_email, {id: when, type: date}, {id: mobile_phone}, start-date, notes]
content_gating: {asset: A guide}
knowledge_base: {lightrag: {url: "http://127.0.0.1:9621", mode: mix, api_key_env: RAG_KEY}}
enrichment: {sources: []}
suggestions: {answers: false}
prompts: {intent_classifier: intent/router}
qualification:
  profiling: {forms: [{id: f, optional: true, field_groups: [{id: g, fields: [{id: team_size, required: true}]}]}]}
  interest_signals: {threshold: -1, signals: [{id: price, weight: 3}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		what      string
		want, got any
	}{
		{"aliases", []string{"www.x"}, got.Aliases},
		{"language", "pt", got.Language},
		{"booking", []site.BookingField{
			{"work_email", site.Email}, {"when", site.Date}, {"mobile_phone", site.Phone}, {"start-date", site.Date},
			{"notes", site.Text},
		}, got.Booking.Fields},
		{"gating is on with an asset", site.ContentGating{Enabled: true, Asset: "A guide"}, got.ContentGating},
		{"knowledge", site.KnowledgeBase{LightRAG: &site.LightRAG{
			URL: "http://127.0.0.1:9621", Mode: "mix", APIKeyEnv: "RAG_KEY",
		}}, got.KnowledgeBase},
		{"no enrichment", []string{}, got.Enrichment.Sources},
		{"suggestions", site.Suggestions{FollowUps: true}, got.Suggestions},
		{"prompts", map[string]string{"intent_classifier": "intent/router"}, got.Prompts.Nodes},
		{"fields", []site.Field{{ID: "team_size", Question: "What is your team size?"}}, got.Fields()},
		{"nothing is required in an optional form", []site.Field(nil), got.Required()},
		{"signals", []site.Signal{{"price", 3, "talks about price"}}, got.Qualification.InterestSignals.Signals},
		{"warnings", 0, len(got.Warnings)},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", check.what, diff)
		}
	}
	if _, on := got.Threshold(); on {
		t.Error("a threshold of -1 is on")
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte("site: x\n#"+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no.yaml"): "check --sites", large: "larger than 1 MB", dir: "read a site",
	} {
		if _, err := site.LoadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("LoadFile(%s) = %v, want %q", path, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("testdata/example.site.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, p := range problems {
		f.Add([]byte(p.yaml))
	}
	for _, w := range warnings {
		f.Add([]byte(w.yaml))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := site.Load("s.yaml", data)
		if err != nil {
			return
		}
		if s.Name == "" || s.Language == "" || len(s.Booking.Fields) == 0 {
			t.Errorf("a site without faults is not complete: %+v", s)
		}
		if l, err := site.NewLibrary(s); err != nil {
			t.Error(err)
		} else if found, err := l.Find(strings.ToUpper(s.Name)); err != nil &&
			strings.ToLower(strings.ToUpper(s.Name)) == s.Name || err == nil && found != s {
			t.Errorf("Find(%q) = %v", s.Name, err)
		}
	})
}
