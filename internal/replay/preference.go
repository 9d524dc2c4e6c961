package replay

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// Preference is which replies to a session a judge prefers.
type Preference struct {
	// Prefers is candidate, baseline, tie, or unknown where the judge gave no verdict. Same is true of equal
	// replies, which are not sent to the judge.
	Prefers string `json:"prefers"`
	Same    bool   `json:"same,omitempty"`
	// ByOrder is true of a tie of a judge that prefers whichever replies come first, or those that come last.
	ByOrder bool   `json:"by_order,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// What a judge prefers beside one of the lanes.
const (
	PrefersNone    = "tie"
	PrefersUnknown = "unknown"
)

// Preferences counts what judges prefer, over all times that sessions were played. Same are those of Ties in which the
// replies are equal, ByOrder those in which the preference depends on the order.
type Preferences struct {
	Wins    int `json:"wins"`
	Losses  int `json:"losses"`
	Ties    int `json:"ties"`
	Same    int `json:"same"`
	ByOrder int `json:"by_order"`
	Unknown int `json:"unknown"`
}

func (c *Preferences) count(pairs []*Pair) {
	for _, p := range pairs {
		if p.Preference == nil {
			continue
		}
		switch p.Preference.Prefers {
		case Candidate:
			c.Wins++
		case Baseline:
			c.Losses++
		case PrefersNone:
			c.Ties++
			if p.Preference.Same {
				c.Same++
			}
			if p.Preference.ByOrder {
				c.ByOrder++
			}
		default:
			c.Unknown++
		}
	}
}

// Judged reports whether a verdict on any replies is known.
func (c *Preferences) Judged() bool { return c.Wins+c.Losses+c.Ties > 0 }

// swayed reports whether most preferences depend on the order, so that the ties mean nothing.
func (c *Preferences) swayed() bool { return 2*c.ByOrder > c.Wins+c.Losses+c.Ties-c.Same }

// maxJudged bounds what a judge reads of a lane, in bytes. Longer conversations are not judged, since what was left out
// might decide; maxPreferenceReason bounds the reason that is stored.
const (
	maxJudged           = 200 << 10
	maxPreferenceReason = 1_000
)

const preferenceCriteria = "Each answer is a conversation of a user with an agent. " +
	"Prefer the one in which the agent's replies serve the user better: they answer the user's messages, are " +
	"correct, helpful, clear and polite. Judge the agent only, not the user."

// prefer has the judge compare the replies of both lanes, in both orders. A verdict that depends on the order is a tie.
// Its error is that of a context that has ended.
func (r *Replayer) prefer(ctx context.Context, pair *Pair) error {
	baseline, candidate := pair.Variation(Baseline), pair.Variation(Candidate)
	if r.Judge == nil || pair.Dropped != "" || baseline == nil || candidate == nil {
		return nil
	}
	baseline.Metrics.ReplyWinRate = new(0.5)
	if baseline.sameReplies(candidate) {
		candidate.Metrics.ReplyWinRate = new(0.5)
		pair.Preference = &Preference{Prefers: PrefersNone, Same: true}
		return nil
	}
	was, is := baseline.transcript(), candidate.transcript()
	if len(was) > maxJudged || len(is) > maxJudged {
		pair.Preference = &Preference{Prefers: PrefersUnknown, Reason: "the conversation is too long to be judged"}
		return nil
	}
	v, err := r.Judge.Decide(ctx, grader.Question{
		Mode: grader.Compare, Criteria: preferenceCriteria, Output: is, Other: was,
		Input: []chat.Message{chat.NewMessage(chat.User, "Which conversation serves its user better?")},
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		pair.Preference = &Preference{Prefers: PrefersUnknown, Reason: head(err.Error(), maxPreferenceReason)}
		return nil
	}
	p := &Preference{Prefers: PrefersNone, Reason: head(v.Reasoning, maxPreferenceReason)}
	if o := v.Orders; o != nil {
		p.ByOrder = o[0]+o[1] == 1 && o[0] != o[1]
	}
	win := 0.5
	switch {
	case v.Score > 0.5:
		p.Prefers, win = Candidate, 1
	case v.Score < 0.5:
		p.Prefers, win = Baseline, 0
	}
	pair.Preference, candidate.Metrics.ReplyWinRate = p, &win
	return nil
}

// sameReplies reports whether two lanes have the same messages and replies in every turn.
func (l *Variation) sameReplies(other *Variation) bool {
	if len(l.Turns) != len(other.Turns) {
		return false
	}
	for i := range l.Turns {
		if l.Turns[i].User != other.Turns[i].User || l.Turns[i].Bot != other.Turns[i].Bot {
			return false
		}
	}
	return true
}

// transcript writes a conversation for a judge.
func (l *Variation) transcript() string {
	var b strings.Builder
	lines := json.NewEncoder(&b) // so that no reply can pretend to be the user's next message
	lines.SetEscapeHTML(false)
	for i := range l.Turns {
		_ = lines.Encode(struct {
			User  string `json:"user"`
			Agent string `json:"agent"`
		}{l.Turns[i].User, l.Turns[i].Bot})
	}
	return b.String()
}
