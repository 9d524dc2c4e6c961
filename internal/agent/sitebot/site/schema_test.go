package site_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/testkit/schematest"
)

// TestSchemaAcceptsSites checks that the schema accepts what Load accepts: the sites of this repository, and keys in
// their rare forms with mutations of them.
func TestSchemaAcceptsSites(t *testing.T) {
	documents := []string{
		"site: 5", "site: X.Example.\nlanguage:\ncompany:\ncta:", "site: \u00a0x\u00a0\nlanguage: \"\\Lfr\"",
		"site: x\naliases: y\nlanguage: fr_CA", "site: x\naliases: [a, 2]", "site: x\ntimezone: Europe/Brussels",
		"site: x\nbooking: {fields: [email, {id: when, type: date}], post_conversion_fields: []}",
		"site: x\nqualification: {profiling: {forms: [{id: f, optional: true, field_groups: [{id: g, fields: " +
			"[{id: a, question: b, required: 'true', choices: [1, two]}]}]}]}, " +
			"interest_signals: {threshold: '-1', signals: [{id: a, weight: '3', when: b}]}}",
		"site: x\nknowledge_base: {lightrag: {url: 'http://127.0.0.1:9621', mode: mix, api_key_env: KEY}}",
		"site: x\nknowledge_base: docs\nsuggestions: {follow_ups: true, answers: 'false'}",
		"site: x\nenrichment: {sources: [enrich-so], keep_ip: false, ip_hash_salt_env: SALT}",
		"site: x\nwidget: {title: 5, color: ' #FFee00 ', logo: 'https://x.example/a b.png', greeting: hi, " +
			"starters: [1, b], position: left}",
		"site: x\nwidget:",
		"site: x\ncta: {url: ' HTTPS://a.example/', label: a, min_turn: 0, form_fields: {email: e}}",
		"site: x\nintegrations: {posthog: {host_env: H, key_env: ' KEY '}, lead_webhook: {url_env: U, secret_env: S}}",
		"site: x\nlimits: {visitor_per_minute: 1, visitor_burst: 1, visitor_turns: 1, site_per_minute: 1, " +
			"tokens_per_day: 1, cost_per_day: 0.5, prompt_tokens: 1}",
		"site: x\nprompts: {meta: 'a/{site}', intent_classifier: b}\nmodels: {default: a, fast: b}",
		"site: x\ncontent_gating: {enabled: true, asset: a}",
	}
	load := func(data []byte) error {
		_, err := site.Load("s.yaml", data)
		return err
	}
	schematest.Compare(t, site.Schema(), load, 0.95, documents...)
	schematest.CompareFiles(t, site.Schema(), load, 3, "testdata", "../../../../examples")
}

// TestSchemaRefusesFaults checks that the schema refuses most files with one fault.
func TestSchemaRefusesFaults(t *testing.T) {
	s, refused := schematest.Compile(t, site.Schema()), 0
	for _, p := range problems {
		v, err := source.ParseYAML("s.yaml", []byte(p.yaml))
		if err == nil && s.Validate(v.Any()) != nil {
			refused++
		} else {
			t.Log(p.name)
		}
	}
	if refused < len(problems)/2 {
		t.Errorf("the schema refuses %d of %d faulty files", refused, len(problems))
	}
}
