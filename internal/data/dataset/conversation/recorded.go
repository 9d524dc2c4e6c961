// Package conversation makes items of datasets out of conversations that took place: those of a run, sessions in
// Langfuse, and sessions of a chatbot. The query of an item is what the user said in one turn, its history what was
// said before.
package conversation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// Recorded is a conversation that took place. OfTest, OfSession and OfChatbot find it.
type Recorded struct {
	// Site is the name of the website, if it is known.
	Site string

	// kind and name say what it is, such as the test refund-twice; parts tell it from every other conversation.
	kind, name string
	parts      []string
	// said are the messages of the user and the assistant; turns are the indices in it at which the turns begin.
	said  []utterance
	turns []int
	// chosen is the turn that is taken unless another one is named, from 1, and why says why.
	chosen int
	why    string
	// source tells where a turn comes from.
	source func(turn int) map[string]any
	// test is what a turn of a run belongs to; nil for sessions.
	test *testOf
}

// utterance is a message in the history of an item.
type utterance struct {
	Role    chat.Role `json:"role"`
	Content string    `json:"content"`
}

// String says what it is.
func (c *Recorded) String() string { return "the " + c.kind + " " + c.name }

// Turns counts the turns.
func (c *Recorded) Turns() int { return len(c.turns) }

// Chosen says why Turn takes the turn that it takes when none is asked for, such as the last.
func (c *Recorded) Chosen() string { return c.why }

// Turn returns the turn that was asked for, from 1, or for 0 the first that failed in a test and the last otherwise.
func (c *Recorded) Turn(asked int) (int, error) {
	switch n := len(c.turns); {
	case n == 0:
		return 0, source.Invalid("%s has no turn to make an item of: nothing was said to the agent", c)
	case asked > n:
		return 0, source.Invalid("--turn %d: %s has %s", asked, c, text.Plural(n, "turn"))
	}
	return cmp.Or(asked, c.chosen), nil
}

// Answer returns what the assistant said in a turn, which Turn has returned; empty for nothing.
func (c *Recorded) Answer(turn int) string {
	var answer []string
	for _, m := range c.said[c.turns[turn-1]+1:] {
		if m.Role != chat.Assistant {
			break
		}
		answer = append(answer, m.Content)
	}
	return strings.Join(answer, "\n\n")
}

// Item makes an item of a turn, which Turn has returned. It says nothing of what is expected.
func (c *Recorded) Item(turn int) (dataset.Record, error) {
	at := c.turns[turn-1]
	from := c.source(turn)
	from["turn"] = turn
	if answer := c.Answer(turn); answer != "" {
		from["answer"] = answer
	}
	metadata := map[string]any{"source": from, "history": append([]utterance{}, c.said[:at]...)}
	if c.Site != "" {
		metadata["site_name"] = c.Site
	}
	r := dataset.Record{ID: c.id(turn)}
	var err error
	if r.Input, err = dataset.JSON(map[string]string{"query": c.said[at].Content}); err == nil {
		r.Metadata, err = dataset.JSON(metadata)
	}
	return r, err
}

// id names an item by its conversation and turn, the same every time.
func (c *Recorded) id(turn int) string {
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
