package chatbot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/dataset/conversation"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/eventlog"
)

// anySite is the name of the site of a chatbot that looks at sessions of all.
const anySite = "sessions.invalid"

// Operator returns a chatbot that looks at sessions of a site, and takes no turns; an empty name means all sites.
func (s *Sessions) Operator(site string) (*sitebot.Bot, error) {
	if site == "" {
		site = anySite
	}
	return sessionBot(site, sitebot.Config{Checkpoints: s})
}

// listPage is how many sessions are read at once, and listMost how many are looked at in all.
const (
	listPage = 200
	listMost = 1_000_000
)

// Listed returns the sessions that a query selects: a page of them, or all where the query has no limit.
func (s *Sessions) Listed(ctx context.Context, q sitebot.Query) (*sitebot.SessionList, error) {
	bot, err := s.Operator("")
	if err != nil {
		return nil, err
	}
	if q.Limit > 0 {
		return bot.Sessions(ctx, "", q)
	}
	list, all := &sitebot.SessionList{}, map[string]sessionindex.Row{} // a session may be on two pages
	for q.Limit = listPage; len(all) < listMost; {
		page, err := bot.Sessions(ctx, "", q)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Sessions {
			all[sessionindex.Thread(row.Site, row.Session)] = row
		}
		list.Unreadable += page.Unreadable
		if page.Next == nil {
			list.Sessions = slices.SortedFunc(maps.Values(all),
				func(a, b sessionindex.Row) int { return b.Compare(&a) })
			return list, nil
		}
		if q.After, err = sessionindex.ParseCursor(*page.Next); err != nil {
			return nil, err
		}
	}
	return nil, source.Invalid("there are more than %d such sessions: choose fewer with --since and --until", listMost)
}

// Named returns the rows of sessions by their ids, in the order in which they are named. The site may be empty where
// only one has such a session.
func (s *Sessions) Named(ctx context.Context, site string, ids []string) ([]sessionindex.Row, error) {
	rows := make([]sessionindex.Row, 0, len(ids))
	for _, id := range ids {
		on, err := s.SiteOf(ctx, site, id)
		if err != nil {
			return nil, err
		}
		k, err := s.Session(ctx, on, id)
		if err != nil {
			return nil, err
		}
		if on == "" || k == nil {
			return nil, source.Invalid("there is no session %s: `rehearse sessions list` lists them", text.Visible(id))
		}
		rows = append(rows, k.Row)
	}
	return rows, nil
}

// SiteOf returns the site of a session: the one that is named, or the only one that has it; empty when none has.
func (s *Sessions) SiteOf(ctx context.Context, named, id string) (string, error) {
	if named != "" {
		return named, nil
	}
	sites, err := s.SitesOf(ctx, id)
	switch {
	case err != nil || len(sites) == 0:
		return "", err
	case len(sites) > 1:
		return "", source.Invalid("several sites have a session %s: name one with --site: %q", text.Visible(id), sites)
	}
	return sites[0], nil
}

// Items makes an item of a turn of each session, or of its last for 0: what was answered is what is expected. skipped
// are those without such a turn.
func (s *Sessions) Items(ctx context.Context, rows []sessionindex.Row, turn int,
	mask func([]byte) []byte) (items []dataset.Record, skipped []string, err error) {
	for _, row := range rows {
		if row.Turns == 0 || turn > row.Turns {
			skipped = append(skipped, row.Session)
			continue
		}
		c, err := conversation.OfChatbot(ctx, s, SessionReader, s.Where, row.Site, row.Session)
		if err != nil {
			return nil, nil, err
		}
		number, err := c.Turn(turn)
		if err != nil {
			return nil, nil, err
		}
		r, err := c.Item(number)
		if err != nil {
			return nil, nil, err
		}
		r.Expected = dataset.Response(c.Answer(number))
		r.Input, r.Expected, r.Metadata = mask(r.Input), mask(r.Expected), mask(r.Metadata)
		items = append(items, r)
	}
	return items, skipped, nil
}

// Events makes events of sessions, up to a turn of each, or of all turns for 0. skipped are those without an answer.
func (s *Sessions) Events(ctx context.Context, rows []sessionindex.Row, turn int,
	now time.Time) (events []replay.Event, skipped []string, err error) {
	bot, err := s.Operator("")
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		session, err := bot.Recorded(ctx, row)
		if err != nil {
			return nil, nil, err
		}
		if session != nil && turn > 0 && turn < len(session.Turns) {
			session.Turns = session.Turns[:turn]
		}
		if session == nil || len(session.Turns) == 0 {
			skipped = append(skipped, row.Session)
			continue
		}
		told, err := eventlog.Events(session, now)
		if err != nil {
			return nil, nil, fmt.Errorf("session %s: %w", text.Visible(row.Session), err)
		}
		events = append(events, told...)
	}
	return events, skipped, nil
}

// FaultOf gives what a chatbot refuses the exit code of a wrong input.
func FaultOf(err error) error {
	mistakes := []sitebot.Fault{
		sitebot.InvalidRequest, sitebot.UnknownSite, sitebot.UnknownSession, sitebot.UnknownTurn,
	}
	if fault, ok := errors.AsType[*sitebot.Error](err); ok && slices.Contains(mistakes, fault.Fault) {
		return source.AsInvalid(err)
	}
	return err
}
