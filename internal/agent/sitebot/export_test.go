package sitebot

import "github.com/rehearse-dev/rehearse/graph"

// Graph is the graph that every turn runs.
func (b *Bot) Graph() *graph.Graph[State] { return b.graph }
