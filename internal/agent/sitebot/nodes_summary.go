package sitebot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const (
	// summaryAfter is how many turns have fallen out of the calls without being summed up when they are.
	summaryAfter = 6
	// maxSummary bounds a summary, in characters.
	maxSummary = 4000
	// leastSaid is what is shown at least of a message that is summed up, in characters: of many long ones the oldest
	// are left out.
	leastSaid = 80
)

// summarize is the conversation_summary: it runs once the answer is there, and only where turns have fallen out of the
// writer's call.
func (b *Bot) summarize(ctx context.Context, s State) (update, error) {
	if s.Fallen-s.Summary.ToTurn < summaryAfter {
		return nil, nil
	}
	t := turnOf(ctx)
	r, err := b.summaryRequest(ctx, &s)
	if err != nil {
		return nil, err
	}
	answer, err := t.generate(ctx, t.models.Default, r)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(answer.Text)
	if text == "" {
		return nil, errors.New("the summary is empty")
	}
	return update{summaryColumn.Set(Summary{Text: firstOf(text, maxSummary), ToTurn: s.Fallen})}, nil
}

// summaryRequest asks for a summary of the summary so far and of the turns that have fallen out since. They are one
// message, as nobody is to answer them.
func (b *Bot) summaryRequest(ctx context.Context, s *State) (r llm.Request, err error) {
	t := turnOf(ctx)
	vars := prompt.Vars{Language: t.request.Language, Summary: s.Summary.Text}
	system, err := b.Prompts.Render(ctx, t.Site, prompt.ConversationSummary, vars)
	if err != nil {
		return r, err
	}
	most := charactersOf(t.Limits.PromptTokens)
	system = ends(system, most/2)
	said := s.Messages[endOfTurn(s.Messages, s.Summary.ToTurn):endOfTurn(s.Messages, s.Fallen)]
	return callOf(prompt.ConversationSummary, system, []chat.Message{
		{}, chat.NewMessage(chat.User, transcript(said, most-characters(system))),
	}), nil
}

// endOfTurn returns where a number of turns end among messages. A message that was never answered belongs to the turn
// after it.
func endOfTurn(messages []Message, turns int) int {
	for i, m := range messages {
		if turns <= 0 {
			return i
		}
		if m.Role == chat.Assistant {
			turns--
		}
	}
	return len(messages)
}

// transcript writes messages as one text of at most so many characters. Long ones lose their middle, and of very many
// the oldest are left out.
func transcript(messages []Message, room int) string {
	var lines []string
	for i, m := range slices.Backward(messages) {
		who := "Visitor: "
		if m.Role == chat.Assistant {
			who = "Assistant: "
		}
		share := room / (i + 1)
		if share < leastSaid && len(lines) > 0 {
			share = leastSaid
		}
		line := who + ends(m.Content, share-characters(who)-2)
		if room -= characters(line) + 2; room < 0 {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n\n")
}
