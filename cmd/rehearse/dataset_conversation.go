package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
)

// recorded is a conversation of which one turn is made an item.
type recorded struct {
	// kind and name say what it is, such as the test refund-twice; parts tell it from every other conversation.
	kind, name string
	parts      []string
	// said are the messages of the user and the assistant; turns are where in it the turns begin, each with what the user said.
	said  []utterance
	turns []int
	// chosen is the turn that is taken unless another one is named, from 1, and why says why.
	chosen int
	why    string
	// site is the name of the website, if it is known.
	site string
	// source tells where the conversation comes from; expected returns what was expected of a turn, or nil.
	source   func(turn int) map[string]any
	expected func(turn int) json.RawMessage
}

// utterance is a message in the history of an item.
type utterance struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// String says what it is.
func (c *recorded) String() string { return "the " + c.kind + " " + c.name }

// turn returns the turn that is meant: the one that was asked for, or the chosen one.
func (c *recorded) turn(asked int) (int, error) {
	switch {
	case len(c.turns) == 0:
		return 0, usage("%s has no turn to make an item of: nothing was said to the agent", c)
	case asked > len(c.turns):
		return 0, usage("--turn %d: %s has %s", asked, c, plural(len(c.turns), "turn"))
	}
	return cmp.Or(asked, c.chosen), nil
}

// item makes an item of a turn: the query is what the user said, the history what was said before.
func (c *recorded) item(turn int) (dataset.Record, error) {
	at := c.turns[turn-1]
	source := c.source(turn)
	source["turn"] = turn
	var answer []string
	for _, m := range c.said[at+1:] {
		if m.Role != chat.Assistant {
			break
		}
		answer = append(answer, m.Content)
	}
	if len(answer) > 0 {
		source["answer"] = strings.Join(answer, "\n\n")
	}
	metadata := map[string]any{"source": source, "history": append([]utterance{}, c.said[:at]...)}
	if c.site != "" {
		metadata["site_name"] = c.site
	}
	r := dataset.Record{ID: c.id(turn)}
	var err error
	if r.Input, err = plainJSON(map[string]string{"query": c.said[at].Content}); err == nil {
		r.Metadata, err = plainJSON(metadata)
	}
	if err == nil && c.expected != nil {
		r.Expected = c.expected(turn)
	}
	return r, outcome(err)
}

// id names an item by its conversation and turn, the same every time.
func (c *recorded) id(turn int) string {
	what, _ := json.Marshal(append([]any{turn}, c.parts)) // texts always encode
	sum := sha256.Sum256(what)
	const longest = 60
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, c.name)
	short := []rune(name)
	return string(short[:min(len(short), longest)]) + "-" + hex.EncodeToString(sum[:4])
}

// plainJSON writes JSON in which <, > and & stay as they are.
func plainJSON(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return json.RawMessage(strings.TrimSpace(b.String())), err
}
