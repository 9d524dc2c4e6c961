package graph

import (
	"context"
	"strings"
	"sync"
)

// gate lets the tokens of a node through until it is closed.
type gate struct {
	mu   sync.Mutex
	sink func(ctx context.Context, text string) error // nil once it is closed
	used bool
	kept *strings.Builder // what was written, nil when nobody needs it
}

func (g *gate) write(ctx context.Context, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sink == nil {
		return ErrFinished
	}
	g.used = true
	if g.kept != nil {
		g.kept.WriteString(text)
	}
	return g.sink(ctx, text)
}

func (g *gate) wrote() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}

// text returns what was written.
func (g *gate) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		return ""
	}
	return g.kept.String()
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sink = nil
}
