package target

import (
	"cmp"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// defaultMaxBytes is the most that one answer may have, in bytes.
const defaultMaxBytes = 8 << 20

// Bounds are the limits of an agent that answers over a wire. The zero value has the defaults.
type Bounds struct {
	// Timeout bounds one reply; 0 means two minutes. MaxBytes bounds one answer; 0 means 8 MB.
	Timeout  time.Duration `key:"timeout"`
	MaxBytes int           `key:"max_bytes" minimum:"1" doc:"of one answer (8 MB)"`
	// Concurrency and RequestsPerMinute are limits of all conversations together; 0 means no limit.
	Concurrency       int `key:"concurrency" minimum:"1"`
	RequestsPerMinute int `key:"requests_per_minute" minimum:"1"`
	// Retries is how often a request is tried again that cannot have been taken; nil leaves it to the test.
	// RetryAfterMax is the longest wait that an agent may ask for; 0 means a minute. Idempotent allows sending a
	// message again that may have been taken.
	Retries       *int          `key:"retries" minimum:"0" doc:"how often a message is sent again that was not taken (2)"`
	RetryAfterMax time.Duration `key:"retry_after_max"`
	Idempotent    bool          `key:"idempotent" doc:"a message may be sent again that may have been taken"`
	// Price is what the agent's tokens cost, where it reports usage.
	Price config.Price
}

// boundsKeys are the keys of the limits and prices of an agent.
type boundsKeys struct {
	Bounds
	config.TokenPrices
}

// bounds returns the limits with the prices.
func (k boundsKeys) bounds() Bounds {
	k.Bounds.Price = config.Price{Input: k.InputPrice, Output: k.OutputPrice}
	return k.Bounds
}

// kindKeys are the keys of the kind of a target and of its templates.
type kindKeys struct {
	Kind any         `key:"kind"`
	With source.Node `key:"with" schema:"object" doc:"values of {{with.NAME}}"`
}

// check reports values of templates that are no mapping.
func (k kindKeys) check() {
	if k.With.Kind != source.Null {
		for range k.With.Entries() { // which reports what is no mapping
		}
	}
}

// settled returns the bounds with the test's own time and the defaults.
func (b Bounds) settled(p Parts) Bounds {
	b.Timeout = cmp.Or(p.Timeout, b.Timeout, defaultTimeout)
	b.MaxBytes = cmp.Or(b.MaxBytes, defaultMaxBytes)
	b.Retries = cmp.Or(p.Retries, b.Retries, new(suite.DefaultRetries))
	b.RetryAfterMax = cmp.Or(b.RetryAfterMax, time.Minute)
	return b
}

// limits returns what all conversations share, as a model's.
func (b Bounds) limits(kind string) config.Model {
	return config.Model{Provider: kind, Concurrency: b.Concurrency, RequestsPerMinute: b.RequestsPerMinute}
}

// cost returns the cost of a reply: what the agent says, else what its tokens cost.
func (b Bounds) cost(reply chat.Reply) chat.Cost {
	in, out := b.Price.Input, b.Price.Output
	if !reply.Cost.Unknown || reply.Usage.Unknown || in == nil || out == nil {
		return reply.Cost
	}
	return chat.Cost{USD: (*in*float64(reply.Usage.InputTokens) + *out*float64(reply.Usage.OutputTokens)) / 1e6}
}

// priced reports whether answers say what they cost, or how many tokens of a known price.
func (b Bounds) priced(s *answer.Spec) bool {
	return s.Cost != nil || s.InputTokens != nil && s.OutputTokens != nil && b.Price.Input != nil &&
		b.Price.Output != nil
}
