package target

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// earlier holds the messages before the first turn. Sessions embed it to implement runner.Historian.
type earlier []chat.Message

// Earlier implements runner.Historian.
func (e earlier) Earlier() []chat.Message { return e }

// rebuilt returns the state that the test's history leads to, or nil when the test has no history. The history ends
// before the first turn.
func rebuilt(t *suite.Test, fieldIDs []string) (*sitebot.Rebuilt, error) {
	if t.Start.History == nil {
		return nil, nil
	}
	h := sitebot.History{FieldIDs: fieldIDs, CutAt: (*sitebot.HistoryIndex)(t.Start.CutAt)}
	if err := json.Unmarshal(t.Start.History, &h.Rows); err != nil {
		return nil, fmt.Errorf("the history of test %s: %w", t.ID, err)
	}
	if len(t.Turns) > 0 && !t.Start.Uncut {
		h.Query = t.Turns[0].Input.String()
	}
	r := sitebot.Rebuild(h)
	return &r, nil
}

// before returns the messages before the first turn: the test's input and its history.
func before(t *suite.Test) (earlier, error) {
	r, err := rebuilt(t, nil)
	if r == nil || err != nil {
		return slices.Clip(earlier(t.Input)), err
	}
	return with(t.Input, r.Messages), nil
}

func with(input []chat.Message, history []sitebot.RebuiltMessage) earlier {
	messages := slices.Clone(input)
	for _, m := range history {
		messages = append(messages, chat.NewMessage(m.Role, m.Content))
	}
	return slices.Clip(earlier(messages))
}

// withoutFields returns an error for a test that begins with the state of a website's chatbot.
func withoutFields(t *suite.Test, kind string) error {
	if t.Start.Fields == nil {
		return nil
	}
	return fmt.Errorf("the state of test %s is that of a website's chatbot: a %s has only node and memory", t.ID, kind)
}
