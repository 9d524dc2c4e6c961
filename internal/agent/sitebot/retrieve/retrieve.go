// Package retrieve looks up what a site's knowledge has to say about a message, as text for a prompt: in a LightRAG
// server, or in a knowledge base of our own. What is found may be wrong, hostile or stale: it is material for a prompt,
// never an instruction.
package retrieve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

const (
	// MaxText is how many bytes of retrieved text go into a prompt at most.
	MaxText = 16 << 10
	// maxQuery is how many characters of a message are looked up. More would make the look-up slower, not better.
	maxQuery = 4000
	// defaultTopK is how many passages are looked up where nothing else is said.
	defaultTopK = 5
)

// Text formats passages for a prompt, best first, each with a number to refer to: "[1] text", with an empty line
// between them. Empty passages are left out. Passages beyond MaxText are left out too; only the first is cut to fit.
func Text(passages []flow.Passage) string {
	var b strings.Builder
	number := 0
	for _, p := range passages {
		text := strings.TrimSpace(strings.ToValidUTF8(p.Text, ""))
		if text == "" {
			continue
		}
		number++
		entry := "[" + strconv.Itoa(number) + "] " + text
		if number > 1 {
			entry = "\n\n" + entry
		}
		if b.Len()+len(entry) > MaxText {
			if number == 1 {
				return bound(entry)
			}
			break
		}
		b.WriteString(entry)
	}
	return b.String()
}

// bound cuts a text to MaxText, at the end of a line if there is one in the second half, and otherwise between
// characters.
func bound(text string) string {
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > MaxText/2 {
		end = line
	}
	return strings.TrimSpace(text[:end])
}

// shorten returns the part of a message that is looked up.
func shorten(query string) string {
	query = strings.TrimSpace(strings.ToValidUTF8(query, ""))
	if runes := []rune(query); len(runes) > maxQuery {
		return string(runes[:maxQuery])
	}
	return query
}

// Embedded looks things up in a knowledge base of our own. It is as safe for concurrent use as its Knowledge.
type Embedded struct {
	Knowledge flow.Knowledge
	// Base is the name of the knowledge base.
	Base string
	// TopK is how many passages are wanted, from 1 to 20; 5 without.
	TopK int
}

// Retrieve returns the best passages as Text; "" if there are none.
func (e Embedded) Retrieve(ctx context.Context, query string) (string, error) {
	query = shorten(query)
	if query == "" {
		return "", nil
	}
	topK := defaultTopK
	if e.TopK > 0 {
		topK = min(e.TopK, 20)
	}
	passages, err := e.Knowledge.Search(ctx, flow.Query{Text: query, Bases: []string{e.Base}, TopK: topK})
	if err != nil {
		return "", fmt.Errorf("knowledge base %q: %w", e.Base, err)
	}
	return Text(passages), nil
}

// noContext ends what the server says in place of a context that it has not found.
const noContext = "[no-context]"

// found reads the context out of an answer: {"response": "text"}, or, of servers before version 1, the text alone.
func found(data []byte) (string, error) {
	var answer struct {
		Response *string `json:"response"`
	}
	var text string
	switch {
	case json.Unmarshal(data, &answer) == nil && answer.Response != nil:
		text = *answer.Response
	case json.Unmarshal(data, &text) == nil:
	default:
		return "", errors.New("the answer has no text: is this a LightRAG server?")
	}
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, noContext) {
		return "", nil
	}
	return bound(text), nil
}
