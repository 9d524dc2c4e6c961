package chatsession

import (
	"context"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"iter"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// OfSession returns what was said in a logged session, with a turn for each message of the user.
func OfSession(s *replay.Session) (turns []Turn) {
	for _, m := range s.Messages {
		switch {
		case m.User:
			turns = append(turns, Turn{Message: m.Text})
		case len(turns) > 0:
			last := &turns[len(turns)-1]
			last.Reply.Text = strings.TrimPrefix(last.Reply.Text+"\n\n"+m.Text, "\n\n")
		}
	}
	return turns
}

// Events are where sessions are logged.
type Events interface {
	EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
}

// Chosen returns the logged sessions with some ids as a suite of the name, in the order of the ids; mask hides secrets.
func Chosen(ctx context.Context, log Events, name string, ids []string, mask func(string) string) ([]byte, error) {
	found := make([]Message, len(ids))
	for s, err := range replay.Sessions(log.EachFrom(ctx, replay.Filter{}, ""), 0, &replay.Faults{}) {
		if err != nil {
			return nil, err
		}
		if at := slices.Index(ids, s.ID); at >= 0 {
			found[at] = Message{ID: s.ID, Turns: OfSession(s)}
		}
	}
	found = slices.DeleteFunc(found, func(s Message) bool { return len(s.Turns) == 0 })
	return Written(name, source.Value{}, found, Saving{Mask: mask})
}
