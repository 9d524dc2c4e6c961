package sitebot

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// tokenCharacters is how many characters are counted as one token.
const tokenCharacters = 4

// shown is what a model is shown of a conversation: the messages that fit, and a summary of the others. The visitor's
// last message always stays.
type shown struct {
	// messages are those of the conversation, behind a free place for the system text.
	messages []chat.Message
	// summary stands for earlier messages; empty where there is none, or where only the latest messages are asked for.
	summary string
	// before is how many turns lie before the messages.
	before int
}

// all is the limit of a conversation that is shown whole, within reason.
const all = 200

// conversation returns the last messages and, behind them, the visitor's new one. A limit of 0 means only the new one.
func conversation(s *State, limit int) shown {
	from := max(0, len(s.Messages)-limit)
	// the visitor's new one, and the answer where a node has it
	c := shown{messages: make([]chat.Message, 1, 1+len(s.Messages)-from+2)}
	if limit == all {
		c.summary, c.before = s.Summary.Text, turnsOf(s.Messages[:from])
	}
	for _, m := range s.Messages[from:] {
		c.messages = append(c.messages, chat.NewMessage(m.Role, m.Content))
	}
	c.messages = append(c.messages, chat.NewMessage(chat.User, s.Input))
	return c
}

// ofVisitor returns the part of a conversation that the visitor has said.
func (c shown) ofVisitor() shown {
	said := make([]chat.Message, 1, len(c.messages))
	for _, m := range c.messages {
		if m.Role == chat.User {
			said = append(said, m)
		}
	}
	c.messages = said
	return c
}

// request makes a call of a node that is no larger than the site allows. It holds the system text and then the newest
// turns; documents take at most half of it. Fallen is how many turns have no place in it.
func (b *Bot) request(ctx context.Context, node string,
	vars prompt.Vars, c shown) (r llm.Request, fallen int, err error) {
	t := turnOf(ctx)
	vars.Language = t.request.Language
	most := charactersOf(t.Limits.PromptTokens)
	vars.Docs = beginning(vars.Docs, most/2)
	system, err := b.Prompts.Render(ctx, t.Site, node, vars)
	if err != nil {
		return r, 0, err
	}
	if c.fits(most - len(system)) {
		return callOf(node, system, c.messages), 0, nil
	}
	// what the system text may take of it
	room := most - min(characters(c.last().Content.String()), most/tokenCharacters)
	if over := characters(system) - room; over > 0 && vars.Docs != "" {
		vars.Docs = beginning(vars.Docs, max(0, characters(vars.Docs)-over))
		if system, err = b.Prompts.Render(ctx, t.Site, node, vars); err != nil {
			return r, 0, err
		}
	}
	system = ends(system, room)
	messages, fallen := c.within(most - characters(system))
	if fallen > 0 && c.summary != "" {
		if summary := prompt.Earlier(c.summary); characters(system)+characters(summary) <= room {
			system += summary
			messages, fallen = c.within(most - characters(system))
		}
	}
	return callOf(node, system, messages), fallen, nil
}

// callOf makes a call of messages whose first place is free.
func callOf(node, system string, messages []chat.Message) llm.Request {
	messages[0] = chat.NewMessage(chat.System, system)
	return llm.Request{Messages: messages, Node: node}
}

// fits reports whether a whole conversation surely takes no more than a room, as most do: no text has more characters
// than bytes.
func (c shown) fits(room int) bool {
	for _, m := range c.messages {
		room -= len(m.Content.String())
	}
	return room >= 0 && c.before == 0
}

// charactersOf returns how many characters a number of tokens is; 0 tokens bound nothing.
func charactersOf(tokens int) int {
	if tokens <= 0 || tokens > math.MaxInt/tokenCharacters {
		return math.MaxInt / 2 // so that sums do not overflow
	}
	return tokens * tokenCharacters
}

func characters(text string) int { return utf8.RuneCountInString(text) }

// lastOfVisitor returns the place of the visitor's last message.
func (c shown) lastOfVisitor() int {
	for i := len(c.messages) - 1; i > 1; i-- {
		if c.messages[i].Role == chat.User {
			return i
		}
	}
	return 1
}

func (c shown) last() chat.Message { return c.messages[c.lastOfVisitor()] }

// within returns the newest turns that fit into a room of characters, behind a free place, and how many do not. The
// visitor's last message and what comes after it are there in any case, cut in the middle where they are too long.
func (c shown) within(room int) (messages []chat.Message, fallen int) {
	from := c.lastOfVisitor()
	used := 0
	for _, m := range c.messages[from:] {
		used += characters(m.Content.String())
	}
	if used > room {
		return shortened(c.messages[from:], room), c.before + answers(c.messages[:from])
	}
	for i := from - 1; i >= 1; i-- {
		if used += characters(c.messages[i].Content.String()); used > room {
			break
		}
		if i == 1 || c.messages[i].Role == chat.User { // models want a turn from its beginning
			from = i
		}
	}
	return c.messages[from-1:], c.before + answers(c.messages[:from])
}

// answers counts the messages of the assistant.
func answers(messages []chat.Message) (n int) {
	for _, m := range messages {
		if m.Role == chat.Assistant {
			n++
		}
	}
	return n
}

// shortened returns messages, behind a free place, that take no more than room together. Each may take an equal share,
// and what those before it have left.
func shortened(messages []chat.Message, room int) []chat.Message {
	short := make([]chat.Message, 1, 1+len(messages))
	for i, m := range messages {
		text := ends(m.Content.String(), max(0, room)/(len(messages)-i))
		room -= characters(text)
		short = append(short, chat.NewMessage(m.Role, text))
	}
	return short
}

// omission stands where something was left out.
const omission = " […] "

// ends returns a text of at most so many characters: without its middle where it is longer.
func ends(text string, most int) string {
	if len(text) <= most || characters(text) <= most { // a character has a byte at least
		return text
	}
	kept := most - characters(omission)
	if kept < 2 {
		return firstOf(text, most)
	}
	tail := kept / 2
	last := text
	for skip := characters(text) - tail; skip > 0; skip-- {
		_, size := utf8.DecodeRuneInString(last)
		last = last[size:]
	}
	return firstOf(text, kept-tail) + omission + last
}

// beginning returns the first passages of a text that take at most so many characters.
func beginning(text string, most int) string {
	if len(text) <= most || characters(text) <= most {
		return text
	}
	text = firstOf(text, most)
	if end := strings.LastIndexByte(text, '\n'); end > len(text)/2 { // at the end of a line, where that is near
		text = text[:end]
	}
	return text
}

// firstOf returns the first characters of a text.
func firstOf(text string, most int) string {
	for at := range text {
		if most == 0 {
			return text[:at]
		}
		most--
	}
	return text
}
