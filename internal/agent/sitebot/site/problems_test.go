package site_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func fields(list string) string {
	return "site: x\nqualification:\n  profiling:\n    forms:\n      - field_groups:\n          - fields:\n" + list
}

const (
	indent  = "              - "
	signals = "site: x\nqualification:\n  interest_signals:\n    signals:\n      - "
)

// problems are files with one fault, and how it reads: place, message and hint.
var problems = []struct{ name, yaml, want string }{
	{"empty", "", `s.yaml: expected a mapping, got nothing (write `},
	{"not a mapping", "- site", `s.yaml:1:1: expected a mapping, got a list`},
	{"no name", "language: en", `s.yaml:1:1: a site needs a name (add ` + "`site:`, the site_name of requests)"},
	{"unknown key", "site: x\nbookings: {}", `s.yaml:2:1: bookings: unknown key "bookings" (did you mean "booking"?)`},
	{
		"unknown nested key", "site: x\ncta:\n  min_turns: 1",
		`s.yaml:3:3: cta.min_turns: unknown key "min_turns" (did you mean "min_turn"?)`,
	},
	{
		"address as name", "site: https://x.example/",
		`s.yaml:1:7: site: "https://x.example/" is not the name of a site (write a host name`,
	},
	{"port in name", "site: x:80", `s.yaml:1:7: site: "x:80" is not the name of a site`},
	{"long name", "site: " + strings.Repeat("x", 254), `is not the name of a site`},
	{
		"alias is the name", "site: x\naliases: [X]",
		`s.yaml:2:11: aliases[0]: the name "x" stands here and in line 1 (keep one of the two)`,
	},
	{"alias twice", "site: x\naliases: [a, b, a]", `s.yaml:2:17: aliases[2]: the name "a" stands here and in line 2`},
	{
		"language", "site: x\nlanguage: english",
		`s.yaml:2:11: language: "english" is not a language (write a language tag such as en or fr-CA)`,
	},
	{
		"empty company", "site: x\ncompany: {name: ' '}",
		`s.yaml:2:17: company.name: the text is empty (write the company's name (default: that of the site), or ` +
			`leave the key out)`,
	},
	{
		"prompt variable", "site: x\nprompts: {meta: 'a/{client}'}",
		`s.yaml:2:17: prompts.meta: unknown variable {client} in the name of a prompt (a name may hold {agent} and {site})`,
	},
	{
		"prompt above", "site: x\nprompts: {meta: a/../../b}",
		`s.yaml:2:17: prompts.meta: "a/../../b" is not the name of a prompt (write a name such as`,
	},
	{"prompt from the root", "site: x\nprompts: {meta: /etc/passwd}", `"/etc/passwd" is not the name of a prompt`},
	{"prompt brace", "site: x\nprompts: {meta: 'a{b'}", `"a{b" is not the name of a prompt`},
	{
		"prompt of no node", "site: x\nprompts: {intent_clasifier: a}",
		`unknown key "intent_clasifier" (did you mean "intent_classifier"?)`,
	},
	{
		"field without id", fields(indent + "{question: Why?}"),
		`s.yaml:7:18: qualification.profiling.forms[0].field_groups[0].fields[0]: the field has no id (add ` +
			"`id:`, the field's name)",
	},
	{
		"field twice", fields(indent + "{id: a}\n" + indent + "{id: a}"),
		`s.yaml:8:22: qualification.profiling.forms[0].field_groups[0].fields[1].id: the field "a" stands here and in line 7 (give each field an id of its own)`,
	},
	{"field id", fields(indent + "{id: a b}"), `fields[0].id: "a b" is not an id (use a letter first`},
	{
		"field flag", fields(indent + "{id: a, required: maybe}"),
		`fields[0].required: expected true or false, got "maybe" (write true or false)`,
	},
	{
		"no choices", fields(indent + "{id: a, choices: []}"),
		`fields[0].choices: there is nothing to choose from (name the choices`,
	},
	{
		"choice twice", fields(indent + "{id: a, choices: [b, b]}"),
		`fields[0].choices[1]: the choice "b" is written twice (keep one of the two)`,
	},
	{
		"form twice", "site: x\nqualification: {profiling: {forms: [{id: a}, {id: a}]}}",
		`forms[1].id: the form "a" stands here and in line 2`,
	},
	{
		"group twice", "site: x\nqualification: {profiling: {forms: [{field_groups: [{id: a}, {id: a}]}]}}",
		`field_groups[1].id: the field group "a" stands here`,
	},
	{
		"signal twice", signals + "{id: a, weight: 1}\n      - {id: a, weight: 2}",
		`s.yaml:6:14: qualification.interest_signals.signals[1].id: the signal "a" stands here and in line 5`,
	},
	{
		"signal without weight", signals + "{id: a}",
		`s.yaml:5:10: qualification.interest_signals.signals[0]: the signal has no weight (add ` +
			"`weight:`, -100 to 100)",
	},
	{"signal without id", signals + "{weight: 1}", `the signal has no id`},
	{
		"weight of a half", signals + "{id: a, weight: 0.5}",
		`s.yaml:5:25: qualification.interest_signals.signals[0].weight: expected a whole number, got "0.5" (write a whole number)`,
	},
	{"heavy", signals + "{id: a, weight: 101}", `101 is too large (use -100 to 100)`},
	{"light", signals + "{id: a, weight: -101}", `-101 is too small (use -100 or more)`},
	{
		"threshold", "site: x\nqualification: {interest_signals: {threshold: 101}}",
		`interest_signals.threshold: no score can reach 101 (use 100 or less; 0 switches it off)`,
	},
	{
		"color without digits", "site: x\nwidget:\n  color: red",
		`s.yaml:3:10: widget.color: "red" is not a colour (write six hexadecimal digits behind a #, in quotes, such as "#3355a8")`,
	},
	{"color of three digits", "site: x\nwidget: {color: '#fff'}", `s.yaml:2:17: widget.color: "#fff" is not a colour`},
	{
		"color that is a comment", "site: x\nwidget:\n  color: #3355a8",
		`s.yaml:3:3: widget.color: there is no colour (write it in quotes, such as "#3355a8": what follows a bare # is a comment)`,
	},
	{"color that is more", "site: x\nwidget: {color: '#3355a8; } body { display: none'}", `is not a colour`},
	{
		"logo without encryption", "site: x\nwidget: {logo: 'http://x.example/a.png'}",
		`s.yaml:2:16: widget.logo: "http://x.example/a.png" is not an https address (write it whole`,
	},
	{"logo that is data", "site: x\nwidget: {logo: 'data:image/png;base64,AA'}", `is not an https address`},
	{"logo with a policy", "site: x\nwidget: {logo: 'https://x.example;script-src/a.png'}", `is not an https address`},
	{
		"logo with a password", "site: x\nwidget: {logo: 'https://a:b@x.example/a.png'}",
		`the address holds a user name or password`,
	},
	{
		"logo in a file", "site: x\nwidget: {logo: a.png}",
		`s.yaml:2:16: widget.logo: removed: use the https address of the picture, not a file`,
	},
	{
		"seven starters", "site: x\nwidget: {starters: [a, b, c, d, e, f, g]}",
		`widget.starters[6]: there are more than 6 starters (keep the best of them)`,
	},
	{
		"starter twice", "site: x\nwidget: {starters: [a, a]}",
		`widget.starters[1]: the starter "a" is written twice (keep one of the two)`,
	},
	{
		"long greeting", "site: x\nwidget: {greeting: " + strings.Repeat("x", 1001) + "}",
		`widget.greeting: the text is longer than 1000 characters (shorten it)`,
	},
	{"position", "site: x\nwidget: {position: top}", `widget.position: unknown value "top" (use one of: right, left)`},
	{"empty label", "site: x\ncta: {label: ' '}", `s.yaml:2:14: cta.label: the text is empty`},
	{
		"limit below 0", "site: x\nlimits:\n  visitor_turns: -1",
		`s.yaml:3:18: limits.visitor_turns: -1 is too small (use 0 or more)`,
	},
	{
		"limit of a half", "site: x\nlimits: {visitor_burst: 2.5}",
		`s.yaml:2:25: limits.visitor_burst: expected a whole number, got "2.5"`,
	},
	{"cost below 0", "site: x\nlimits: {cost_per_day: -0.5}", `s.yaml:2:24: limits.cost_per_day: -0.5 is out of range`},
	{
		"cost that is none", "site: x\nlimits: {cost_per_day: .nan}",
		`s.yaml:2:24: limits.cost_per_day: expected a number`,
	},
	{
		"unknown limit", "site: x\nlimits: {visitors_turns: 1}",
		`unknown key "visitors_turns" (did you mean "visitor_turns"?)`,
	},
	{"min_turn", "site: x\ncta: {min_turn: -1}", `s.yaml:2:17: cta.min_turn: -1 is too small (use 0 or more)`},
	{
		"cta without scheme", "site: x\ncta: {url: acme.example/demo}",
		`s.yaml:2:12: cta.url: "acme.example/demo" is not an http or https address (write it whole, such as https://acme.example/demo)`,
	},
	{"cta that runs", "site: x\ncta: {url: 'javascript:alert(1)'}", `is not an http or https address`},
	{
		"cta with password", "site: x\ncta: {url: 'https://u:secret@acme.example'}",
		`cta.url: the address holds a user name or password (remove what stands before the @`,
	},
	{
		"parameter twice", "site: x\ncta: {form_fields: {a: p, b: p}}",
		`cta.form_fields.b: the parameter "p" already carries a (give each value a parameter of its own)`,
	},
	{"form field id", "site: x\ncta: {form_fields: {'a b': p}}", `"a b" is not an id`},
	{
		"no booking field", "site: x\nbooking: {fields: []}",
		`s.yaml:2:11: booking.fields: a booking needs a field (name at least one, such as [email])`,
	},
	{
		"booking field twice", "site: x\nbooking: {fields: [email, {id: email}]}",
		`booking.fields[1].id: the booking field "email" stands here and in line 2`,
	},
	{
		"booking type", "site: x\nbooking: {fields: [{id: a, type: number}]}",
		`booking.fields[0].type: unknown value "number" (use one of: email, phone, date, text)`,
	},
	{
		"booking field without id", "site: x\nbooking: {fields: [{type: date}]}",
		`booking.fields[0]: the booking field has no id`,
	},
	{
		"knowledge of neither kind", "site: x\nknowledge_base: {}",
		"s.yaml:2:1: knowledge_base: the knowledge base is neither a folder nor a server (add `lightrag:`, " +
			"a server)",
	},
	{
		"knowledge server without address", "site: x\nknowledge_base: {lightrag: {mode: mix}}",
		`knowledge_base.lightrag: a LightRAG server needs an address`,
	},
	{
		"knowledge mode", "site: x\nknowledge_base: {lightrag: {url: http://a, mode: fast}}",
		`unknown value "fast" (use one of: naive, local, global, hybrid, mix, bypass)`,
	},
	{
		"source", "site: x\nenrichment: {sources: [clearbit]}",
		`enrichment.sources[0]: unknown value "clearbit" (use one of: cache, supabase, reveal, snitcher, enrich_so)`,
	},
	{
		"source twice", "site: x\nenrichment: {sources: [cache, cache]}",
		`enrichment.sources[1]: the source "cache" is written twice`,
	},
	{
		"webhook without address", "site: x\nintegrations: {lead_webhook: {secret_env: A}}",
		`integrations.lead_webhook: the address of the webhook is missing (add ` +
			"`url_env:`, name of a variable)",
	},
	{
		"posthog without key", "site: x\nintegrations: {posthog: {host_env: A}}",
		`integrations.posthog: the key of the project is missing`,
	},
	{"gating", "site: x\ncontent_gating: {enabled: 3}", `content_gating.enabled: expected true or false`},
	{"suggestions", "site: x\nsuggestions: [a]", `suggestions: expected a mapping, got a list`},
	{"yaml", "site: [", `s.yaml:1:7: not valid YAML`},
}

