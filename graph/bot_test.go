package graph_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// The state of a chatbot: what tests and benchmarks of whole turns work with.
type (
	botState struct {
		Messages  []message         `json:"messages"`
		Input     string            `json:"input"`
		Response  string            `json:"response"`
		Docs      string            `json:"retrieved_docs"`
		Site      string            `json:"site_name"`
		Route     string            `json:"next_route"`
		Turn      int               `json:"turn_number"`
		Profile   map[string]string `json:"visitor_profile"`
		Dialog    dialog            `json:"dialog_supervision_state"`
		Interest  interest          `json:"interest_signals_state"`
		Form      map[string]string `json:"form_collection_state"`
		Intent    intent            `json:"intent_classification_state"`
		Router    router            `json:"intent_router_state"`
		Skills    skills            `json:"skill_selection_state"`
		Booking   booking           `json:"booking_state"`
		Profiling map[string]string `json:"profiling_state"`
		Hacks     int               `json:"hack_count"`
		Spam      int               `json:"spam_count"`
		LastInput string            `json:"last_input"`
		FollowUps []string          `json:"suggested_follow_ups"`
		Answers   []string          `json:"suggested_answers"`
		CTA       map[string]string `json:"cta_url_overrides"`
		Warnings  []string          `json:"warnings"`
		Reveal    string            `json:"-"`
	}
	message struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	dialog struct {
		ProposedEver bool   `json:"demo_was_proposed_ever"`
		ProposedLast bool   `json:"demo_was_proposed_last_turn"`
		Asks         int    `json:"ask_count"`
		Email        string `json:"captured_email"`
	}
	interest struct {
		Cumulative int      `json:"cumulative"`
		Seen       []string `json:"seen"`
	}
	intent struct {
		Intent     string   `json:"intent"`
		Confidence float64  `json:"confidence"`
		History    []string `json:"history"`
	}
	router struct {
		Action string `json:"action"`
		Route  string `json:"route"`
		Reason string `json:"reason"`
	}
	skills struct {
		Skills  []string          `json:"skills"`
		Applied []string          `json:"applied"`
		Reasons map[string]string `json:"reasons"`
	}
	booking struct {
		Active bool              `json:"active"`
		Field  string            `json:"field"`
		Values map[string]string `json:"values"`
	}
)

var (
	messages = graph.Append(func(s *botState) *[]message { return &s.Messages }).Keyed(func(m message) string {
		return m.ID
	})
	input     = graph.Last(func(s *botState) *string { return &s.Input })
	response  = graph.Last(func(s *botState) *string { return &s.Response }).PerTurn()
	docs      = graph.Last(func(s *botState) *string { return &s.Docs }).PerTurn()
	site      = graph.Last(func(s *botState) *string { return &s.Site })
	route     = graph.Last(func(s *botState) *string { return &s.Route }).PerTurn()
	turn      = graph.Last(func(s *botState) *int { return &s.Turn })
	profile   = graph.Merge(func(s *botState) *map[string]string { return &s.Profile }, overlay)
	dialogue  = graph.Merge(func(s *botState) *dialog { return &s.Dialog }, mergeDialog)
	interests = graph.Last(func(s *botState) *interest { return &s.Interest })
	form      = graph.Merge(func(s *botState) *map[string]string { return &s.Form }, overlay)
	intents   = graph.Last(func(s *botState) *intent { return &s.Intent })
	routing   = graph.Last(func(s *botState) *router { return &s.Router }).PerTurn()
	skillset  = graph.Last(func(s *botState) *skills { return &s.Skills }).PerTurn()
	bookings  = graph.Last(func(s *botState) *booking { return &s.Booking })
	profiling = graph.Merge(func(s *botState) *map[string]string { return &s.Profiling }, overlay)
	hacks     = graph.Last(func(s *botState) *int { return &s.Hacks }).Retained()
	spam      = graph.Last(func(s *botState) *int { return &s.Spam }).Retained()
	lastInput = graph.Last(func(s *botState) *string { return &s.LastInput }).Retained()
	followUps = graph.Last(func(s *botState) *[]string { return &s.FollowUps }).PerTurn()
	answers   = graph.Last(func(s *botState) *[]string { return &s.Answers }).PerTurn()
	cta       = graph.Last(func(s *botState) *map[string]string { return &s.CTA }).PerTurn()
	warnings  = graph.Append(func(s *botState) *[]string { return &s.Warnings }).PerTurn()
	reveal    = graph.Last(func(s *botState) *string { return &s.Reveal })
)

