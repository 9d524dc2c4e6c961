package server

import (
	"context"
	"time"

	"rehearse/internal/sitebot"
)

// metadataOf returns the metadata of an outcome with empty lists instead of null.
func metadataOf(out *sitebot.Outcome) *sitebot.Metadata {
	m := out.Metadata
	for _, list := range []*[]string{&m.FollowUps, &m.Answers, &m.Warnings} {
		if *list == nil {
			*list = []string{}
		}
	}
	if m.CTA == nil {
		m.CTA = map[string]string{}
	}
	return &m
}

// logTurn logs a turn: its IDs, its route and its duration, and nothing that was said.
func (s *Chats) logTurn(ctx context.Context, asked sitebot.Request, started time.Time, out *sitebot.Outcome, err error) {
	fields := []any{"site", clean(asked.Site), "session_id", clean(asked.Session), "duration_ms", time.Since(started).Milliseconds()}
	switch {
	case err == nil:
		m := out.Metadata
		s.Log.InfoContext(ctx, "chat turn", append(fields, "turn", m.TurnNumber, "route", m.Route, "action", m.Action, "intent", m.Intent,
			"blocked", m.Blocked, "ttft_ms", m.Latency.FirstToken, "warnings", len(m.Warnings))...)
	case ctx.Err() != nil:
		s.Log.InfoContext(ctx, "chat turn given up: the client went away", fields...)
	default:
		p := chatProblem(err)
		s.Log.WarnContext(ctx, "chat turn failed", append(fields, "status", p.Status, "code", p.Code, "error", clip(err.Error(), maxDetail))...)
	}
}
