package transcript

import (
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// turnFacts are what is known of a turn beside what was said.
func turnFacts(x result.Turn) (facts []Fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("id", text.OneLine(x.TurnID, 100))
	if x.LatencyMS > 0 {
		add("latency", text.Milliseconds(float64(x.LatencyMS)))
	}
	add("tokens", tokens(x.Usage))
	add("cost", dollars(x.Cost))
	if x.Attempts > 0 {
		add("attempts", text.Count(x.Attempts))
	}
	add("node", text.OneLine(x.Node, 100))
	add("trace", text.OneLine(x.TraceID, 100))
	switch chat.FinishReason(x.FinishReason) {
	case "", "stop":
	case "length":
		add("reply", "cut off: length")
	case "content_filter":
		add("reply", "stopped: content_filter")
	default:
		add("ended by", text.OneLine(x.FinishReason, 40))
	}
	return facts
}

// factsOf are what is known of a conversation as a whole.
func factsOf(t *result.Test) (facts []Fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	if !t.StartedAt.IsZero() {
		add("began", t.StartedAt.UTC().Format("2 Jan 2006, 15:04:05 UTC"))
	}
	if t.DurationMS > 0 {
		add("took", text.Milliseconds(t.DurationMS))
	}
	add("tokens", tokens(t.Usage.Add(t.Judge.Usage)))
	add("cost", dollars(t.Cost))
	if n := t.Judge.Calls + t.Judge.CacheHits; n > 0 {
		add("judge", text.Plural(t.Judge.Calls, "call")+", "+text.Count(t.Judge.CacheHits)+" from the cache")
	}
	add("threshold", text.Score(t.Threshold, 2))
	if t.EndedByAgent {
		add("ended by", "the agent")
	}
	add("session", text.OneLine(t.SessionID, 100))
	return facts
}

func tokens(u chat.Usage) string {
	if u.Unknown {
		return "unknown"
	}
	return text.Count(u.Total())
}

func dollars(c chat.Cost) string {
	if c.Unknown {
		return "unknown"
	}
	return text.Dollars(c.USD)
}
