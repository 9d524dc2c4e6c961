package wire

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/retrieve"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/siteconfig"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// SitesOptions say which chatbots to open and where their sessions are kept.
type SitesOptions struct {
	// Dir is a folder of sites, the file of one, or a database of them. Prompts is a folder of prompt files; it may be
	// empty.
	Dir, Prompts string
	// Model replaces the model of every site; empty leaves it to each site's file.
	Model string
	// Store is the path of a file or the address postgres://… of a database. Without one, sessions are kept in memory.
	// Redis is the address of a server for the states of sessions, besides a Store.
	Store, Redis string
	// TTL is how long a session is kept after its last message; 0 keeps it for good.
	TTL  time.Duration
	Call Call
	// Limited has the limits of the sites hold: for a server, whose visitors are strangers.
	Limited bool
	// Durable keeps a record for each settled node, so that a turn goes on after the death of the process.
	Durable bool
}

// InDatabase reports whether the sites are in a database, which is in no folder.
func (o SitesOptions) InDatabase() bool { return siteconfig.IsAddress(o.Dir) }

// Sites are the chatbots of a place with everything that they use.
type Sites struct {
	// Bot takes the turns of all of them.
	Bot     *sitebot.Bot
	Library *site.Library
	// Location is where the sites were found, without secrets.
	Location string
	// Server stores the states of sessions; nil when the database does.
	Server *store.Redis

	*Setup
	options SitesOptions
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
	// thumbs bring feedback to Langfuse; nil without it.
	thumbs *thumbs
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

// sitesKey identifies open chatbots: the configuration and the options.
type sitesKey struct {
	config  string
	options SitesOptions
}

// Sites opens the chatbots of a place with everything that they name, once.
func (s *Setup) Sites(ctx context.Context, o SitesOptions) (*Sites, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.openedSites(ctx, o)
}

// sitesAt opens a target's chatbots with a test's call settings. Targets of one place share the parts of their sites.
func (s *Setup) sitesAt(c target.SiteConfig, call Call) (*Sites, error) {
	return s.openedSites(context.Background(), s.siteOptions(c, call))
}

func (s *Setup) siteOptions(c target.SiteConfig, call Call) SitesOptions {
	return SitesOptions{Dir: c.Dir, Prompts: c.Prompts, Model: cmp.Or(s.Options.Model, c.Model), Call: call}
}

func (s *Setup) openedSites(ctx context.Context, o SitesOptions) (*Sites, error) {
	key := sitesKey{s.config.Path, o}
	if opened, ok := s.sites[key]; ok {
		return opened, nil
	}
	opened := &Sites{
		Setup: s, options: o, parts: map[string]*siteParts{}, receivers: map[lead.Address]lead.Receiver{},
		caches: map[string]*enrich.Cached{},
	}
	if err := opened.open(ctx); err != nil {
		return nil, errors.Join(err, opened.close())
	}
	s.sites[key] = opened
	return opened, nil
}

func (s *Sites) open(ctx context.Context) error {
	var err error
	if s.Library, s.Location, err = s.siteLibrary(ctx, s.options.Dir); err != nil {
		return err
	}
	for _, warning := range s.Library.Warnings() {
		s.Log.Warn("site", "problem", warning.String())
	}
	keeper, locks, err := s.keeper(ctx)
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
	if s.courier = s.openCourier(keeper); s.courier != nil {
		leads = s.courier
	}
	var rated func(site, session, traceID string, f sessionindex.Feedback)
	if s.options.Limited { // a server's visitors
		if s.thumbs, err = s.openThumbs(); err != nil {
			return err
		}
	}
	if s.thumbs != nil {
		rated = s.thumbs.rated
	}
	s.Bot, err = sitebot.New(sitebot.Config{
		Sites: s.Library, Limits: s.limits(keeper), Leads: leads, Elsewhere: s.eraseElsewhere, Rated: rated,
		Prompts: prompts, Checkpoints: keeper, Durable: s.options.Durable, Locks: locks, Log: s.Log, Now: s.Now,
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
			URL: kb.LightRAG.URL, Mode: kb.LightRAG.Mode, Key: s.secret(kb.LightRAG.APIKeyEnv), Transport: s.services(),
		})
		if err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
		return client, nil
	case kb.Folder == "" || !isFolder(s.Files, kb.Folder): // the library has warned of the missing folder
		return nil, nil
	}
	library, err := s.Setup.library(filepath.Dir(kb.Folder))
	if err != nil {
		return nil, source.Invalid("%s: knowledge_base: %w", one.File, err)
	}
	return retrieve.Embedded{Knowledge: library, Base: filepath.Base(kb.Folder)}, nil
}

// modelFor opens the model of a site, once for each name.
func (s *Sites) modelFor(one *site.Site, name string) (llm.Model, error) {
	if _, err := s.siteModel(one, name); err != nil {
		return nil, err
	}
	model, err := s.modelCalled(name, s.options.Call)
	if source.IsInvalid(err) {
		return nil, source.Invalid("%s: %w; name one with --model", one.File, err)
	}
	return model, err
}

// Choose returns the name of a site: the requested one, or the only one.
func (s *Sites) Choose(name string) (string, error) {
	return chooseSite(s.Library, s.Location, name)
}

// closeLimit bounds how long Close waits for leads under way.
const closeLimit = 15 * time.Second

// close closes everything, after leads under way have been delivered.
func (s *Sites) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var faults []error
	if s.registry != nil {
		s.registry.Close()
	}
	if s.thumbs != nil {
		s.thumbs.close(ctx)
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
