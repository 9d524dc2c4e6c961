package sitebot

import "rehearse/graph"

// Graph is the graph that every turn runs.
func (b *Bot) Graph() *graph.Graph[State] { return b.graph }
