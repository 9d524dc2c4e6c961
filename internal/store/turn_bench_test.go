package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot"
	outbox "rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// teaShop is a site with everything that a turn may do.
const teaShop = `
site: shop.example
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

// instant is a model that costs nothing: one fixed reply for each node.
type instant map[string]string

func (m instant) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	return chat.Reply{Text: m[r.Node]}, nil
}

func asking(intent string) instant {
	return instant{
		"intent_classifier": `{"intent":"` + intent + `","confidence":0.9}`, "interest_signals_detector": `{"signals":["pricing"]}`,
		"skill_selector": `{"skills":["suggest_follow_up"],"reasons":{}}`, "early_profile_extractor": `{"value":null}`,
		"visitor_profile": `{"company_name":"Acme"}`, "form_field_extractor": `{"fields":{}}`,
		"follow_up_suggester": `{"suggestions":["What does it cost?"]}`, "answer_suggester": `{"answers":[]}`,
		"answer_writer": "We sell tea from the hills, by post, in a week.", "booking_handler": "Booked.",
	}
}

// webhook tells everybody's leads to one webhook.
type webhook struct{}

func (webhook) Names(string) []string { return []string{outbox.WebhookName} }
func (webhook) Wake()                 {}

// takeTurns takes turns at once, session by session in rounds, and reports what one costs.
func takeTurns(b *testing.B, sessions int, leads sitebot.Leads, model instant, input func(n int) string) {
	one, err := site.Load("shop.yaml", []byte(teaShop))
	if err != nil {
		b.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		b.Fatal(err)
	}
	bot, err := sitebot.New(sitebot.Config{
		Sites: library, Prompts: &prompt.Set{}, Checkpoints: newCheckpoints(b, time.Hour), Leads: leads,
		Models: func(*site.Site) (sitebot.Models, error) { return sitebot.Models{Default: model, Fast: model}, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	var taken atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	cpu := processCPU(b)
	for range 8 {
		all.Go(func() {
			for n := int(taken.Add(1)); n <= b.N; n = int(taken.Add(1)) {
				r := sitebot.Request{Site: one.Name, Session: fmt.Sprint(n % sessions), Input: input(n)}
				if _, err := bot.Turn(b.Context(), r, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((processCPU(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/turn")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkTurn is the whole turn of the chatbot but for its models, in 1,000 sessions that are kept in a file.
func BenchmarkTurn(b *testing.B) {
	takeTurns(b, 1000, nil, asking("LEARN"), func(n int) string { return fmt.Sprintf("question %d?", n) })
}

// BenchmarkLeads compares turns that leave two events each with turns that have nobody to tell. The goal is less than a tenth more.
func BenchmarkLeads(b *testing.B) {
	for _, to := range []struct {
		name  string
		leads sitebot.Leads
	}{{"nobody", nil}, {"webhook", webhook{}}} {
		b.Run(to.name, func(b *testing.B) {
			takeTurns(b, b.N+1, to.leads, asking("BOOKING"), func(int) string { return "book a demo for ada@x.com" })
		})
	}
}
