package site

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// DecodeNode reads a folder, or {lightrag: …}.
func (k *KnowledgeBase) DecodeNode(n source.Node) {
	if n.Kind == source.String {
		k.Folder = nonBlank(n)
		return
	}
	source.Decode(n, k)
}

// DecodeNode reads a server.
func (l *LightRAG) DecodeNode(n source.Node) {
	l.Mode = "hybrid"
	source.Decode(n, l)
	l.URL, l.APIKeyEnv = webAddress(n.Field("url")), envName(n.Field("api_key_env"))
}

// sources are where visitors can be looked up, in the order in which they are tried.
var sources = []string{"cache", "supabase", "reveal", "snitcher", "enrich_so"}

// enrichmentKeys are the keys of an enrichment.
type enrichmentKeys struct {
	*Enrichment
	Sources source.Node `key:"sources" schema:"sources" doc:"services that identify visitors (default: all)"`
}

// DecodeNode reads where visitors are looked up.
func (e *Enrichment) DecodeNode(n source.Node) {
	keys := enrichmentKeys{Enrichment: e}
	source.Decode(n, &keys)
	e.IPHashSaltEnv = envName(n.Field("ip_hash_salt_env"))
	if n.Has("sources") {
		e.Sources = readSources(keys.Sources)
	}
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

var envNames = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envName returns the name of an environment variable. What is written is not repeated in the problem: it may be the
// secret itself.
func envName(n source.Node) string {
	name, given := scalar(n)
	if given && !envNames().MatchString(name) {
		n.Report("write the variable's name, such as ACME_SECRET; never the secret itself",
			"this is not the name of an environment variable")
	}
	return name
}
