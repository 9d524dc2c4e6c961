package sitebot

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/draw"
)

// Time limits of nodes that ask a model.
const (
	analysisLimit = 8 * time.Second
	writerLimit   = time.Minute
	suggestLimit  = 6 * time.Second
)

// nothing stands in for a node that failed and has nothing to say.
func nothing(State, error) update { return nil }

// define draws the graph: the one place that says which node leads where.
func (b *Bot) define() *graph.Builder[State] {
	g := graph.New("sitebot", columns()...)
	g.Warn(func(node string, err error) graph.Write[State] {
		b.Log.Warn("node failed", "node", node, "error", err)
		return warningsColumn.Add(node + " failed")
	})
	b.defineNodes(g)

	// The background tasks begin beside the conversation and lead nowhere: an awaiter collects what they find.
	g.Edge(graph.Start, "retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter",
		"system_router")
	g.Edge("retrieval_task_starter", graph.End)
	g.Edge("enricher_task_starter", graph.End)
	g.Edge("visitor_profile_task_starter", graph.End)

	g.Edge("system_router", "agentic_system_entry")

	// The analysis runs side by side; the router waits for all of it, and for the days that a booking step needs.
	analysis := []string{"intent_classifier", "interest_signals_detector", "skill_selector", "early_profile_extractor"}
	g.Edge("agentic_system_entry", analysis...)
	for _, node := range analysis {
		g.Edge(node, "booking_value_extractor")
	}
	g.Edge("booking_value_extractor", "intent_router")
	g.Branch("intent_router", func(s State) string {
		switch s.NextRoute {
		case RedirectRoute:
			return "redirect_handler"
		case BookingRoute:
			return "booking_handler"
		case PostConversion:
			return "retrieval_awaiter"
		}
		return "enricher_awaiter"
	}, "redirect_handler", "booking_handler", "retrieval_awaiter", "enricher_awaiter")

	g.Edge("enricher_awaiter", "visitor_profile_awaiter")
	g.Edge("visitor_profile_awaiter", "skill_applier")
	g.Edge("skill_applier", "retrieval_awaiter")
	g.Branch("retrieval_awaiter", func(s State) string {
		if s.NextRoute == PostConversion {
			return "post_conversion_handler"
		}
		return "answer_writer"
	}, "answer_writer", "post_conversion_handler")

	g.Edge("answer_writer", "dialog_state_extractor", "form_field_extractor", "suggestion_router",
		"conversation_summary")
	g.Branch("suggestion_router", func(s State) string {
		if s.Suggester == "" {
			return "finalize"
		}
		return s.Suggester
	}, "answer_suggester", "follow_up_suggester", "finalize")
	for _, node := range []string{"redirect_handler", "booking_handler", "post_conversion_handler"} {
		g.Edge(node, "conversation_summary")
	}
	for _, node := range []string{
		"dialog_state_extractor", "form_field_extractor", "answer_suggester", "follow_up_suggester",
		"conversation_summary",
	} {
		g.Edge(node, "finalize")
	}
	g.Edge("finalize", graph.End)
	return g
}

func (b *Bot) defineNodes(g *graph.Builder[State]) {
	g.Node("retrieval_task_starter", b.startRetrieval).OrElse(nothing)
	g.Node("enricher_task_starter", b.startEnrichment).OrElse(nothing)
	g.Node("visitor_profile_task_starter", b.startProfiling).OrElse(nothing)
	g.Node("system_router", b.routeSystem)
	g.Node("agentic_system_entry", func(context.Context, State) (update, error) { return nil, nil })

	g.Node("intent_classifier", b.classify).Limit(analysisLimit).OrElse(assumeLearning)
	g.Node("interest_signals_detector", b.detect).Limit(analysisLimit).OrElse(nothing)
	g.Node("skill_selector", b.selectSkills).Limit(analysisLimit).OrElse(proposeNothing)
	g.Node("early_profile_extractor", b.extract).Limit(analysisLimit).OrElse(nothing)
	g.Node("booking_value_extractor", b.readDays).Limit(analysisLimit).OrElse(leaveUnread)
	g.Node("intent_router", b.decideRoute)

	g.Node("enricher_awaiter", b.awaitEnrichment).OrElse(nothing)
	g.Node("visitor_profile_awaiter", b.awaitProfiling).OrElse(nothing)
	g.Node("skill_applier", b.applySkills)
	g.Node("retrieval_awaiter", b.awaitRetrieval).OrElse(nothing)

	g.Streaming("answer_writer", b.write).Limit(writerLimit)
	g.Streaming("redirect_handler", b.redirect).Limit(writerLimit)
	g.Streaming("booking_handler", b.book).Limit(writerLimit)
	g.Streaming("post_conversion_handler", b.afterConversion).Limit(writerLimit)

	g.Node("dialog_state_extractor", b.watch).OrElse(nothing)
	g.Node("form_field_extractor", b.fillForm).Limit(analysisLimit).OrElse(nothing)
	g.Node("suggestion_router", b.routeSuggestions)
	g.Node("answer_suggester", b.suggestAnswers).Limit(suggestLimit).OrElse(nothing)
	g.Node("follow_up_suggester", b.suggestFollowUps).Limit(suggestLimit).OrElse(nothing)
	g.Node("conversation_summary", b.summarize).Limit(suggestLimit).OrElse(nothing)
	g.Node("finalize", b.finish)
}

// routeSystem is the system_router: every message goes through the analysis.
func (b *Bot) routeSystem(context.Context, State) (update, error) {
	return update{routeColumn.Set(Agentic)}, nil
}

func (b *Bot) routeSuggestions(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	t.watch.tell(Event{Answered: true}) // the writer has ended, and nobody else has words
	return update{suggesterColumn.Set(suggester(t.rules, s.Response))}, nil
}

// compile checks the graph. What is wrong with it is a mistake of this package.
func (b *Bot) compile() error {
	g, err := b.define().Compile(graph.Config{
		Checkpoints: b.saver(), Durable: b.Durable, Observer: spans{}, Log: b.Log, Guard: b.Guard,
	})
	if err != nil {
		return fmt.Errorf("sitebot: %w", err)
	}
	b.graph = g
	return nil
}

// Drawing returns the graph that every turn runs, to be drawn: the same definition that runs.
func Drawing() (draw.Graph, error) {
	b := &Bot{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	if err := b.compile(); err != nil {
		return draw.Graph{}, err
	}
	structure := b.graph.Drawing()
	drawn := draw.Graph{Title: structure.Name}
	for i, n := range structure.Nodes {
		node := draw.Node{ID: n.Name}
		switch {
		case i == 0:
			node.Shape = draw.Start
		case i == len(structure.Nodes)-1:
			node.Shape, node.Tone = draw.End, draw.Good
		case n.Branches:
			node.Shape = draw.Decision
		}
		if n.Streams {
			node.Note, node.Tone = "streams", draw.Accent
		}
		drawn.Nodes = append(drawn.Nodes, node)
	}
	for _, e := range structure.Edges {
		edge := draw.Edge{From: e.From, To: e.To}
		if e.Chosen {
			edge.Style = draw.Dashed
		}
		drawn.Edges = append(drawn.Edges, edge)
	}
	return drawn, nil
}