var (
	retrieval = graph.NewTask[string]("retrieval")
	enricher  = graph.NewTask[map[string]string]("enricher")
	profiler  = graph.NewTask[map[string]string]("profile")
)

func overlay(old, written map[string]string) map[string]string {
	if old == nil {
		return written
	}
	maps.Copy(old, written)
	return old
}

func mergeDialog(old, written dialog) dialog {
	written.ProposedEver = written.ProposedEver || old.ProposedEver
	written.Asks = max(written.Asks, old.Asks)
	if written.Email == "" {
		written.Email = old.Email
	}
	return written
}

type botUpdate = graph.Update[botState]

// newBot returns the builder of a graph like that of the website chatbot. What its models would say follows from the
// input: "redirect" and "book" take the short ways, "converted" the way after a booking.
func newBot() *graph.Builder[botState] {
	b := graph.New("bot", messages, input, response, docs, site, route,
		turn, profile, dialogue, interests, form, intents, routing, skillset,
		bookings, profiling, hacks, spam, lastInput, followUps, answers, cta, warnings, reveal)
	b.Warn(func(node string, err error) graph.Write[botState] { return warnings.Add(node + ": " + err.Error()) })
	addTasks(b)
	addAnalysis(b)
	addAnswers(b)
	addClosing(b)
	return b
}

func addTasks(b *graph.Builder[botState]) {
	b.Node("retrieval_task_starter", func(ctx context.Context, s botState) (botUpdate, error) {
		return nil, retrieval.Start(ctx, func(context.Context) (string, error) { return "docs for " + s.Input, nil })
	})
	b.Node("enricher_task_starter", func(ctx context.Context, s botState) (botUpdate, error) {
		return nil, enricher.Start(ctx, func(context.Context) (map[string]string, error) {
			return map[string]string{"company": "Acme"}, nil
		})
	})
	b.Node("visitor_profile_task_starter", func(ctx context.Context, s botState) (botUpdate, error) {
		return nil, profiler.Start(ctx, func(context.Context) (map[string]string, error) {
			return map[string]string{"need": "demo"}, nil
		})
	})
	await := func(task graph.Task[map[string]string]) func(context.Context, botState) (botUpdate, error) {
		return func(ctx context.Context, s botState) (botUpdate, error) {
			found, err := task.Await(ctx, 2*time.Second)
			return botUpdate{profile.Set(found)}, err
		}
	}
	b.Node("enricher_awaiter", await(enricher)).OrElse(nil)
	b.Node("visitor_profile_awaiter", await(profiler)).OrElse(nil)
	b.Node("retrieval_awaiter", func(ctx context.Context, s botState) (botUpdate, error) {
		found, err := retrieval.Await(ctx, 5*time.Second)
		return botUpdate{docs.Set(found)}, err
	}).OrElse(nil)
	b.Edge(graph.Start, "retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter",
		"system_router")
	for _, starter := range []string{
		"retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter",
	} {
		b.Edge(starter, graph.End)
	}
	b.Edge("enricher_awaiter", "visitor_profile_awaiter")
	b.Edge("visitor_profile_awaiter", "skill_applier")
	b.Edge("skill_applier", "retrieval_awaiter")
	b.Edge("retrieval_awaiter", "answer_writer")
}

