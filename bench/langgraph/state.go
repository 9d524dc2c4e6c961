package main

import (
	"maps"

	"github.com/rehearse-dev/rehearse/graph"
)

// state is that of the website chatbot, cut down to what both runtimes write. Its JSON is the same on both.
type state struct {
	Messages   []message         `json:"messages"`
	Input      string            `json:"input"`
	Response   string            `json:"response"`
	Docs       string            `json:"retrieved_docs"`
	Site       string            `json:"site_name"`
	Session    string            `json:"session_id"`
	Route      string            `json:"next_route"`
	TurnNumber int               `json:"turn_number"`
	Visitor    map[string]string `json:"visitor_profile"`
	Dialog     dialog            `json:"dialog_state"`
	Interest   interest          `json:"interest"`
	Form       map[string]string `json:"form"`
	Intents    intents           `json:"intents"`
	Router     *decision         `json:"router"`
	Skills     *skills           `json:"skills"`
	Profiling  map[string]string `json:"profiling"`
	LastInput  string            `json:"last_input"`
	FollowUps  []string          `json:"follow_ups"`
	Answers    []string          `json:"answers"`
}

type (
	message struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	dialog struct {
		ProposedEver bool `json:"proposed_ever"`
		ProposedLast bool `json:"proposed_last_turn"`
		Asks         int  `json:"ask_count"`
	}
	interest struct {
		Cumulative int      `json:"cumulative"`
		Seen       []string `json:"seen"`
	}
	intents struct {
		Intent     string  `json:"intent"`
		Confidence float64 `json:"confidence"`
		Before     string  `json:"before"`
	}
	decision struct {
		Action string `json:"action"`
		Route  string `json:"route"`
		Reason string `json:"reason"`
	}
	skills struct {
		Skills  []string          `json:"skills"`
		Applied []string          `json:"applied"`
		Reasons map[string]string `json:"reasons"`
	}
)

// How writes reach each field. They are declarations and never change.
var (
	messages = graph.Append(func(s *state) *[]message { return &s.Messages }).Keyed(func(m message) string {
		return m.ID
	})
	input      = graph.Last(func(s *state) *string { return &s.Input })
	response   = graph.Last(func(s *state) *string { return &s.Response }).PerTurn()
	docs       = graph.Last(func(s *state) *string { return &s.Docs }).PerTurn()
	site       = graph.Last(func(s *state) *string { return &s.Site })
	session    = graph.Last(func(s *state) *string { return &s.Session })
	route      = graph.Last(func(s *state) *string { return &s.Route }).PerTurn()
	turnNumber = graph.Last(func(s *state) *int { return &s.TurnNumber })
	visitor    = graph.Merge(func(s *state) *map[string]string { return &s.Visitor }, overlay)
	dialogue   = graph.Merge(func(s *state) *dialog { return &s.Dialog }, mergeDialogs)
	interests  = graph.Last(func(s *state) *interest { return &s.Interest })
	form       = graph.Merge(func(s *state) *map[string]string { return &s.Form }, overlay)
	intent     = graph.Last(func(s *state) *intents { return &s.Intents })
	router     = graph.Last(func(s *state) **decision { return &s.Router }).PerTurn()
	skillset   = graph.Last(func(s *state) **skills { return &s.Skills }).PerTurn()
	profiling  = graph.Merge(func(s *state) *map[string]string { return &s.Profiling }, overlay)
	lastInput  = graph.Last(func(s *state) *string { return &s.LastInput })
	followUps  = graph.Last(func(s *state) *[]string { return &s.FollowUps }).PerTurn()
	answers    = graph.Last(func(s *state) *[]string { return &s.Answers }).PerTurn()
)

type update = graph.Update[state]

func overlay(old, written map[string]string) map[string]string {
	if old == nil {
		return written
	}
	maps.Copy(old, written)
	return old
}

func mergeDialogs(old, written dialog) dialog {
	written.ProposedEver = written.ProposedEver || old.ProposedEver
	written.Asks = max(written.Asks, old.Asks)
	return written
}
