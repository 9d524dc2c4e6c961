package view

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/report/prose"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// Limits of one message, in characters: what is shown at once, and what is folded below.
const (
	maxOpen   = 20_000
	maxFolded = 200_000
	maxImage  = 300 << 10
)

// messageOf returns a message as a page shows it. Marks are those of its text.
func messageOf(role string, c chat.Content, marks []prose.Mark, raw bool) message {
	m := message{Role: text.OneLine(role, 20)}
	if c.Blocks == nil {
		m.say(c.Text, marks, raw)
	}
	for _, b := range c.Blocks {
		if image, ok := imageOf(b); ok {
			m.Parts = append(m.Parts, part{Image: image})
			continue
		}
		m.say(chat.Content{Blocks: []chat.Block{b}}.String(), marks, raw)
	}
	m.Silent = len(m.Parts) == 0
	return m
}

func (m *message) say(said string, marks []prose.Mark, raw bool) {
	if strings.TrimSpace(said) == "" {
		return
	}
	head, _ := text.Cut(said, maxOpen)
	rest, left := text.Cut(said[len(head):], maxFolded)
	p := part{Left: left}
	if raw {
		p.Head = prose.Plain(head, marks)
	} else {
		p.Head = prose.Markdown(head, marks)
	}
	if rest != "" {
		p.Folded = prose.Plain(rest, nil)
		p.FoldedLen = len([]rune(rest))
	}
	m.Parts = append(m.Parts, p)
}

var imageURL = regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

// imageOf returns the address of an image that a page may show: a bitmap that is in the record itself.
func imageOf(b chat.Block) (template.URL, bool) {
	if b.Type != "image" || len(b.Value) > maxImage || !imageURL.MatchString(b.Value) {
		return "", false
	}
	return template.URL(b.Value), true //nolint:gosec // the pattern admits nothing but base64
}

// pretty returns a value as indented JSON, or the text itself where it is none; nothing for nothing.
func pretty(value any) string {
	raw, ok := value.(json.RawMessage)
	if m, isMap := value.(map[string]any); isMap && len(m) > 0 {
		if b, err := json.Marshal(m); err == nil {
			raw, ok = b, true
		}
	}
	if !ok || len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	said := string(raw)
	var plain string
	var b bytes.Buffer
	switch {
	case raw[0] == '"' && json.Unmarshal(raw, &plain) == nil:
		said = plain
	case len(raw) < 1<<20 && json.Indent(&b, raw, "", "  ") == nil:
		said = b.String()
	}
	said, left := text.Cut(text.Visible(said), maxJSON)
	if left > 0 {
		said += "\n… " + text.Plural(left, "more character")
	}
	return said
}

// turnFacts are what is known of a turn beside what was said.
func turnFacts(x result.Turn) (facts []fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("id", text.OneLine(x.TurnID, 100))
	if x.LatencyMS > 0 {
		add("latency", text.Milliseconds(x.LatencyMS))
	}
	add("tokens", tokensFigure(x.Usage).Value)
	add("cost", costFigure(x.Cost).Value)
	if x.Attempts > 0 {
		add("attempts", text.Count(x.Attempts))
	}
	add("node", text.OneLine(x.Node, 100))
	add("trace", text.OneLine(x.TraceID, 100))
	if x.FinishReason != "" && x.FinishReason != "stop" {
		add("ended by", text.OneLine(x.FinishReason, 40))
	}
	return facts
}

// factsOf are what is known of a conversation as a whole.
func factsOf(t *result.Test) (facts []fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	if !t.StartedAt.IsZero() {
		add("began", when(t.StartedAt))
	}
	if t.DurationMS > 0 {
		add("took", text.Milliseconds(t.DurationMS))
	}
	add("tokens", tokensFigure(t.Usage.Add(t.Judge.Usage)).Value)
	add("cost", costFigure(t.Cost).Value)
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
