package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// TargetKeyEnv is the environment variable with the key of targets that have an address of their own. TargetURLEnv is
// the one with that address.
const (
	TargetKeyEnv = "REHEARSE_TARGET_KEY"
	TargetURLEnv = "REHEARSE_TARGET_URL"
)

// behindAt matches what can only be an address behind the @ of a model: a URL, or a host with a port.
var behindAt = text.Regexp(`@(https?://|[^/@:]*:\d{1,5}(/|$))`)

// CutAddress splits PROVIDER:MODEL@URL into the model and its address. The address is empty when there is none.
func CutAddress(name string) (model, address string) {
	found := behindAt().FindStringIndex(name)
	if found == nil {
		return name, ""
	}
	return name[:found[0]], name[found[0]+1:]
}

// At returns the model at an address of its own, which gets the key of TargetKeyEnv and never the provider's.
func (m Model) At(address string) (Model, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		// which may hold a password
		return m, errors.New("it is no http or https address: write it like http://127.0.0.1:8000/v1")
	}
	m.BaseURL, m.APIKeyEnv = strings.TrimSpace(address), TargetKeyEnv
	return m, nil
}

// Named returns the model at the address behind its @. Reports print the whole as the name of the target, so the
// address must not have a password.
func (m Model) Named(address string) (Model, error) {
	at, err := m.At(address)
	if parsed, _ := url.Parse(address); err == nil && (parsed.User != nil || parsed.RawQuery != "") {
		return m, errors.New(
			"it has a user or a query, which would stand in every report: give it with --target-url or " + TargetURLEnv)
	}
	return at, err
}