func addAnalysis(b *graph.Builder[botState]) {
	b.Node("system_router", func(_ context.Context, s botState) (botUpdate, error) {
		if s.Input == "converted" {
			return botUpdate{route.Set("POST_CONVERSION")}, nil
		}
		return botUpdate{route.Set("AGENTIC")}, nil
	})
	b.Branch("system_router", func(s botState) string {
		return map[string]string{
			"AGENTIC": "agentic_system_entry", "POST_CONVERSION": "post_conversion_handler",
		}[s.Route]
	}, "agentic_system_entry", "post_conversion_handler")
	b.Node("agentic_system_entry", func(context.Context, botState) (botUpdate, error) { return nil, nil })
	b.Edge("agentic_system_entry", "intent_classifier", "interest_signals_detector", "skill_selector")
	b.Node("intent_classifier", func(_ context.Context, s botState) (botUpdate, error) {
		history := append(s.Intent.History, "LEARN")
		return botUpdate{intents.Set(intent{"LEARN", 0.9, history[max(0, len(history)-20):]})}, nil
	}).Limit(8 * time.Second).OrElse(func(s botState, _ error) botUpdate {
		return botUpdate{intents.Set(intent{Intent: "LEARN"})}
	})
	b.Node("interest_signals_detector", func(_ context.Context, s botState) (botUpdate, error) {
		return botUpdate{interests.Set(interest{min(s.Interest.Cumulative+1, 100), []string{"pricing"}})}, nil
	}).Limit(8 * time.Second).OrElse(nil)
	b.Node("skill_selector", func(_ context.Context, s botState) (botUpdate, error) {
		return botUpdate{skillset.Set(skills{
			Skills: []string{"suggest_follow_up"}, Reasons: map[string]string{"suggest_follow_up": "open"},
		})}, nil
	}).Limit(8 * time.Second).OrElse(nil)
	for _, node := range []string{"intent_classifier", "interest_signals_detector", "skill_selector"} {
		b.Edge(node, "intent_router")
	}
	b.Node("intent_router", func(_ context.Context, s botState) (botUpdate, error) {
		way := "ANSWER"
		switch s.Input {
		case "redirect":
			way = "REDIRECT"
		case "book":
			way = "BOOKING"
		}
		return botUpdate{routing.Set(router{"EDUCATE", way, "first match"}), route.Set(way)}, nil
	})
	b.Branch("intent_router", func(s botState) string {
		return map[string]string{
			"ANSWER": "enricher_awaiter", "REDIRECT": "redirect_handler", "BOOKING": "booking_handler",
		}[s.Route]
	}, "enricher_awaiter", "redirect_handler", "booking_handler")
	b.Node("skill_applier", func(_ context.Context, s botState) (botUpdate, error) {
		s.Skills.Applied = s.Skills.Skills
		return botUpdate{skillset.Set(s.Skills)}, nil
	})
}

func addAnswers(b *graph.Builder[botState]) {
	write := func(ctx context.Context, s botState, out graph.TokenSink) (botUpdate, error) {
		text := fmt.Sprintf("Answer %d to %s: %s Shall we go on?", s.Turn, s.Input, strings.Repeat("word ", 20))
		for word := range strings.SplitAfterSeq(text, " ") {
			if err := out(ctx, word); err != nil {
				return nil, err
			}
		}
		return botUpdate{response.Set(text)}, nil
	}
	for _, node := range []string{"answer_writer", "redirect_handler", "booking_handler", "post_conversion_handler"} {
		b.Streaming(node, write).Limit(time.Minute)
	}
	for _, node := range []string{"redirect_handler", "booking_handler", "post_conversion_handler"} {
		b.Edge(node, "finalize")
	}
	b.Edge("answer_writer", "dialog_state_extractor", "form_field_extractor", "suggestion_router")
}

func addClosing(b *graph.Builder[botState]) {
	b.Node("dialog_state_extractor", func(_ context.Context, s botState) (botUpdate, error) {
		return botUpdate{dialogue.Set(dialog{ProposedLast: strings.Contains(s.Response, "👇")})}, nil
	})
	b.Node("form_field_extractor", func(_ context.Context, s botState) (botUpdate, error) {
		return botUpdate{form.Set(map[string]string{"topic": s.Input})}, nil
	}).OrElse(nil)
	b.Node("suggestion_router", func(context.Context, botState) (botUpdate, error) { return nil, nil })
	b.Branch("suggestion_router", func(s botState) string {
		if strings.HasSuffix(s.Response, "?") {
			return "answer_suggester"
		}
		return "follow_up_suggester"
	}, "answer_suggester", "follow_up_suggester", graph.End)
	b.Node("answer_suggester", func(context.Context, botState) (botUpdate, error) {
		return botUpdate{answers.Set([]string{"Yes", "No"})}, nil
	}).Limit(6 * time.Second).OrElse(nil)
	b.Node("follow_up_suggester", func(context.Context, botState) (botUpdate, error) {
		return botUpdate{followUps.Set([]string{"What does it cost?"})}, nil
	}).Limit(6 * time.Second).OrElse(nil)
	for _, node := range []string{
		"dialog_state_extractor", "form_field_extractor", "answer_suggester", "follow_up_suggester",
	} {
		b.Edge(node, "finalize")
	}
	b.Node("finalize", func(_ context.Context, s botState) (botUpdate, error) {
		return botUpdate{
			messages.Add(
				message{fmt.Sprintf("%d:u", s.Turn), "user", s.Input},
				message{fmt.Sprintf("%d:a", s.Turn), "assistant", s.Response},
			),
			turn.Set(s.Turn + 1), lastInput.Set(s.Input),
		}, nil
	})
	b.Edge("finalize", graph.End)
}

func bot(t testing.TB, c graph.Config) *graph.Graph[botState] {
	t.Helper()
	g, err := newBot().Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
