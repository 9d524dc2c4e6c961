package sitebot

import (
	"context"
	"slices"
	"strings"

	"rehearse/internal/sitebot/prompt"
	"rehearse/internal/sitebot/site"
)

// extract takes the visitor's message as the answer to the question of the turn before (sitebot.md 2.6).
func (b *Bot) extract(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	if !t.extracts(&s) {
		return nil, nil
	}
	field, _ := t.nextField(&s)
	value := site.Declined
	if !site.Declines(s.Input) {
		var reply struct {
			Value *looseText `json:"value"`
		}
		vars := prompt.Vars{Field: field.ID, Collected: s.Profiling.Collected}
		if err := b.ask(ctx, t.models.Default, "early_profile_extractor", vars, conversation(&s, 1), &reply); err != nil {
			return nil, err
		}
		if reply.Value == nil && !refuses(s.Input) {
			return nil, nil // the message was about something else
		}
		value = answerOf(reply.Value)
	}
	return update{profilingColumn.Set(Profiling{Collected: map[string]string{field.ID: value}}), extractedColumn.Set(true)}, nil
}

// answerOf returns what a field holds after an answer; one that is blank, or a way not to answer, is declined.
func answerOf(said *looseText) string {
	if said == nil || site.Declines(string(*said)) {
		return site.Declined
	}
	return strings.TrimSpace(string(*said))
}

// maxRefusalWords is how long a message may be that is taken for a refusal because of a phrase in it.
const maxRefusalWords = 6

// refuses reports whether a short message begins or ends with a way not to answer a question, such as "skip this one please", and asks nothing.
func refuses(message string) bool {
	words := wordsOf(message)
	if question(message) || len(words) > maxRefusalWords {
		return false
	}
	text := strings.Join(words, " ")
	return slices.ContainsFunc(site.RefusalWords(), func(phrase string) bool {
		return strings.HasPrefix(text, phrase+" ") || strings.HasSuffix(text, " "+phrase)
	})
}
