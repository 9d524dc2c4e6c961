package sitebot_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// endless never returns before its context ends.
const endless = time.Hour

type slowShelf struct{ d time.Duration }

func (s slowShelf) Retrieve(ctx context.Context, _ string) (string, error) {
	return sleeps(s.d, "late docs")(ctx, llm.Request{})
}

type slowEnricher struct{}

func (slowEnricher) Find(ctx context.Context, _ enrich.Visitor) (enrich.Profile, []enrich.Attempt) {
	_, _ = sleeps(endless, "")(ctx, llm.Request{})
	return enrich.Profile{}, nil
}

// TestLimits holds the time that each node has (2.4), and that the answer never waits for the sum of the background
// tasks (2.10).
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		node string
		took time.Duration
	}{
		{"intent_classifier", 8 * time.Second},
		{"interest_signals_detector", 8 * time.Second},
		{"skill_selector", 8 * time.Second},
		{"early_profile_extractor", 8 * time.Second},
		{"form_field_extractor", 8 * time.Second},
		{"follow_up_suggester", 6 * time.Second},
		{"visitor_profile", 4 * time.Second},
		{"retrieval", 5 * time.Second},
		{"enricher", 2 * time.Second},
	} {
		t.Run(tc.node, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := openTheater(t, shop, func(c *sitebot.Config) {
					if tc.node == "retrieval" {
						c.Retriever = func(*site.Site) sitebot.Retriever { return slowShelf{endless} }
					}
					if tc.node == "enricher" {
						c.Enricher = func(*site.Site) sitebot.Enricher { return slowEnricher{} }
					}
				})
				th.does(tc.node, sleeps(endless, "{}"))
				th.inject(t, "s", `{"turn_number":1,"profiling_state":{"last_extraction_turn":1}}`)
				started := time.Now()
				o := th.say(t, "s", "tell me")
				if took := time.Since(started); took < tc.took || took > tc.took+time.Second {
					t.Errorf("the turn took %v", took)
				}
				if len(o.Metadata.Warnings) != 1 ||
					!strings.HasPrefix(o.Metadata.Warnings[0], strings.TrimSuffix(tc.node, "_x")) {
					t.Errorf("warnings %v", o.Metadata.Warnings)
				}
				if th.Graph().Tasks() != 0 {
					t.Errorf("%d tasks are left", th.Graph().Tasks())
				}
			})
		})
	}
}

func TestSlowTasksTakeTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := openTheater(t, shop, func(c *sitebot.Config) {
			c.Retriever = func(*site.Site) sitebot.Retriever { return slowShelf{endless} }
			c.Enricher = func(*site.Site) sitebot.Enricher { return slowEnricher{} }
		})
		th.does("visitor_profile", sleeps(endless, "{}"))
		started := time.Now()
		o := th.say(t, "s", "tell me")
		if took := time.Since(started); took < 5*time.Second || took > 5500*time.Millisecond {
			t.Errorf("the turn took %v, and not the longest limit", took)
		}
		if len(o.Metadata.Warnings) != 3 {
			t.Errorf("warnings %v", o.Metadata.Warnings)
		}
	})
}

// TestResultOfSlowTurn takes what a task has found although the analysis has used up its time.
func TestResultOfSlowTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := openTheater(t, shop)
		th.does("skill_selector", sleeps(7*time.Second, `{"skills":[],"reasons":{}}`))
		o := th.say(t, "s", "tell me")
		if len(o.Metadata.Warnings) != 0 || o.Metadata.Visitor.CompanyName != "Acme" ||
			o.Metadata.Visitor.Sector != "Retail" {
			t.Errorf("%+v", o.Metadata)
		}
	})
}

func TestSlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := openTheater(t, shop)
		th.does("answer_writer", sleeps(endless, "too late"))
		started := time.Now()
		_, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "s", Input: "tell me"}, nil)
		var failed *sitebot.Error
		if !errors.As(err, &failed) || failed.Fault != sitebot.Failed || time.Since(started) > 62*time.Second {
			t.Errorf("%v after %v", err, time.Since(started))
		}
	})
}

// TestLeavingCancelsTasks holds that a route that needs no background work neither waits for it nor leaves it behind
// (2.10).
func TestLeavingCancelsTasks(t *testing.T) {
	for _, intent := range []sitebot.Intent{sitebot.Support, sitebot.Book, sitebot.Hack} {
		synctest.Test(t, func(t *testing.T) {
			th := openTheater(t, shop, func(c *sitebot.Config) {
				c.Retriever = func(*site.Site) sitebot.Retriever { return slowShelf{endless} }
				c.Enricher = func(*site.Site) sitebot.Enricher { return slowEnricher{} }
			})
			th.intent(intent)
			th.does("visitor_profile", sleeps(endless, "{}"))
			th.does("intent_classifier", sleeps(time.Second, `{"intent":"`+string(intent)+`","confidence":0.9}`))
			started := time.Now()
			for i := range 5 {
				o := th.say(t, "s"+strconv.Itoa(i), "tell me")
				if len(o.Metadata.Warnings) != 0 || th.Graph().Tasks() != 0 {
					t.Errorf("%s: warnings %v, %d tasks", intent, o.Metadata.Warnings, th.Graph().Tasks())
				}
			}
			if took := time.Since(started); took > 6*time.Second {
				t.Errorf("%s: 5 turns took %v", intent, took)
			}
		})
	}
}

