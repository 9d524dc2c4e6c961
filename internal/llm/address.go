package llm

import (
	"net/url"
	"strings"

	"rehearse/internal/config"
)

// Address returns where a model is asked, without user info and query, and whether that is the provider's own address. It is empty for a model
// that is not asked over the network, and for an address that Open refuses.
func Address(m config.Model, o Options) (shown string, own bool) {
	if !Remote(m.Provider) {
		return "", false
	}
	address, err := url.Parse(strings.TrimSpace(baseOf(m, o)))
	if err != nil || address.Host == "" {
		return "", false
	}
	shown = strings.TrimRight(shownAddress(address), "/")
	if m.Provider == "ollama" {
		return shown, shown == ollamaBaseURL
	}
	return shown, isPublic(address)
}

// Remote reports whether the models of a provider are asked over the network.
func Remote(provider string) bool {
	return provider != "scripted" && provider != "cassette" && provider != config.Lexical
}

// baseOf returns the base URL of a model: its own, else the environment's, else the provider's.
func baseOf(m config.Model, o Options) string {
	if m.Provider == "ollama" { // a local server: OpenAI's address does not belong there
		return orElse(m.BaseURL, ollamaBaseURL)
	}
	return orElse(m.BaseURL, o.env(baseURLEnv), publicBaseURL)
}

func isPublic(address *url.URL) bool { return address.Hostname() == "api.openai.com" }
