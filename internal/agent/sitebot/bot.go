package sitebot

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
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

// Leads are the receivers of leads. Implementations are safe for concurrent use.
type Leads interface {
	// Names returns those of a site by name.
	Names(site string) []string
	// Wake says that a turn has left something for them. It returns at once.
	Wake()
}

// Outbox keeps sessions with what is to be told of them. A Checkpointer that is one lets a bot tell of leads.
type Outbox interface {
	// SaveWith saves a record like Save and, in the same step, rows. A row that is there already stays as it is.
	SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error
	// Leads returns the rows of a session.
	Leads(ctx context.Context, f lead.Filter) ([]lead.Row, error)
	// Erase forgets a thread and the rows of its session, so that nothing of it can be read any more.
	Erase(ctx context.Context, thread, site, session string) error
}

// Locks keep two turns of one session apart.
type Locks interface {
	// Lock takes the key; ok is false when it is taken already. Unlock gives it back and may be called once.
	Lock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}

// Limits say which messages may come in. Implementations are safe for concurrent use.
type Limits interface {
	// Enter lets a message in. Its error is a *limit.Refusal, or says that the store is away. Leave is called once,
	// when the turn has ended.
	Enter(ctx context.Context, v limit.Visit) (leave func(context.Context, limit.Used), err error)
}

// Config is what a Bot works with. Sites and Models are needed. Without Prompts the built-in ones are used, without
// Checkpoints sessions are kept in memory; what else is nil is left out.
type Config struct {
	Sites *site.Library
	// Models, Retriever and Enricher return what a site is configured with.
	Models    func(s *site.Site) (Models, error)
	Retriever func(s *site.Site) Retriever
	Enricher  func(s *site.Site) Enricher
	// Leads are told of leads; they need Checkpoints that are an Outbox.
	Leads       Leads
	Prompts     *prompt.Set
	Checkpoints graph.Checkpointer
	// Durable keeps a record of each settled node in Checkpoints that are a graph.StepSaver: a turn that the death of
	// the process has cut short goes on when its message comes again.
	Durable bool
	Locks   Locks
	// Limits bound what visitors may ask for and what sites may spend; nil bounds nothing.
	Limits Limits
	// Elsewhere forgets what others keep of a session that is erased; nil where nobody keeps anything.
	Elsewhere func(ctx context.Context, site, session string) error
	// MarkersStand is true where the models play answers that were recorded: their markers are taken as they stand,
	// like those of a history.
	MarkersStand bool
	// Rated is told of thumbs for turns that have a trace; nil tells nobody. It returns at once.
	Rated func(site, session, traceID string, f sessionindex.Feedback)
	Log   *slog.Logger
	// Guard makes nodes fail that change what they may only read; tests switch it on.
	Guard bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Bot answers the visitors of sites. It is safe for concurrent use.
type Bot struct {
	Config
	graph   *graph.Graph[State]
	hurries hurries
}

// turn is what the nodes of one turn share besides the state.
type turn struct {
	*rules
	request Request
	models  Models
	meter   meter
	started time.Time
	// receivers name who is told of the site's leads, before is the state at the beginning of the turn, and after that
	// at its end.
	receivers     []string
	before, after *State
	// restarted is true when the page believes in a session that there is no more.
	restarted bool
	// spam is how often the message was repeated, and block why it is not answered.
	spam  int
	block Block
	watch *stopwatch
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