func TestLoadProblems(t *testing.T) {
	for _, tc := range problems {
		_, err := site.Load("s.yaml", []byte(tc.yaml))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v\nwant %s", tc.name, err, tc.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one problem:\n%v", tc.name, err)
		}
	}
}

// A secret that stands where the name of a variable belongs must not be repeated in the log.
func TestSecretIsNotRepeated(t *testing.T) {
	const secret = "sk-live-0123456789"
	for _, key := range []string{
		"integrations: {lead_webhook: {url_env: %s}}", "integrations: {posthog: {key_env: %s}}",
		"enrichment: {ip_hash_salt_env: %s}",
	} {
		_, err := site.Load("s.yaml", []byte("site: x\n"+fmt.Sprintf(key, secret)))
		if err == nil || strings.Contains(err.Error(), secret) ||
			!strings.Contains(err.Error(), "never the secret itself") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

var warnings = []struct{ name, yaml, want string }{
	{"language", "site: x\nlanguage: ja-JP", `s.yaml:2:11: language: there are no built-in texts in "ja": visitors read fixed messages in English (built-in texts exist in en, fr,`},
	{
		"order", fields(indent + "{id: a}\n" + indent + "{id: b, required: true}"),
		`s.yaml:8:22: qualification.profiling.forms[0].field_groups[0].fields[1].id: the required field "b" stands below "a", which is not required (move required fields up`,
	},
	{
		"asked twice", fields(indent+"{id: a}") + "\nbooking: {post_conversion_fields: [a]}",
		`"a" is one of booking.post_conversion_fields too`,
	},
	{
		"same question", fields(indent + "{id: a, question: How many?}\n" + indent + "{id: b, question: how  MANY?}"),
		`"b" asks the same question as "a" (ask for each in words of its own)`,
	},
	{"form without questions", "site: x\nqualification: {profiling: {forms: [{id: a}]}}", `the form asks nothing`},
	{"weightless", signals + "{id: a, weight: 0}\n      - {id: b, weight: 20}", `the signal "a" weighs nothing`},
	{
		"out of reach", signals + "{id: a, weight: 9}",
		`s.yaml:3:3: qualification.interest_signals: all signals together weigh 9, so the threshold of 10 is never reached (lower the threshold`,
	},
	{
		"nothing to give", "site: x\ncontent_gating: {enabled: true}",
		`s.yaml:2:1: content_gating: nothing is offered for an e-mail address`,
	},
	{
		"no folder", "site: x\nknowledge_base: kb/none",
		`s.yaml:2:17: knowledge_base: there is no folder kb/none, so answers know nothing`,
	},
}

func TestWarnings(t *testing.T) {
	for _, tc := range warnings {
		s, err := site.Load("s.yaml", []byte(tc.yaml))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := s.Warnings.Error(); !strings.Contains(got, tc.want) || len(s.Warnings) != 1 {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
