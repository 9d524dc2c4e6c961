package pages

import (
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
)

// tell fills in the turns of a session.
func (p *sessionPage) tell(s *replay.Session) {
	turns := []sessionTurn{{}}
	for _, said := range s.Messages[:min(len(s.Messages), maxSaid)] {
		if said.User {
			turns = append(turns, sessionTurn{N: len(turns)})
		}
		role := "assistant"
		if said.User {
			role = "user"
		}
		last := &turns[len(turns)-1]
		last.Messages = append(last.Messages, transcript.MessageOf(role, chat.Content{Text: said.Text}, nil,
			messages(p.Raw)))
		around := [2]string{said.Before, said.After}
		if around == last.around { // an answer stands between the states of its question
			continue
		}
		last.around = around
		for _, state := range around {
			if state = text.OneLine(state, 200); state != "" &&
				(len(last.State) == 0 || last.State[len(last.State)-1] != state) {
				last.State = append(last.State, state)
			}
		}
	}
	if len(turns[0].Messages) == 0 {
		turns = turns[1:]
	}
	p.Turns = turns
	if left := len(s.Messages) - maxSaid; left > 0 {
		p.Warnings = append(p.Warnings, text.Plural(left, "more message")+" of this session not shown here.")
	}
}
