// Package sitebottest has a site and a model for tests and benchmarks of the chatbot, and what a turn of it costs with
// leads and without.
package sitebottest

import (
	"context"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Shop is the file of a site with everything that a turn may do.
const Shop = `
site: shop.example
aliases: [www.shop.example]
company: {name: Shop, description: We sell tea.}
qualification:
  profiling:
    forms:
      - id: lead
        field_groups:
          - id: company
            fields:
              - {id: stage, question: What stage is your company at?, required: true}
              - {id: profile, question: Business or technical?, required: true}
  interest_signals:
    threshold: 10
    signals: [{id: pricing, weight: 4, when: asks about prices}, {id: urgency, weight: 6, when: names a date}]
cta: {min_turn: 2, url: https://shop.example/demo, form_fields: {stage: stage, email: mail}}
booking: {fields: [email], post_conversion_fields: [company_size]}
content_gating: {enabled: true, asset: The checklist}
`

// Name is the site's name.
const Name = "shop.example"

// Instant is a model that costs nothing: one fixed reply for each node.
type Instant map[string]string

// Generate implements llm.Model.
func (m Instant) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	return chat.Reply{Text: m[r.Node]}, nil
}

// Replies are those of a model that takes every message for one intent, such as LEARN.
func Replies(intent string) Instant {
	return Instant{
		"intent_classifier":         `{"intent":"` + intent + `","confidence":0.9}`,
		"interest_signals_detector": `{"signals":["pricing"]}`,
		"skill_selector":            `{"skills":["suggest_follow_up"],"reasons":{}}`,
		"early_profile_extractor":   `{"value":null}`,
		"visitor_profile":           `{"company_name":"Acme"}`, "form_field_extractor": `{"fields":{}}`,
		"follow_up_suggester": `{"suggestions":["What does it cost?"]}`, "answer_suggester": `{"answers":[]}`,
		"answer_writer": "We sell tea from the hills, by post, in a week.", "booking_handler": "Booked.",
	}
}

// Webhook tells everybody's leads to one webhook, at which nobody is.
type Webhook struct{}

// Names implements sitebot.Leads.
func (Webhook) Names(string) []string { return webhook }

// Wake implements sitebot.Leads.
func (Webhook) Wake() {}

var webhook = []string{lead.WebhookName}

// Config is that of a bot for the shop, which one model answers for.
func Config(tb testing.TB, model llm.Model) sitebot.Config {
	tb.Helper()
	one, err := site.Load("shop.yaml", []byte(Shop))
	if err != nil {
		tb.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		tb.Fatal(err)
	}
	return sitebot.Config{
		Sites: library, Prompts: &prompt.Set{},
		Models: func(*site.Site) (sitebot.Models, error) { return sitebot.Models{Default: model, Fast: model}, nil },
	}
}
