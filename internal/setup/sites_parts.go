package setup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"rehearse/internal/sitebot"
	"rehearse/internal/sitebot/enrich"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/site"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// The environment variables with the credentials of services that identify visitors.
const (
	supabaseURLEnv    = "SUPABASE_URL"
	supabaseKeyEnv    = "SUPABASE_SERVICE_KEY"
	snitcherKeyEnv    = "SNITCHER_API_KEY"
	snitcherScriptEnv = "SNITCHER_SCRIPT_ID"
	enrichsoKeyEnv    = "ENRICH_SO_API_KEY"
)

// enricherFor opens the sources that a site names and for which the environment has credentials.
func (s *Sites) enricherFor(one *site.Site) (sitebot.Enricher, error) {
	if len(one.Enrichment.Sources) == 0 {
		return nil, nil
	}
	salt := s.secret(one.Enrichment.IPHashSaltEnv)
	if salt == "" {
		salt = rand.Text() // lasts for this process; sharing with others needs a fixed salt
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
		return nil, source.Invalid("%s: %w", one.File, err)
	}
	cached, err := enrich.NewCached(s.profileCache(), salt)
	if err := add("cache", cached, err); err != nil {
		return nil, source.Invalid("%s: %w", one.File, err)
	}
	if url, key := s.Getenv(supabaseURLEnv), s.Getenv(supabaseKeyEnv); url != "" && key != "" {
		service, err := enrich.NewSupabase(enrich.SupabaseConfig{URL: url, Key: key, Salt: salt, Transport: s.services()})
		if err := add("supabase", service, err); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	if key := s.Getenv(snitcherKeyEnv); key != "" {
		service, err := enrich.NewSnitcher(enrich.SnitcherConfig{Key: key, Script: s.Getenv(snitcherScriptEnv), Transport: s.services()})
		if err := add("snitcher", service, err); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	if key := s.Getenv(enrichsoKeyEnv); key != "" {
		service, err := enrich.NewEnrichso(enrich.EnrichsoConfig{Key: key, Transport: s.services()})
		if err := add("enrich_so", service, err); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	chain, err := enrich.NewChain(enrich.Options{
		Order: one.Enrichment.Sources, Sources: found,
		Failed: func(source string, err error) { s.Log.Warn("enrichment not kept", "source", source, "error", err) },
	})
	if err != nil {
		return nil, source.Invalid("%s: %w", one.File, err)
	}
	s.chains = append(s.chains, chain)
	return chain, nil
}

// profileCache remembers companies: in Redis for all processes, else in this one.
func (s *Sites) profileCache() enrich.Cache {
	if s.Server == nil {
		return &enrich.Memory{}
	}
	return profilesInRedis{s.Server.Cache()}
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

// receivers get the leads of one site.
type receivers struct {
	sites   *Sites
	webhook *lead.Webhook
	posthog *lead.PostHog
}

// leadsFor opens the receivers of a site's leads; it returns nil when there are none.
func (s *Sites) leadsFor(one *site.Site) (sitebot.Leads, error) {
	r := &receivers{sites: s}
	var err error
	if hook := one.Integrations.LeadWebhook; s.secret(hook.URLEnv) != "" {
		if r.webhook, err = lead.NewWebhook(s.queue, s.Getenv(hook.URLEnv), s.secret(hook.SecretEnv), s.receipts()); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	if project := one.Integrations.PostHog; s.secret(project.KeyEnv) != "" {
		if r.posthog, err = lead.NewPostHog(s.queue, s.secret(project.HostEnv), s.Getenv(project.KeyEnv), s.receipts()); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	if r.webhook == nil && r.posthog == nil {
		return nil, nil
	}
	return r, nil
}

// Capture delivers a lead to every receiver.
func (r *receivers) Capture(c lead.Capture) {
	c.At = r.sites.Now()
	var faults []error
	if r.webhook != nil {
		faults = append(faults, r.webhook.Send(c))
	}
	if r.posthog != nil {
		faults = append(faults, r.posthog.EmailCaptured(c))
	}
	for _, err := range faults {
		if err != nil {
			r.sites.Log.Error("lead not taken", "site", c.Site, "session", c.Session, "error", err)
		}
	}
}
