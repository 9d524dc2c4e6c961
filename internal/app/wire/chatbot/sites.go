package chatbot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/retrieve"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay/eventlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Options say which chatbots to open and where their sessions are stored.
type Options struct {
	// Dir is a folder of sites, the file of one, or a database of them. Prompts is a folder of prompt files; it may be
	// empty.
	Dir, Prompts string
	// Model replaces the model of every site; empty leaves it to each site's file.
	Model string
	// Store is the path of a file or the address postgres://… of a database. Without one, sessions are kept in memory.
	// Redis is the address of a server for the states of sessions, besides a Store.
	Store, Redis string
	// TTL is how long a session is kept after its last message; 0 keeps it for good.
	TTL time.Duration
	// Limited has the limits of the sites hold: for a server, whose visitors are strangers.
	Limited bool
	// Durable keeps a record for each settled node, so that a turn goes on after the death of the process.
	Durable bool
}

// InDatabase reports whether the sites are in a database, which is in no folder.
func (o Options) InDatabase() bool { return siteconfig.IsAddress(o.Dir) }

// Sites are the chatbots of a place with everything that they use.
type Sites struct {
	// Bot takes the turns of all of them.
	Bot *sitebot.Bot
	*Source
	// Server stores the states of sessions; nil when the database does.
	Server *store.Redis

	Config
	options Options
	// registry has the prompts of Langfuse; nil without.
	registry *prompt.Langfuse
	parts    map[string]*siteParts
	// lasting says that sessions outlive the process. closing closes what keeps them, in order.
	lasting bool
	closing []func() error
	// receivers get the leads of all sites; courier brings them, and is nil where there are none.
	receivers map[lead.Address]lead.Receiver
	courier   *lead.Dispatcher
	chains    []*enrich.Chain
	// scores send feedback to Langfuse; nil without it.
	scores *langfuse.ScoreQueue
	// caches remember visitors' companies, by site; history is the store of logged events, nil without one.
	caches  map[string]*enrich.Cached
	history *storage.History
}

// siteParts are the open parts of one site.
type siteParts struct {
	models    sitebot.Models
	retriever sitebot.Retriever
	enricher  sitebot.Enricher
}

// Config is what chatbots are opened with.
type Config struct {
	Files  source.Files
	Getenv func(name string) string
	// Secret returns a variable that a site names for a secret.
	Secret func(variable string) string
	Log    *slog.Logger
	Now    func() time.Time
	// Warn gets a sentence about each problem that stops nothing.
	Warn func(text string)
	// Transport carries requests, Services those whose answers are recorded, Receipts those whose answers do not
	// matter.
	Transport, Services, Receipts http.RoundTripper
	// LocalPrompt leaves out Langfuse's prompts. Dry opens nothing that makes requests.
	LocalPrompt, Dry bool
	// Model finds a model by its name, OpenModel opens it.
	Model     func(name string) (config.Model, error)
	OpenModel func(name string) (llm.Model, error)
	// Knowledge opens a folder of knowledge bases.
	Knowledge func(folder string) (*knowledge.Library, error)
	// Langfuse returns a client.
	Langfuse func() (*langfuse.Client, error)
}

