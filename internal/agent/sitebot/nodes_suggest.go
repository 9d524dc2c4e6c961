package sitebot

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// suggester names the node that suggests what to click on: answers below a question, questions below anything else.
func suggester(t *rules, response string) string {
	marks := marker.Of(response)
	switch {
	case t.Suggestions.Answers && (marks.Questions > 0 || endsWithQuestion(response)):
		return "answer_suggester"
	case t.Suggestions.FollowUps && !marks.Email && !marks.Demo && marks.Questions == 0 && !endsWithQuestion(response):
		return "follow_up_suggester"
	}
	return ""
}

// endsWithQuestion reports whether a text's last sentence is a question.
func endsWithQuestion(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return !strings.ContainsRune(".!?？؟。！", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// maxSuggestions and maxSuggestion bound what a model may suggest.
const (
	maxSuggestions = 5
	maxSuggestion  = 200
)

// suggestAnswers is the answer_suggester.
func (b *Bot) suggestAnswers(ctx context.Context, s State) (update, error) {
	var reply struct {
		Answers []string `json:"answers"`
	}
	vars := prompt.Vars{}
	if field, missing := turnOf(ctx).nextField(&s); missing && marker.Of(s.Response).Questions > 0 {
		vars.Field = field.ID
	}
	if err := b.suggest(ctx, "answer_suggester", vars, &s, &reply); err != nil {
		return nil, err
	}
	return update{answersColumn.Set(suggestions(reply.Answers))}, nil
}

// suggestFollowUps is the follow_up_suggester.
func (b *Bot) suggestFollowUps(ctx context.Context, s State) (update, error) {
	var reply struct {
		Suggestions []string `json:"suggestions"`
	}
	if err := b.suggest(ctx, "follow_up_suggester", prompt.Vars{}, &s, &reply); err != nil {
		return nil, err
	}
	return update{followUpsColumn.Set(suggestions(reply.Suggestions))}, nil
}

// suggest asks for suggestions. There are none, and that is no failure, when the visitor writes again meanwhile.
func (b *Bot) suggest(ctx context.Context, node string, vars prompt.Vars, s *State, reply any) error {
	within, done := b.hurries.unhurried(ctx, Thread(s.SiteName, s.SessionID))
	defer done()
	err := b.ask(within, turnOf(ctx).models.Default, node, vars, answered(s), reply)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// answered is the conversation with this turn's answer.
func answered(s *State) shown {
	c := conversation(s, all)
	c.messages = append(c.messages, chat.NewMessage(chat.Assistant, s.Response))
	return c
}

func suggestions(texts []string) []string {
	kept := []string{}
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" && len(text) <= maxSuggestion && !slices.Contains(kept, text) &&
			len(kept) < maxSuggestions {
			kept = append(kept, text)
		}
	}
	return kept
}
