package verify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Player is a model that answers as it was recorded. It takes nothing from a message but the answer to an open
// question, which is the whole message. The zero value is ready. It plays one conversation at a time.
type Player struct{ said, answer string }

// analysis is what a Player replies to the nodes that look at a message: there is nothing in it.
var analysis = map[string]string{
	"intent_classifier": `{"intent":"LEARN","confidence":1}`, "interest_signals_detector": `{"signals":[]}`,
	"skill_selector": `{"skills":[],"reasons":{}}`, "visitor_profile": `{}`, "form_field_extractor": `{"fields":{}}`,
	"follow_up_suggester": `{"suggestions":[]}`, "answer_suggester": `{"answers":[]}`,
}

// Generate implements llm.Model.
func (p *Player) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	if reply, ok := analysis[r.Node]; ok {
		return chat.Reply{Text: reply}, nil
	}
	if r.Node == "early_profile_extractor" {
		data, err := json.Marshal(map[string]string{"value": p.said})
		return chat.Reply{Text: string(data)}, err
	}
	return chat.Reply{Text: p.answer}, nil
}

// errUnplayable says that a history is no conversation of question and answer, such as one that begins with a greeting.
var errUnplayable = errors.New("a chatbot answers every message once: the history has two messages of one speaker in " +
	"a row, or begins with an answer")

// play holds a recorded conversation up to its last answer. It returns the turns that the abuse gate kept from being
// answered.
func (p *Player) play(ctx context.Context, bot *sitebot.Bot, site, session string,
	messages []sitebot.RebuiltMessage) (blocked []Blocked, err error) {
	if len(messages)%2 != 0 {
		return nil, errUnplayable
	}
	turn := 0
	for pair := range slices.Chunk(messages, 2) {
		if pair[0].Role != chat.User || pair[1].Role != chat.Assistant {
			return nil, errUnplayable
		}
		turn++
		p.said, p.answer = pair[0].Content, pair[1].Content
		out, err := bot.Turn(ctx, sitebot.Request{Site: site, Session: session, Input: pair[0].Content}, nil)
		if err != nil {
			return nil, err
		}
		if out.Metadata.Blocked != sitebot.NotBlocked {
			blocked = append(blocked, Blocked{turn, out.Metadata.Blocked})
		}
	}
	return blocked, nil
}
