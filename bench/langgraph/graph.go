package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// compile draws the graph of internal/agent/sitebot/structure.go with bodies that ask no model. langgraph.mjs has the
// same, node for node.
func compile(c graph.Config) (*graph.Graph[state], error) {
	g := graph.New("bench", messages, input, response, docs, site, session, route, turnNumber, visitor, dialogue,
		interests, form, intent, router, skillset, profiling, lastInput, followUps, answers)
	defineTasks(g)
	defineAnalysis(g)
	defineAnswer(g)

	g.Edge(graph.Start, "retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter",
		"system_router")
	for _, starter := range []string{
		"retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter",
	} {
		g.Edge(starter, graph.End)
	}
	g.Branch("system_router", func(s state) string {
		if s.Route == "POST_CONVERSION" {
			return "post_conversion_handler"
		}
		return "agentic_system_entry"
	}, "post_conversion_handler", "agentic_system_entry")
	for _, node := range []string{
		"intent_classifier", "interest_signals_detector", "skill_selector", "early_profile_extractor",
	} {
		g.Edge("agentic_system_entry", node)
		g.Edge(node, "intent_router")
	}
	g.Branch("intent_router", func(s state) string {
		switch s.Route {
		case "REDIRECT":
			return "redirect_handler"
		case "BOOKING":
			return "booking_handler"
		}
		return "enricher_awaiter"
	}, "redirect_handler", "booking_handler", "enricher_awaiter")
	g.Edge("enricher_awaiter", "visitor_profile_awaiter")
	g.Edge("visitor_profile_awaiter", "skill_applier")
	g.Edge("skill_applier", "retrieval_awaiter")
	g.Edge("retrieval_awaiter", "answer_writer")
	g.Edge("answer_writer", "dialog_state_extractor", "form_field_extractor", "suggestion_router")
	g.Branch("suggestion_router", func(s state) string {
		if strings.HasSuffix(s.Response, "?") {
			return "answer_suggester"
		}
		return "follow_up_suggester"
	}, "answer_suggester", "follow_up_suggester", "finalize")
	for _, node := range []string{
		"dialog_state_extractor", "form_field_extractor", "answer_suggester", "follow_up_suggester",
		"redirect_handler", "booking_handler", "post_conversion_handler",
	} {
		g.Edge(node, "finalize")
	}
	g.Edge("finalize", graph.End)
	return g.Compile(c)
}

var (
	retrieval = graph.NewTask[string]("retrieval")
	enricher  = graph.NewTask[map[string]string]("enricher")
	profiler  = graph.NewTask[map[string]string]("profile")
)

func defineTasks(g *graph.Builder[state]) {
	defineTask(g, "retrieval", retrieval, docs, func(s state) string { return "What is known of " + s.Input })
	defineTask(g, "enricher", enricher, visitor, func(state) map[string]string {
		return map[string]string{"company": "Acme"}
	})
	defineTask(g, "visitor_profile", profiler, visitor, func(state) map[string]string {
		return map[string]string{"need": "demo"}
	})
}

func defineTask[T any](g *graph.Builder[state], name string, task graph.Task[T], field *graph.Field[state, T],
	find func(state) T) {
	g.Node(name+"_task_starter", func(ctx context.Context, s state) (update, error) {
		return nil, task.Start(ctx, func(context.Context) (T, error) { return find(s), nil })
	})
	g.Node(name+"_awaiter", func(ctx context.Context, _ state) (update, error) {
		found, err := task.Await(ctx, time.Second)
		return update{field.Set(found)}, err
	})
}

func defineAnalysis(g *graph.Builder[state]) {
	g.Node("system_router", func(context.Context, state) (update, error) { return update{route.Set("AGENTIC")}, nil })
	g.Node("agentic_system_entry", func(context.Context, state) (update, error) { return nil, nil })
	g.Node("intent_classifier", func(_ context.Context, s state) (update, error) {
		return update{intent.Set(intents{Intent: "LEARN", Confidence: 0.9, Before: s.Intents.Intent})}, nil
	})
	g.Node("interest_signals_detector", func(_ context.Context, s state) (update, error) {
		return update{
			interests.Set(interest{Cumulative: min(s.Interest.Cumulative+1, 100), Seen: []string{"pricing"}}),
		}, nil
	})
	g.Node("skill_selector", func(context.Context, state) (update, error) {
		return update{skillset.Set(&skills{
			Skills: []string{"suggest_follow_up"}, Reasons: map[string]string{"suggest_follow_up": "open"},
		})}, nil
	})
	g.Node("early_profile_extractor", func(_ context.Context, s state) (update, error) {
		return update{profiling.Set(map[string]string{"plan": s.Input})}, nil
	})
	g.Node("intent_router", func(context.Context, state) (update, error) {
		return update{
			route.Set("ANSWER"), router.Set(&decision{Action: "EDUCATE", Route: "ANSWER", Reason: "first match"}),
		}, nil
	})
	g.Node("skill_applier", func(_ context.Context, s state) (update, error) {
		s.Skills.Applied = s.Skills.Skills
		return update{skillset.Set(s.Skills)}, nil
	})
}

var words = strings.Repeat("You can try every tea for thirty days and send back what you do not like. ", 4)

func defineAnswer(g *graph.Builder[state]) {
	for _, node := range []string{"answer_writer", "redirect_handler", "booking_handler", "post_conversion_handler"} {
		g.Streaming(node, func(_ context.Context, s state, _ graph.TokenSink) (update, error) {
			return update{response.Set("Answer to " + s.Input + " " + words)}, nil
		})
	}
	g.Node("dialog_state_extractor", func(context.Context, state) (update, error) {
		return update{dialogue.Set(dialog{ProposedEver: true, Asks: 1})}, nil
	})
	g.Node("form_field_extractor", func(_ context.Context, s state) (update, error) {
		return update{form.Set(map[string]string{"topic": s.Input})}, nil
	})
	g.Node("suggestion_router", func(context.Context, state) (update, error) { return nil, nil })
	g.Node("answer_suggester", func(context.Context, state) (update, error) {
		return update{answers.Set([]string{"Yes", "No"})}, nil
	})
	g.Node("follow_up_suggester", func(context.Context, state) (update, error) {
		return update{followUps.Set([]string{"What does it cost?"})}, nil
	})
	g.Node("finalize", func(_ context.Context, s state) (update, error) {
		return update{
			messages.Add(
				message{fmt.Sprint(s.TurnNumber, ":u"), "user", s.Input},
				message{fmt.Sprint(s.TurnNumber, ":a"), "assistant", s.Response},
			),
			turnNumber.Set(s.TurnNumber + 1), lastInput.Set(s.Input),
		}, nil
	})
}
