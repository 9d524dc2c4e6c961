package sitebot

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"rehearse/internal/graph"
	"rehearse/internal/llm"
	"rehearse/internal/sitebot/enrich"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// Models are what a site's nodes ask. Fast classifies and redirects, Default does everything else.
type Models struct{ Default, Fast llm.Model }

// Retriever finds what a site's documents say. Implementations are safe for concurrent use.
type Retriever interface {
	Retrieve(ctx context.Context, query string) (string, error)
}

// Enricher finds out who a visitor is. Implementations are safe for concurrent use.
type Enricher interface {
	Find(ctx context.Context, v enrich.Visitor) (enrich.Profile, []enrich.Attempt)
}

// Leads are told of visitors who gave their address. Capture returns at once; delivery is the implementation's business.
type Leads interface {
	Capture(c lead.Capture)
}

// Locks keep two turns of one session apart.
type Locks interface {
	// Lock takes the key; ok is false when it is taken already. Unlock gives it back and may be called once.
	Lock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}

// Config is what a Bot works with. Sites and Models are needed. Without Prompts the built-in ones are used, without Checkpoints sessions are
// kept in memory; what else is nil is left out.
type Config struct {
	Sites *site.Library
	// Models, Retriever, Enricher and Leads return what a site is configured with.
	Models      func(s *site.Site) (Models, error)
	Retriever   func(s *site.Site) Retriever
	Enricher    func(s *site.Site) Enricher
	Leads       func(s *site.Site) Leads
	Prompts     *prompt.Set
	Checkpoints graph.Checkpointer
	Locks       Locks
	Log         *slog.Logger
	// Guard makes nodes fail that change what they may only read; tests switch it on.
	Guard bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Bot answers the visitors of sites. It is safe for concurrent use.
type Bot struct {
	Config
	graph *graph.Graph[State]
}

// turn is what the nodes of one turn share besides the state.
type turn struct {
	*rules
	request Request
	models  Models
	leads   Leads
	meter   meter
	// retriever and enricher are nil where the site has none.
	retriever Retriever
	enricher  Enricher
	// waits is when the answer first waited for a background task; waiting sets it.
	waiting sync.Once
	waits   time.Time
}

type turnKey struct{}

// turnOf returns the turn of a node's context.
func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}
