package pages

import (
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// replaySessionPage is a session in all its lanes.
type replaySessionPage struct {
	frame.Page
	Run      replay.Run
	Session  replayedSession
	Raw      bool
	Toggle   string
	Variants []variantHead
	Turns    []variantRow
	Left     int
}

// variantHead is how a lane ended.
type variantHead struct {
	Name, Ended, Error string
	Diverges           int
}

// variantRow is a turn in all lanes.
type variantRow struct {
	N     int
	Cells []variantCell
}

// variantCell is a turn in one lane; without messages the lane has no such turn.
type variantCell struct {
	Variant                   string
	There, Diverges, Invented bool
	Supported                 bool
	User, Bot                 transcript.Message
	Before, State, Took       string
}

// maxLaneTurns bounds the turns of a session that are shown.
const maxLaneTurns = 200

// replaySession answers with a session of a replay, its lanes side by side by the numbers of their turns.
func (p *Pages) replaySession(w http.ResponseWriter, r *http.Request) {
	run, found, ok := p.replayed(w, r)
	if !ok {
		return
	}
	id := frame.Part(r, "session")
	address := "/replays/" + frame.Segment(run.ID)
	var session *replayedSession
	for i := range found.sessions {
		if found.sessions[i].ID == id {
			session = &found.sessions[i]
		}
	}
	if session == nil {
		p.frame.NotFound(w, r, "This replay has no such session.", frame.Link{
			Label: "Replay " + run.ID, Address: address,
		})
		return
	}
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	for outcome, err := range store.Replays.Outcomes(r.Context(), run.ID) {
		if err != nil {
			p.away(w, r, err)
			return
		}
		if outcome.SessionID != id {
			continue
		}
		pair, err := outcome.Pair()
		if err != nil {
			p.away(w, r, err)
			return
		}
		page := replaySessionPage{
			Page: p.frame.Base(r, "replay-session", "Session "+id), Run: run, Session: *session,
			Raw: r.URL.Query().Get("view") == "raw",
		}
		page.Trail = []frame.Link{
			{Label: "Replays", Address: "/replays"},
			{Label: "Replay " + run.ID, Address: address, Up: true},
		}
		page.Toggle = session.Address
		if !page.Raw {
			page.Toggle += "?view=raw"
		}
		page.fill(pair)
		p.frame.Show(w, http.StatusOK, "replay-session", page)
		return
	}
	p.frame.NotFound(w, r, "This session is no longer in the store.", frame.Link{
		Label: "Replay " + run.ID, Address: address,
	})
}

// fill aligns the lanes by the numbers of their turns.
func (p *replaySessionPage) fill(pair *replay.Pair) {
	most := 0
	for i := range pair.Variations {
		l := &pair.Variations[i]
		ended := endOf(l)
		if l.Name == replay.Observed {
			ended = pair.Outcome
		}
		p.Variants = append(p.Variants, variantHead{l.Name, ended, text.OneLine(l.Error, 600), divergesAt(l)})
		for _, t := range l.Turns {
			most = max(most, t.Number)
		}
	}
	p.Left = max(0, most-maxLaneTurns)
	for n := 1; n <= most-p.Left; n++ {
		row := variantRow{N: n}
		for i := range pair.Variations {
			l := &pair.Variations[i]
			cell := variantCell{Variant: l.Name, Diverges: l.Name != replay.Observed && divergesAt(l) == n}
			for j := range l.Turns {
				if t := &l.Turns[j]; t.Number == n {
					cell.fill(t, p.Raw)
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		p.Turns = append(p.Turns, row)
	}
}

func (c *variantCell) fill(t *replay.VariationTurn, raw bool) {
	c.There, c.Invented, c.Supported = true, t.Invented, t.Supported
	c.User = transcript.MessageOf("user", chat.Content{Text: t.User}, nil, messages(raw))
	c.Bot = transcript.MessageOf("assistant", chat.Content{Text: t.Bot}, nil, messages(raw))
	c.Before, c.State = text.OneLine(t.Before, 200), text.OneLine(t.State, 200)
	if t.LatencyMS != nil {
		c.Took = text.Milliseconds(*t.LatencyMS)
	}
}
