package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/enrich"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/store"
)

// The environment variables with the access to services that find out who a visitor is.
const (
	supabaseURLEnv    = "SUPABASE_URL"
	supabaseKeyEnv    = "SUPABASE_SERVICE_KEY"
	snitcherKeyEnv    = "SNITCHER_API_KEY"
	snitcherScriptEnv = "SNITCHER_SCRIPT_ID"
	enrichsoKeyEnv    = "ENRICH_SO_API_KEY"
)

// enricherFor opens the sources that a site names and the environment has access to.
func (s *sites) enricherFor(one *site.Site) (sitebot.Enricher, error) {
	if len(one.Enrichment.Sources) == 0 {
		return nil, nil
	}
	salt := s.env.Getenv(one.Enrichment.IPHashSaltEnv)
	if salt == "" {
		salt = rand.Text() // good for this process; what is shared with others needs a salt of its own
	}
	found := map[string]enrich.Source{}
	add := func(name string, source enrich.Source, err error) error {
		if err == nil {
			found[name] = source
		}
		return err
	}
	reveal, err := enrich.NewReveal(nil)
	if err := add("reveal", reveal, err); err != nil {
		return nil, usage("%s: %w", one.File, err)
	}
	cached, err := enrich.NewCached(s.profileCache(), salt)
	if err := add("cache", cached, err); err != nil {
		return nil, usage("%s: %w", one.File, err)
	}
	if url, key := s.env.Getenv(supabaseURLEnv), s.env.Getenv(supabaseKeyEnv); url != "" && key != "" {
		source, err := enrich.NewSupabase(enrich.SupabaseConfig{URL: url, Key: key, Salt: salt, Transport: s.models.Transport})
		if err := add("supabase", source, err); err != nil {
			return nil, usage("%s: %w", one.File, err)
		}
	}
	if key := s.env.Getenv(snitcherKeyEnv); key != "" {
		source, err := enrich.NewSnitcher(enrich.SnitcherConfig{Key: key, Script: s.env.Getenv(snitcherScriptEnv), Transport: s.models.Transport})
		if err := add("snitcher", source, err); err != nil {
			return nil, usage("%s: %w", one.File, err)
		}
	}
	if key := s.env.Getenv(enrichsoKeyEnv); key != "" {
		source, err := enrich.NewEnrichso(enrich.EnrichsoConfig{Key: key, Transport: s.models.Transport})
		if err := add("enrich_so", source, err); err != nil {
			return nil, usage("%s: %w", one.File, err)
		}
	}
	chain, err := enrich.NewChain(enrich.Options{
		Order: one.Enrichment.Sources, Sources: found,
		Failed: func(source string, err error) { s.log.Warn("enrichment not kept", "source", source, "error", err) },
	})
	if err != nil {
		return nil, usage("%s: %w", one.File, err)
	}
	s.chains = append(s.chains, chain)
	return chain, nil
}

// profileCache remembers companies: for all processes in Redis, else in this one.
func (s *sites) profileCache() enrich.Cache {
	if s.server == nil {
		return &enrich.Memory{}
	}
	return profilesInRedis{s.server.Cache()}
}

// profilesInRedis keeps profiles as JSON.
type profilesInRedis struct{ cache *store.RedisCache }

// Get returns the profile of a key.
func (p profilesInRedis) Get(ctx context.Context, key string) (enrich.Profile, bool, error) {
	var profile enrich.Profile
	data, ok, err := p.cache.Get(ctx, key)
	if err != nil || !ok {
		return profile, false, err
	}
	err = json.Unmarshal(data, &profile)
	return profile, err == nil, err
}

// Set remembers a profile.
func (p profilesInRedis) Set(ctx context.Context, key string, profile enrich.Profile, ttl time.Duration) error {
	data, err := json.Marshal(profile)
	if err != nil {
		return err
	}
	return p.cache.Set(ctx, key, data, ttl)
}

// receivers are told of the leads of one site.
type receivers struct {
	sites   *sites
	webhook *lead.Webhook
	posthog *lead.PostHog
}

// leadsFor opens who is told of a site's leads; nil when nobody is.
func (s *sites) leadsFor(one *site.Site) (sitebot.Leads, error) {
	r := &receivers{sites: s}
	var err error
	if hook := one.Integrations.LeadWebhook; s.env.Getenv(hook.URLEnv) != "" {
		if r.webhook, err = lead.NewWebhook(s.queue, s.env.Getenv(hook.URLEnv), s.env.Getenv(hook.SecretEnv), s.models.Transport); err != nil {
			return nil, usage("%s: %w", one.File, err)
		}
	}
	if project := one.Integrations.PostHog; s.env.Getenv(project.KeyEnv) != "" {
		if r.posthog, err = lead.NewPostHog(s.queue, s.env.Getenv(project.HostEnv), s.env.Getenv(project.KeyEnv), s.models.Transport); err != nil {
			return nil, usage("%s: %w", one.File, err)
		}
	}
	if r.webhook == nil && r.posthog == nil {
		return nil, nil
	}
	return r, nil
}

// Capture has a lead delivered to everyone who is to know.
func (r *receivers) Capture(c lead.Capture) {
	c.At = r.sites.env.Now()
	var faults []error
	if r.webhook != nil {
		faults = append(faults, r.webhook.Send(c))
	}
	if r.posthog != nil {
		faults = append(faults, r.posthog.EmailCaptured(c))
	}
	for _, err := range faults {
		if err != nil {
			r.sites.log.Error("lead not taken", "site", c.Site, "session", c.Session, "error", err)
		}
	}
}
