package site

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// knowledge reads a folder, or {lightrag: …}.
func (r *reader) knowledge(n source.Node) KnowledgeBase {
	if n.Kind == source.String {
		return KnowledgeBase{Folder: r.path(nonBlank(n))}
	}
	var k KnowledgeBase
	n.Read(map[string]func(source.Node){
		"lightrag": func(n source.Node) { k.LightRAG = readLightRAG(n) },
	})
	if n.Kind == source.Map && !n.Has("lightrag") {
		n.Report("write a folder, or {lightrag: {url: …}}", "the knowledge base is neither a folder nor a server")
	}
	return k
}

// path returns where a path of the file leads from the working directory.
func (r *reader) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.site.Dir, filepath.FromSlash(name))
}

func readLightRAG(n source.Node) *LightRAG {
	l := &LightRAG{Mode: "hybrid"}
	n.Read(map[string]func(source.Node){
		"url":         func(n source.Node) { l.URL = webAddress(n) },
		"mode":        func(n source.Node) { l.Mode = n.OneOf("naive", "local", "global", "hybrid", "mix", "bypass") },
		"api_key_env": func(n source.Node) { l.APIKeyEnv = envName(n) },
	})
	if n.Kind == source.Map && !n.Has("url") {
		n.Report("add `url:`, such as http://127.0.0.1:9621", "a LightRAG server needs an address")
	}
	return l
}

// sources are where visitors can be looked up, in the order in which they are tried.
var sources = []string{"cache", "supabase", "reveal", "snitcher", "enrich_so"}

func readEnrichment(n source.Node, to *Enrichment) {
	n.Read(map[string]func(source.Node){
		"sources":          func(n source.Node) { to.Sources = readSources(n) },
		"ip_hash_salt_env": func(n source.Node) { to.IPHashSaltEnv = envName(n) },
		"keep_ip":          func(n source.Node) { to.KeepIP = n.Bool() },
	})
}

func readSources(n source.Node) []string {
	names := []string{}
	for _, item := range n.List() {
		name := item.OneOf(sources...)
		if slices.Contains(names, name) && name != "" {
			item.Report("keep one of the two", "the source %q is written twice", name)
			continue
		}
		names = append(names, name)
	}
	return names
}

func readIntegrations(n source.Node, to *Integrations) {
	n.Read(map[string]func(source.Node){
		"lead_webhook": func(n source.Node) {
			n.Read(map[string]func(source.Node){
				"url_env":    func(n source.Node) { to.LeadWebhook.URLEnv = envName(n) },
				"secret_env": func(n source.Node) { to.LeadWebhook.SecretEnv = envName(n) },
			})
			needEnv(n, "url_env", "the address of the webhook")
		},
		"posthog": func(n source.Node) {
			n.Read(map[string]func(source.Node){
				"host_env": func(n source.Node) { to.PostHog.HostEnv = envName(n) },
				"key_env":  func(n source.Node) { to.PostHog.KeyEnv = envName(n) },
			})
			needEnv(n, "key_env", "the key of the project")
		},
	})
}

// needEnv reports a system that is named without what it takes to reach it.
func needEnv(n source.Node, key, what string) {
	if n.Kind == source.Map && !n.Has(key) {
		n.Report("add `"+key+":` with the name of an environment variable", "%s is missing", what)
	}
}

var envNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envName returns the name of an environment variable. What is written is not repeated in the problem: it may be the secret itself.
func envName(n source.Node) string {
	name := strings.TrimSpace(n.Text())
	if n.Kind != source.List && n.Kind != source.Map && !envNames.MatchString(name) {
		n.Report("write the variable's name, such as ACME_SECRET; never the secret itself", "this is not the name of an environment variable")
	}
	return name
}
