package sitebot_test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"rehearse/graph"
	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// instant is a model that costs nothing: one fixed reply for each node.
type instant struct{}

var replies = map[string]string{
	"intent_classifier": `{"intent":"LEARN","confidence":0.9}`, "interest_signals_detector": `{"signals":["pricing"]}`,
	"skill_selector": `{"skills":["suggest_follow_up"],"reasons":{}}`, "early_profile_extractor": `{"value":null}`,
	"visitor_profile": `{"company_name":"Acme"}`, "form_field_extractor": `{"fields":{}}`,
	"follow_up_suggester": `{"suggestions":["What does it cost?"]}`, "answer_suggester": `{"answers":[]}`,
	"answer_writer": "We sell tea from the hills, by post, in a week.",
}

func (instant) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	return chat.Reply{Text: replies[r.Node]}, nil
}

// BenchmarkAnswerPath holds 1,000 sessions of 10 turns at once, each turn with its checkpoint in memory: the whole S3 answer path but for
// the models. The goals are 200 µs of CPU a turn and 9,000 turns a second on two cores.
func BenchmarkAnswerPath(b *testing.B) {
	const sessions, turns = 1000, 10
	one, err := site.Load("shop.yaml", []byte(shop))
	if err != nil {
		b.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		b.Fatal(err)
	}
	rounds, cpu := 0, processCPU(b)
	for b.Loop() {
		rounds++
		bot, err := sitebot.New(sitebot.Config{
			Sites: library, Prompts: &prompt.Set{}, Checkpoints: graph.NewMemory(graph.MemoryLimits{}),
			Models: func(*site.Site) (sitebot.Models, error) {
				return sitebot.Models{Default: instant{}, Fast: instant{}}, nil
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		next := make(chan int)
		done := make(chan error)
		for range 8 {
			go func() {
				for s := range next {
					_, err := bot.Turn(b.Context(), sitebot.Request{Site: one.Name, Session: fmt.Sprint(s % sessions), Input: fmt.Sprintf("question %d?", s)}, nil)
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for s := range sessions * turns {
			next <- s
		}
		close(next)
		for range 8 {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB")
		b.ReportMetric(sessions*turns*float64(rounds)/b.Elapsed().Seconds(), "turns/s")
		b.ReportMetric(float64((processCPU(b)-cpu).Microseconds())/float64(sessions*turns*rounds), "cpu-µs/turn")
		runtime.KeepAlive(bot)
	}
}

// oneWebhook tells everybody's leads to one webhook.
type oneWebhook struct{}

func (oneWebhook) Names(string) []string { return []string{lead.WebhookName} }
func (oneWebhook) Wake()                 {}

// BenchmarkOutbox compares turns that leave two events each with turns that have nobody to tell, by turns in fresh stores of the same size. Only the turns
// count. The goal is less than a tenth more CPU.
func BenchmarkOutbox(b *testing.B) {
	one, err := site.Load("shop.yaml", []byte(shop))
	if err != nil {
		b.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		b.Fatal(err)
	}
	const sessions = 1000
	var spent [2]time.Duration
	rounds := 0
	for b.Loop() {
		rounds++
		for i, leads := range []sitebot.Leads{nil, oneWebhook{}} {
			bot, err := sitebot.New(sitebot.Config{
				Sites: library, Prompts: &prompt.Set{}, Leads: leads,
				Models: func(*site.Site) (sitebot.Models, error) {
					return sitebot.Models{Default: booking{}, Fast: booking{}}, nil
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			before := processCPU(b)
			for s := range sessions {
				if _, err := bot.Turn(b.Context(), sitebot.Request{Site: one.Name, Session: fmt.Sprint(s), Input: "book a demo for ada@x.com"}, nil); err != nil {
					b.Fatal(err)
				}
			}
			spent[i] += processCPU(b) - before
		}
	}
	turn := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(sessions*rounds) }
	b.ReportMetric(turn(spent[0]), "cpu-µs/turn")
	b.ReportMetric(turn(spent[1]), "cpu-µs/turn-with-leads")
	b.ReportMetric(100*turn(spent[1])/turn(spent[0])-100, "%-more")
}

// processCPU is the time that the process has spent computing, its own and in the system.
func processCPU(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// booking is a model of visitors who book at once.
type booking struct{ instant }

func (m booking) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	switch r.Node {
	case "intent_classifier":
		return chat.Reply{Text: `{"intent":"BOOKING","confidence":0.9}`}, nil
	case "booking_handler":
		return chat.Reply{Text: "Booked."}, nil
	}
	return m.instant.Generate(ctx, r)
}
