package runspec

import (
	"net/url"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The ends of runs that a webhook is told of: every one, or those in which a test fails that passed in the baseline.
const (
	OnFinish     = "finish"
	OnRegression = "regression"
)

// Webhook is an address that is told of the end of a run.
type Webhook struct {
	URL string `json:"url"`
	// On has OnFinish, OnRegression or both; empty is OnFinish.
	On []string `json:"on,omitempty"`
}

// maxURL bounds the address of a webhook, in bytes.
const maxURL = 4_000

func (w *Webhook) check() error {
	if w == nil {
		return nil
	}
	if err := CheckHook(w.URL); err != nil {
		return source.Invalid("run spec: webhook: %w", err)
	}
	for _, on := range w.On {
		if on != OnFinish && on != OnRegression {
			return source.Invalid("run spec: webhook: on: %q is unknown: use finish or regression", on)
		}
	}
	return nil
}

// CheckHook refuses what is no address for a webhook.
func CheckHook(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) || len(address) > maxURL {
		return source.Invalid("the address cannot be asked: write it as https://HOST/PATH")
	}
	if u.User != nil {
		return source.Invalid("the address holds a user: leave that out; the signature says who sends it")
	}
	return nil
}