// Open opens the chatbots of a source with everything that they name.
func Open(ctx context.Context, c Config, from *Source, o Options) (*Sites, error) {
	s := &Sites{
		Source: from, Config: c, options: o, parts: map[string]*siteParts{},
		receivers: map[lead.Address]lead.Receiver{}, caches: map[string]*enrich.Cached{},
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sites) open(ctx context.Context) error {
	for _, warning := range s.Library.Warnings() {
		s.Log.Warn("site", "problem", warning.String())
	}
	sessions, locks, err := s.sessions(ctx)
	if err != nil {
		return err
	}
	prompts := s.promptSet(ctx)
	for _, one := range s.Library.Sites() {
		warnings, err := prompts.Check(ctx, one)
		if err != nil {
			return source.AsInvalid(err)
		}
		for _, warning := range warnings {
			s.Log.Warn("prompt", "site", one.Name, "problem", warning.String())
		}
		if s.parts[one.Name], err = s.partsOf(one); err != nil {
			return err
		}
		s.Log.Info("site", "name", one.Name, "language", one.Language, "fields", len(one.Fields()), "file", one.File)
	}
	var leads sitebot.Leads
	if s.courier = s.openCourier(sessions); s.courier != nil {
		leads = s.courier
	}
	var rated func(site, session, traceID string, f sessionindex.Feedback)
	if s.options.Limited && !s.Dry && langfuse.Configured(s.Getenv) { // a server's visitors
		client, err := s.Langfuse()
		if err != nil {
			return err
		}
		s.scores = langfuse.NewScoreQueue(client, func(text string, err error) { s.Log.Warn(text, "error", err) })
		rated = s.rated
	}
	s.Bot, err = sitebot.New(sitebot.Config{
		Sites: s.Library, Limits: s.limits(sessions), Leads: leads, Elsewhere: s.eraseElsewhere, Rated: rated,
		Prompts: prompts, Checkpoints: sessions, Durable: s.options.Durable, Locks: locks, Log: s.Log, Now: s.Now,
		Models:    func(one *site.Site) (sitebot.Models, error) { return s.parts[one.Name].models, nil },
		Retriever: func(one *site.Site) sitebot.Retriever { return s.parts[one.Name].retriever },
		Enricher:  func(one *site.Site) sitebot.Enricher { return s.parts[one.Name].enricher },
	})
	return err
}

// partsOf opens the parts that a site names.
func (s *Sites) partsOf(one *site.Site) (*siteParts, error) {
	p := &siteParts{}
	var err error
	names := siteModels(s.options, one)
	if p.models.Default, err = s.modelFor(one, names[0]); err != nil {
		return nil, err
	}
	if p.models.Fast, err = s.modelFor(one, names[1]); err != nil {
		return nil, err
	}
	if p.retriever, err = s.retrieverFor(one); err != nil {
		return nil, err
	}
	if p.enricher, err = s.enricherFor(one); err != nil {
		return nil, err
	}
	return p, s.receiversOf(one)
}

// retrieverFor opens a site's knowledge. Sites with folders side by side share one index.
func (s *Sites) retrieverFor(one *site.Site) (sitebot.Retriever, error) {
	kb := one.KnowledgeBase
	switch {
	case kb.LightRAG != nil:
		client, err := retrieve.NewLightRAG(retrieve.Options{
			URL: kb.LightRAG.URL, Mode: kb.LightRAG.Mode, Key: s.Secret(kb.LightRAG.APIKeyEnv), Transport: s.Services,
		})
		if err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
		return client, nil
	case kb.Folder == "" || !s.Files.IsFolder(kb.Folder): // the library has warned of the missing folder
		return nil, nil
	}
	library, err := s.Knowledge(filepath.Dir(kb.Folder))
	if err != nil {
		return nil, source.Invalid("%s: knowledge_base: %w", one.File, err)
	}
	return retrieve.Embedded{Knowledge: library, Base: filepath.Base(kb.Folder)}, nil
}

// modelFor opens the model of a site, once for each name.
func (s *Sites) modelFor(one *site.Site, name string) (llm.Model, error) {
	if _, err := s.model(one, name); err != nil {
		return nil, err
	}
	model, err := s.OpenModel(name)
	if source.IsInvalid(err) {
		return nil, source.Invalid("%s: %w; name one with --model", one.File, err)
	}
	return model, err
}

// feedbackScore is the name of the score of a visitor's feedback.
const feedbackScore = "visitor_feedback"

// rated sends feedback for the trace of a turn to Langfuse. It returns at once.
func (s *Sites) rated(site, session, traceID string, f sessionindex.Feedback) {
	sum := sha256.Sum256([]byte(feedbackScore + "\x00" + site + "\x00" + session + "\x00" + traceID))
	score := langfuse.Score{ID: hex.EncodeToString(sum[:16]), Name: feedbackScore, TraceID: traceID}
	if f.Rating == sessionindex.Up {
		score.Value = 1
	}
	s.scores.Add(score)
}

// limits returns the limiter of the sites, whose counts are stored with the sessions; nil where there are no limits, as
// in tests.
func (s *Sites) limits(sessions sessionStore) sitebot.Limits {
	if !s.options.Limited {
		return nil
	}
	counts, ok := sessions.(limit.Store)
	if !ok {
		counts = &limit.Memory{}
	}
	return limit.NewLimiter(counts, s.Now, s.Log)
}

// WithoutBudget returns the names of the sites that do not bound what they spend in a day.
func (s *Sites) WithoutBudget() (names []string) {
	for _, one := range s.Library.Sites() {
		if !one.Limits.HasBudget() {
			names = append(names, one.Name)
		}
	}
	return names
}

// SetHistory lets sessions be erased in a store of logged events, too, and with logTurns logs the turns of visitors
// there until stop is called.
func (s *Sites) SetHistory(h *storage.History, logTurns bool) (stop func()) {
	s.history = h
	index, ok := s.Bot.Checkpoints.(sessionindex.Index)
	if !logTurns || !ok {
		return func() {}
	}
	return eventlog.New(eventlog.Config{
		Register: index, Sessions: s.Bot, Log: h.Events, Now: s.Now,
		Trouble: func(err error) { s.Log.Error("turns of visitors are not logged; it is tried again", "error", err) },
	}).Close
}

// ForTargets returns how targets open their chatbots (target.Parts.Site).
func ForTargets(
	open func(target.SiteConfig) (*Sites, error),
) func(target.SiteConfig) (*sitebot.Bot, string, error) {
	return func(c target.SiteConfig) (*sitebot.Bot, string, error) {
		s, err := open(c)
		if err != nil {
			return nil, "", err
		}
		name, err := s.Choose(c.Name)
		return s.Bot, name, err
	}
}

// closeLimit bounds how long Close waits for leads under way.
const closeLimit = 15 * time.Second

// Close closes everything, after leads under way have been delivered.
func (s *Sites) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var faults []error
	if s.registry != nil {
		s.registry.Close()
	}
	if s.scores != nil {
		s.scores.Close(ctx)
	}
	if s.courier != nil {
		faults = append(faults, s.courier.Close(ctx))
	}
	for _, chain := range s.chains {
		faults = append(faults, chain.Close(ctx))
	}
	for _, closing := range s.closing {
		faults = append(faults, closing())
	}
	err := errors.Join(faults...)
	if err != nil {
		s.Log.Warn("closing the sites", "error", err)
	}
	return err
}