// TestDisconnect leaves the session as it was (2.1, 2.8).
func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := openTheater(t, shop, func(c *sitebot.Config) {
			c.Retriever = func(*site.Site) sitebot.Retriever { return slowShelf{time.Second} }
		})
		th.say(t, "d", "hello")
		before := th.state(t, "d")
		ctx, leave := context.WithCancel(t.Context())
		th.does("between", func(context.Context, llm.Request) (string, error) { leave(); return "", nil })
		said := ""
		_, err := th.Turn(ctx, sitebot.Request{Site: "shop.example", Session: "d", Input: "Hello "},
			func(e sitebot.Event) { said += e.Token })
		if !errors.Is(err, context.Canceled) || said == "" {
			t.Errorf("error %v after %q", err, said)
		}
		after := th.state(t, "d")
		for name := range before {
			if !same(before[name], after[name]) {
				t.Errorf("%s: %v, before %v", name, after[name], before[name])
			}
		}
		if th.Graph().Tasks() != 0 {
			t.Errorf("%d tasks are left", th.Graph().Tasks())
		}
		th.does("between", nil)
		if o := th.say(t, "d", "and now?"); o.Metadata.TurnNumber != 1 {
			t.Errorf("turn %d", o.Metadata.TurnNumber)
		}
	})
}

// TestBusy refuses a second message at once, without counting it, and lets other sessions be (2.9).
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := openTheater(t, shop)
		th.does("answer_writer", sleeps(10*time.Second, "At last."))
		var first sync.WaitGroup
		first.Go(func() { th.say(t, "b", "hello") })
		synctest.Wait()
		started := time.Now()
		_, err := th.Turn(t.Context(), sitebot.Request{Site: "WWW.Shop.example", Session: "b", Input: "hello"}, nil)
		var busy *sitebot.Error
		if !errors.As(err, &busy) || busy.Fault != sitebot.Busy || time.Since(started) > 0 {
			t.Errorf("%v after %v", err, time.Since(started))
		}
		first.Wait()
		th.does("answer_writer", nil)
		if o := th.say(t, "b", "Hello"); th.state(t, "b")["spam_count"] != 1.0 || o.Metadata.TurnNumber != 1 {
			t.Errorf("spam_count %v", th.state(t, "b")["spam_count"])
		}
	})
}

// TestSessionsAtOnce holds a thousand conversations side by side, 200 under the race detector.
func TestSessionsAtOnce(t *testing.T) {
	const turns = 2
	sessions := 1000
	if race.Enabled {
		sessions = 200
	}
	th := openTheater(t, shop)
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			session := "s" + strconv.Itoa(i)
			for turn := range turns {
				input := session + " message " + strconv.Itoa(turn)
				o, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: session, Input: input},
					func(sitebot.Event) {})
				// There may be warnings: on a machine this busy, background tasks run out of time.
				if err != nil || o.Metadata.TurnNumber != turn || o.Response != replies["answer_writer"] {
					t.Errorf("%s: %+v %v", session, o, err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range sessions {
		session := "s" + strconv.Itoa(i)
		if s := th.state(t, session); len(s["messages"].([]any)) != 2*turns ||
			s["last_input"] != hashOf(session+" message "+strconv.Itoa(turns-1)) {
			t.Fatalf("%s: %v", session, s["messages"])
		}
	}
	if th.Graph().Tasks() != 0 {
		t.Errorf("%d tasks are left", th.Graph().Tasks())
	}
}

// TestDeterminism holds one conversation again and again, with models that take their time at random: the state is the
// same byte for byte.
func TestDeterminism(t *testing.T) {
	inputs := []string{
		"What do you sell?", "We are Acme", "Series A, what is the price?", "I need it on Monday", "yes please",
		"What does shipping cost?", "broken", "ada@example.com", "Thanks", "50",
	}
	runs := 200
	if race.Enabled {
		runs = 40
	}
	var first []string
	for run := range runs {
		var states []string
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.delay = func(ctx context.Context) {
				_, _ = sleeps(time.Duration(rand.IntN(50))*time.Millisecond, "")(ctx, llm.Request{})
			}
			for _, input := range inputs {
				s.say(t, "d", input)
				data, err := s.State(t.Context(), "shop.example", "d")
				if err != nil {
					t.Fatal(err)
				}
				states = append(states, string(data))
			}
		})
		if first == nil {
			first = states
		}
		for i, state := range states {
			if state != first[i] {
				t.Fatalf("run %d, turn %d:\n%s\nis not\n%s", run, i, state, first[i])
			}
		}
	}
	if !slices.ContainsFunc(first, func(s string) bool { return strings.Contains(s, `"converted":true`) }) {
		t.Error("the conversation never came to the booking")
	}
}

func same(a, b any) bool { return jsonOf(a) == jsonOf(b) }
