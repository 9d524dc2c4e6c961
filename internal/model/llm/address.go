package llm

import (
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Address returns where a model is asked, without user info and query, and whether that is the provider's own address.
// It is empty for a model that is not asked over the network, and for an address that Open refuses.
func Address(m config.Model, o Options) (shown string, own bool) {
	p, err := findProvider(m.Provider)
	if err != nil || p.vendor == nil {
		return "", false
	}
	address, err := url.Parse(strings.TrimSpace(p.vendor.baseOf(m, o)))
	if err != nil || address.Host == "" {
		return "", false
	}
	return strings.TrimRight(shownAddress(address), "/"), p.vendor.isPublic(address)
}

// KeyVariable returns the name of the environment variable with the key of a model, and whether it is set. It is empty
// for a model without a key.
func KeyVariable(m config.Model, o Options) (name string, set bool) {
	p, err := findProvider(m.Provider)
	if err != nil || p.vendor == nil {
		return "", false
	}
	key, name := p.vendor.keyOf(m, o)
	return name, key != ""
}

// AddressVariable returns the name of the environment variable that replaces the address of a provider; empty for one
// that is not asked over the network.
func AddressVariable(provider string) string {
	p, err := findProvider(provider)
	if err != nil || p.vendor == nil {
		return ""
	}
	return p.vendor.baseEnv
}

// Remote reports whether the models of a provider are asked over the network. Nothing is known of an unknown provider,
// so its are.
func Remote(provider string) bool {
	p, err := findProvider(provider)
	return err != nil || p.vendor != nil
}
