package chatbot

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store"
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
	if len(one.Enrichment.Sources) == 0 && !one.Enrichment.StoreIP {
		return nil, nil
	}
	salt := s.Secret(one.Enrichment.IPHashSaltEnv)
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
	s.caches[one.Name] = cached
	if url, key := s.Getenv(supabaseURLEnv), s.Getenv(supabaseKeyEnv); url != "" && key != "" {
		service, err := enrich.NewSupabase(enrich.SupabaseConfig{
			URL: url, Key: key, Salt: salt, Transport: s.Services,
		})
		if err := add("supabase", service, err); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	for _, c := range []enrich.HTTPConfig{
		enrich.Snitcher(s.Getenv(snitcherKeyEnv), s.Getenv(snitcherScriptEnv)),
		enrich.Enrichso(s.Getenv(enrichsoKeyEnv)),
	} {
		if c.Key == "" {
			continue
		}
		c.Transport = s.Services
		service, err := enrich.NewHTTP(c)
		if err := add(c.Name, service, err); err != nil {
			return nil, source.Invalid("%s: %w", one.File, err)
		}
	}
	chain, err := enrich.NewChain(enrich.Options{
		Order: one.Enrichment.Sources, Sources: found, StoreIP: one.Enrichment.StoreIP,
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

// Set remembers a profile, and whose it is.
func (p profilesInRedis) Set(ctx context.Context, key, owner string, profile enrich.Profile, ttl time.Duration) error {
	data, err := json.Marshal(profile)
	if err != nil {
		return err
	}
	return errors.Join(p.cache.Set(ctx, ownerKey(owner), []byte(key), ttl), p.cache.Set(ctx, key, data, ttl))
}

// Forget drops what an owner has had remembered last.
func (p profilesInRedis) Forget(ctx context.Context, owner string) error {
	key, known, err := p.cache.Get(ctx, ownerKey(owner))
	if err != nil || !known {
		return err
	}
	return p.cache.Delete(ctx, string(key), ownerKey(owner))
}

func ownerKey(owner string) string { return "enriched-by:" + owner }

// receiversOf opens the receivers of a site's leads.
func (s *Sites) receiversOf(one *site.Site) error {
	if hook := one.Integrations.LeadWebhook; s.Secret(hook.URLEnv) != "" {
		webhook, err := lead.NewWebhook(s.Getenv(hook.URLEnv), s.Secret(hook.SecretEnv), s.Receipts)
		if err != nil {
			return source.Invalid("%s: %w", one.File, err)
		}
		s.receivers[lead.Address{Receiver: lead.WebhookName, Site: one.Name}] = webhook
	}
	if project := one.Integrations.PostHog; s.Secret(project.KeyEnv) != "" {
		posthog, err := lead.NewPostHog(s.Secret(project.HostEnv), s.Getenv(project.KeyEnv), s.Receipts)
		if err != nil {
			return source.Invalid("%s: %w", one.File, err)
		}
		s.receivers[lead.Address{Receiver: lead.PostHogName, Site: one.Name}] = posthog
	}
	return nil
}

// openCourier begins to deliver leads from a store of sessions; nil where no site has a receiver.
func (s *Sites) openCourier(outbox lead.Outbox) *lead.Dispatcher {
	if len(s.receivers) == 0 {
		return nil
	}
	return lead.NewDispatcher(lead.DispatcherConfig{
		Outbox: outbox, Receivers: s.receivers, Lasting: s.lasting, Now: s.Now, Log: s.delivered,
		Trouble: func(err error) { s.Log.Error("leads", "error", err) },
	})
}

// delivered logs an attempt, without the session: its id opens the conversation.
func (s *Sites) delivered(d lead.Delivery) {
	fields := []any{
		"to", d.To, "site", d.Site, "event", d.Event, "id", d.ID, "attempt", d.Attempts, "took_ms",
		d.Took.Milliseconds(),
	}
	switch d.Result.State {
	case lead.Delivered:
		s.Log.Info("lead delivered", fields...)
	case lead.Pending:
		s.Log.Warn("lead not delivered yet", append(fields, "error", d.Result.Error, "next_at", d.Result.Next)...)
	default:
		s.Log.Error("lead given up", append(fields, "error", d.Result.Error)...)
	}
}
