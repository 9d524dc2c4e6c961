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
	Timeout  time.Duration
	MaxBytes int
	// Concurrency and RequestsPerMinute hold for all conversations together; 0 means no limit.
	Concurrency, RequestsPerMinute int
	// Retries is how often a request is tried again that cannot have been taken; nil leaves it to the test. RetryAfterMax is the longest wait that an
	// agent may ask for; 0 means a minute. Idempotent allows sending a message again that may have been taken.
	Retries       *int
	RetryAfterMax time.Duration
	Idempotent    bool
	// Price is what the agent's tokens cost, where it reports usage.
	Price config.Price
}

func (b *Bounds) fields() map[string]func(source.Node) {
	return map[string]func(source.Node){
		"timeout":             func(n source.Node) { b.Timeout = n.Duration() },
		"max_bytes":           func(n source.Node) { b.MaxBytes = n.Int(1) },
		"concurrency":         func(n source.Node) { b.Concurrency = n.Int(1) },
		"requests_per_minute": func(n source.Node) { b.RequestsPerMinute = n.Int(1) },
		"input_price":         func(n source.Node) { b.Price.Input = new(n.Number(0, maxPrice)) },
		"output_price":        func(n source.Node) { b.Price.Output = new(n.Number(0, maxPrice)) },
		"retries":             func(n source.Node) { b.Retries = new(n.Int(0)) },
		"retry_after_max":     func(n source.Node) { b.RetryAfterMax = n.Duration() },
		"idempotent":          func(n source.Node) { b.Idempotent = n.Bool() },
	}
}

// maxPrice is the highest price that is no mistake, in dollars per million tokens.
const maxPrice = 1e6

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
	return s.Cost != nil || s.InputTokens != nil && s.OutputTokens != nil && b.Price.Input != nil && b.Price.Output != nil
}
