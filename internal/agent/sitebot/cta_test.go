package sitebot_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// ready is a session whose next answer proposes a demo.
const ready = `{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
	"interest_signals_state": {"cumulative": 10, "signals": ["pricing", "urgency"], "seen": true},
	"profiling_state": {"collected_values": {"stage": "seed & co", "profile": "business"}}}`

func TestCTA(t *testing.T) {
	for name, c := range map[string]struct {
		site, state, answer, language string
		want                          *sitebot.CTA
	}{
		"believed": {shop, ready, "👇 See a demo.", "", &sitebot.CTA{
			URL: "https://shop.example/demo?stage=seed+%26+co", Label: "Book a demo",
			Fields: map[string]string{"stage": "seed & co"},
		}},
		"in the visitor's language": {shop, ready, "👇 Voyez.", "fr-CA", &sitebot.CTA{
			URL: "https://shop.example/demo?stage=seed+%26+co", Label: "Réserver une démo",
			Fields: map[string]string{"stage": "seed & co"},
		}},
		"words and query of the site": {
			strings.Replace(shop, "url: https://shop.example/demo",
				"label: Taste it, url: 'https://shop.example/demo?from=chat&stage=none#form'", 1),
			ready, "👇 See a demo.", "fr", &sitebot.CTA{
				URL: "https://shop.example/demo?from=chat&stage=seed+%26+co#form", Label: "Taste it",
				Fields: map[string]string{"stage": "seed & co"},
			},
		},
		"nothing collected": {strings.Replace(shop, "stage: stage, ", "", 1), ready, "👇 See a demo.", "", &sitebot.CTA{
			URL: "https://shop.example/demo", Label: "Book a demo", Fields: map[string]string{},
		}},
		"no address": {
			strings.Replace(shop, "url: https://shop.example/demo, ", "", 1), ready, "👇 See a demo.", "", nil,
		},
		"the writer did not":      {shop, ready, "See a demo.", "", nil},
		"nobody asked the writer": {shop, `{}`, "👇 See a demo.", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			th := openTheater(t, c.site)
			th.intent(sitebot.Learn)
			th.says("answer_writer", c.answer)
			th.inject(t, "s", c.state)
			o, err := th.Turn(t.Context(), sitebot.Request{
				Site: "shop.example", Session: "s", Input: "tell me", Language: c.language,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, o.Metadata.Button); d != "" {
				t.Errorf("cta (-want +got):\n%s", d)
			}
		})
	}
}

// A page that has seen answers is told when the server has lost the session, and only then.
func TestRestarted(t *testing.T) {
	th := openTheater(t, shop)
	th.intent(sitebot.Learn)
	say := func(seen int, input string) bool {
		t.Helper()
		o, err := th.Turn(t.Context(), sitebot.Request{
			Site: "shop.example", Session: "s", Input: input, TurnNumber: seen,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o.Metadata.Restarted
	}
	if say(0, "one") || say(1, "two") {
		t.Error("a session that goes on was restarted")
	}
	if err := th.Forget(t.Context(), "shop.example", "s"); err != nil {
		t.Fatal(err)
	}
	if !say(2, strings.Repeat("x", sitebot.MaxInput+1)) || !say(2, "three") || say(1, "four") {
		t.Error("a lost session is told with each message until it is there again")
	}
}

// A visitor who writes again while suggestions are made does not wait for them. The answer's end is told before they
// are asked for.
func TestHurry(t *testing.T) {
	th := openTheater(t, shop)
	th.intent(sitebot.Learn)
	asked := make(chan struct{})
	th.does("follow_up_suggester", func(ctx context.Context, _ llm.Request) (string, error) {
		close(asked)
		<-ctx.Done()
		return "", ctx.Err()
	})
	answered := make(chan string, 1)
	first := make(chan *sitebot.Outcome, 1)
	go func() {
		text := ""
		o, err := th.Turn(context.WithoutCancel(t.Context()), sitebot.Request{
			Site: "shop.example", Session: "s", Input: "one",
		}, func(e sitebot.Event) {
			if text += e.Token; e.Answered {
				answered <- text
			}
		})
		if err != nil {
			t.Error(err)
		}
		first <- o
	}()
	<-asked
	if got := <-answered; got != replies["answer_writer"] {
		t.Errorf("the answer had ended with %q", got)
	}
	_, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "s", Input: "two"}, nil)
	if fault, ok := errors.AsType[*sitebot.Error](err); !ok || fault.Fault != sitebot.Busy {
		t.Errorf("the second message: %v", err)
	}
	if o := <-first; o.Response != replies["answer_writer"] || len(o.Metadata.FollowUps) > 0 ||
		len(o.Metadata.Warnings) > 0 {
		t.Errorf("%+v", o)
	}
	th.says("follow_up_suggester", replies["follow_up_suggester"])
	if o := th.say(t, "s", "two"); o.Metadata.TurnNumber != 1 || len(o.Metadata.FollowUps) == 0 {
		t.Errorf("%+v", o.Metadata)
	}
}
