package sitebot

import (
	"log/slog"

	"rehearse/internal/draw"
)

// Drawing returns the graph that every turn runs, to be drawn: the same definition that runs (S3.8).
func Drawing() (draw.Graph, error) {
	b := &Bot{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	if err := b.compile(); err != nil {
		return draw.Graph{}, err
	}
	return b.graph.Drawing(), nil
}
