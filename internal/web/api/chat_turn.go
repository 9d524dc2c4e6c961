package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// chat is POST /api/v1/chat: one turn, as events or, with Accept: application/json, as one object.
func (s *Chats) chat(w http.ResponseWriter, r *http.Request) {
	s.allowOrigin(w, r)
	asked, err := s.readChat(w, r)
	r = r.WithContext(trace.FromRequest(trace.ForVisitor(r.Context()), r))
	switch {
	case err != nil:
		writeProblem(w, problemOf(err))
	case accepts(r, "application/json") && !wantsEvents(r):
		s.answerWhole(w, r, asked)
	default:
		s.answerInEvents(w, r, asked)
	}
}

// answerWhole takes a turn and answers with its outcome as one object.
func (s *Chats) answerWhole(w http.ResponseWriter, r *http.Request, asked sitebot.Request) {
	out, err := s.turn(r.Context(), asked, func(sitebot.Event) {})
	switch {
	case r.Context().Err() != nil: // the client has gone
	case err != nil:
		writeChatProblem(w, chatProblem(err))
	default:
		writeBody(w, http.StatusOK, "application/json", struct {
			Response string            `json:"response"`
			Metadata *sitebot.Metadata `json:"metadata"`
		}{out.Response, metadataOf(out)})
	}
}

// answerInEvents takes a turn and sends its events as they happen. A refused request gets a status. A turn that fails
// ends the stream with an error event, even if that is its only event.
func (s *Chats) answerInEvents(w http.ResponseWriter, r *http.Request, asked sitebot.Request) {
	ctx, giveUp := context.WithCancel(r.Context())
	defer giveUp()
	stream := &chatStream{
		sse: sse{w: w}, giveUp: giveUp, start: r.URL.Query().Get("start") == "1",
		answered: r.URL.Query().Get("answered") == "1",
	}
	stop := stream.pinging()
	out, err := s.turn(ctx, asked, stream.tell)
	stop()
	switch {
	case ctx.Err() != nil:
	case err == nil:
		stream.unsaid(out)
		stream.end(chatEvent{Type: "complete", Metadata: metadataOf(out)})
	case stream.sse.begun || chatFailed(err):
		p := chatProblem(err)
		stream.end(chatEvent{Type: "error", Code: p.Code, Message: p.Detail})
	default:
		writeChatProblem(w, chatProblem(err))
	}
}

// chatFailed reports whether a turn was begun and then failed.
func chatFailed(err error) bool {
	fault, ok := errors.AsType[*sitebot.Error](err)
	return ok && fault.Fault == sitebot.Failed
}

// turn takes a turn if there is room for one, within the time limit, and logs it.
func (s *Chats) turn(ctx context.Context, asked sitebot.Request,
	sink func(sitebot.Event)) (out *sitebot.Outcome, err error) {
	started := time.Now()
	ctx, span := chatTurn(ctx, asked)
	defer func() { chatEnded(span, out, err) }()
	err = s.pass(ctx, func() (err error) {
		within, done := context.WithTimeout(ctx, s.MaxTime)
		defer done()
		out, err = s.Bot.Turn(within, asked, sink)
		switch {
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			return timedOut(s.MaxTime)
		case err == nil && out == nil:
			return errors.New("the chatbot returned nothing")
		}
		return err
	})
	s.logTurn(ctx, asked, started, out, err)
	return out, err
}

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

// logTurn logs a turn: its site, its route and its duration, without its texts. The ID of a session opens the
// conversation, so the log has none; turns have their traces.
func (s *Chats) logTurn(ctx context.Context, asked sitebot.Request, started time.Time, out *sitebot.Outcome,
	err error) {
	fields := []any{
		"site", clean(asked.Site), "duration_ms", time.Since(started).Milliseconds(),
	}
	switch {
	case err == nil:
		m := out.Metadata
		s.Log.InfoContext(ctx, "chat turn", append(fields, "turn", m.TurnNumber, "route", m.Route, "action", m.Action,
			"intent", m.Intent, "blocked", m.Blocked, "ttft_ms", m.Latency.FirstToken, "warnings", len(m.Warnings))...)
	case ctx.Err() != nil:
		s.Log.InfoContext(ctx, "chat turn given up: the client went away", fields...)
	default:
		p := chatProblem(err)
		s.Log.WarnContext(ctx, "chat turn failed", append(fields, "status", p.Status, "code", p.Code, "error",
			sessionindex.Anonymous(err, asked.Session))...)
	}
}
