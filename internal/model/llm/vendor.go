package llm

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// vendor is how the models of a provider are asked over HTTP.
type vendor struct {
	// base is the provider's own base URL, empty where each customer has one. baseEnv is the variable that replaces it.
	base, baseEnv string
	// fromEnv makes a base URL of what baseEnv holds; nil takes it as it is.
	fromEnv func(value string) string
	// hosts are endings of further hosts that are the provider's own.
	hosts []string
	// keyEnvs are the variables of the key, the first that is set counts; none for a provider without keys.
	keyEnvs []string
	// keyHeader carries the key; empty means Authorization, with the key as a bearer token.
	keyHeader string
	// tokens is true of a provider that takes a bearer token in place of a key.
	tokens bool
	// headers go along with every request.
	headers map[string]string
	// list is where it lists its models, below the base URL.
	list string
	// wire returns the format in which a model is asked. public says that the address is the provider's own.
	wire func(m config.Model, public bool) (wire, *Error)
	// embedding returns the format in which an embedding model is asked; nil for a provider without embeddings.
	embedding func(m config.Model) embedding
}

// compatible is a provider whose API is OpenAI's, at a base URL of its own; NAME_BASE_URL and NAME_API_KEY are its
// variables.
func compatible(name, base string, d dialect) Provider {
	prefix := strings.ToUpper(name)
	return hosted(name, "as openai", &vendor{
		base: base, baseEnv: prefix + "_BASE_URL", keyEnvs: []string{prefix + "_API_KEY"}, list: "models",
		embedding: openAIEmbedding, wire: func(m config.Model, _ bool) (wire, *Error) { return openAIWire(m, d) },
	})
}

// hosted is a provider whose models are asked over HTTP.
func hosted(name, doc string, v *vendor) Provider {
	return Provider{Name: name, Doc: doc, vendor: v, open: openClient}
}

// isPublic reports whether an address is the provider's own.
func (v *vendor) isPublic(address *url.URL) bool {
	host := strings.ToLower(address.Hostname())
	if own, err := url.Parse(v.base); err == nil && own.Host != "" && own.Host == strings.ToLower(address.Host) {
		return true
	}
	for _, ending := range v.hosts {
		if strings.HasSuffix(host, ending) {
			return true
		}
	}
	return false
}

// baseOf returns the base URL of a model: its own, else the environment's, else the provider's.
func (v *vendor) baseOf(m config.Model, o Options) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	named := strings.TrimSpace(o.env(v.baseEnv))
	if named == "" {
		return v.base
	}
	if v.fromEnv != nil {
		return v.fromEnv(named)
	}
	return named
}

// keyOf returns the key or token of a model and the variable that it is from. The variable is named also where it is
// not set, unless there is none.
func (v *vendor) keyOf(m config.Model, o Options) (key, variable string) {
	variables, env := v.keyEnvs, o.env
	if named := orElse(m.TokenEnv, m.APIKeyEnv); named != "" {
		variables = []string{named}
		if o.Named != nil {
			env = o.Named.Getenv
		}
	} else if o.Named != nil && m.BaseURL != "" && !v.isOwn(m.BaseURL, o) {
		return "", ""
	}
	for _, name := range variables {
		if key := strings.TrimSpace(env(name)); key != "" {
			return key, name
		}
	}
	return "", strings.Join(variables, " or ")
}

// isOwn reports whether an address is exactly the provider's default, or that of the environment.
func (v *vendor) isOwn(address string, o Options) bool {
	plain := plainAddress(address)
	return plain != "" && (plain == plainAddress(v.base) || plain == plainAddress(v.baseOf(config.Model{}, o)))
}

// plainAddress writes an address in one spelling, for comparison; empty for one that cannot be read, or has user info
// or a query.
func plainAddress(written string) string {
	address, err := url.Parse(strings.TrimSpace(written))
	if err != nil || address.Host == "" || address.User != nil || address.RawQuery != "" {
		return ""
	}
	address.Host = strings.ToLower(address.Host)
	return strings.TrimRight(address.JoinPath("/").String(), "/")
}

// example is how an address of the provider looks.
func (v *vendor) example() string {
	if v.base == "" {
		return "https://RESOURCE.openai.azure.com"
	}
	return v.base
}

// missing says what to check when nothing is found at an address.
func (v *vendor) missing(m config.Model) string {
	if strings.HasSuffix(v.base, "/v1") {
		return fmt.Sprintf("check that the base URL ends in /v1 and that the model %q exists there", m.Name)
	}
	return fmt.Sprintf("check the base URL, which looks like %s, and that the model %q exists there",
		v.example(), m.Name)
}
