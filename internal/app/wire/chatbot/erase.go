package chatbot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// eraseLimit bounds how long other systems may take to forget a session.
const eraseLimit = 10 * time.Second

// eraseElsewhere forgets what is kept of a session beside its state: what is known of the visitor's company, what the
// store of logged events has, and traces in Langfuse, which is only asked where it has a key.
func (s *Sites) eraseElsewhere(ctx context.Context, site, session string) error {
	ctx, cancel := context.WithTimeout(ctx, eraseLimit)
	defer cancel()
	var faults []error
	if cache := s.caches[site]; cache != nil {
		faults = append(faults, cache.Forget(ctx, site, session))
	}
	if s.history != nil {
		faults = append(faults, s.history.EraseSession(ctx, site, session, s.Now()))
	}
	if langfuse.Configured(s.Getenv) {
		client, err := s.Langfuse()
		if err == nil {
			err = client.EraseSession(ctx, session)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// EraseSession erases a session of a chatbot with all that it has left, in a store of sessions that a server may be
// using. It reports whether there was such a session.
func (s *Sessions) EraseSession(ctx context.Context, c Config, siteName, session string) (exists bool, err error) {
	bot, err := sessionBot(siteName, sitebot.Config{
		Checkpoints: s, Locks: s.locks,
		Elsewhere: func(ctx context.Context, name, session string) error {
			sites := &Sites{Config: c, history: s.history, caches: map[string]*enrich.Cached{}}
			if s.cache != nil {
				if sites.caches[name], err = enrich.NewCached(s.cache, "unused"); err != nil {
					return err
				}
			}
			return sites.eraseElsewhere(ctx, name, session)
		},
	})
	if err != nil {
		return false, err
	}
	records, err := s.List(ctx, sitebot.Thread(siteName, session))
	if err != nil {
		return false, err
	}
	leads, err := s.Leads(ctx, lead.Filter{Site: siteName, Session: session})
	if err != nil {
		return false, err
	}
	row, err := s.Session(ctx, siteName, session)
	if err != nil {
		return false, err
	}
	logged, err := s.loggedOn(ctx, session)
	if err != nil {
		return false, err
	}
	exists = len(records) > 0 || len(leads) > 0 || row != nil || slices.Contains(logged, siteName)
	return exists, bot.Erase(ctx, siteName, session)
}

// loggedOn returns the sites on which a session was logged.
func (s *Sessions) loggedOn(ctx context.Context, session string) ([]string, error) {
	if s.history == nil {
		return nil, nil
	}
	return s.history.FlowsOf(ctx, session)
}

// SitesOf returns the sites that have something of a session, in order of name.
func (s *Sessions) SitesOf(ctx context.Context, session string) ([]string, error) {
	threads, err := s.ThreadsEnding(ctx, ":"+session)
	if err != nil {
		return nil, err
	}
	leads, err := s.Leads(ctx, lead.Filter{Session: session})
	if err != nil {
		return nil, err
	}
	var sites []string
	for _, thread := range threads {
		// Of an id with a colon, the end of a thread may be a part.
		if name := strings.TrimSuffix(thread, ":"+session); !strings.Contains(name, ":") {
			sites = append(sites, name)
		}
	}
	for _, l := range leads {
		sites = append(sites, l.Site)
	}
	if len(sites) == 0 { // nothing was answered
		if sites, err = s.failedSites(ctx, session); err != nil {
			return nil, err
		}
	}
	if len(sites) == 0 { // it has expired, and its events have not
		if sites, err = s.loggedOn(ctx, session); err != nil {
			return nil, err
		}
	}
	slices.Sort(sites)
	return slices.Compact(sites), nil
}

// failedSites returns the sites that have nothing of a session but messages which were not answered.
func (s *Sessions) failedSites(ctx context.Context, session string) (sites []string, err error) {
	failed, err := s.Listed(ctx, sitebot.Query{Query: sessionindex.Query{Outcome: sessionindex.Failed}})
	if err != nil {
		return nil, err
	}
	for _, row := range failed.Sessions {
		if row.Session == session {
			sites = append(sites, row.Site)
		}
	}
	return sites, nil
}
