package api

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

func TestChat(t *testing.T) {
	bot := &fakeBot{}
	d := openChats(t, bot)
	response, answer := d.do("POST", chatPath,
		saying("s1", "Hi there", `"person_id":"p"`, `"language":"pt-BR"`, `"reveal":{"company":"Acme"}`))
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" ||
		response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	for _, line := range []string{
		`data: {"type":"token","content":"Hello "}` + "\n\n",
		`data: {"type":"complete","metadata":{"suggested_follow_ups":["And then?"],`, `"suggested_answers":[]`,
		`"cta_url_overrides":{}`, `"warnings":[]`, `"visitor_profile":`, `"skill_selection_state":`,
		`"latency_ms":{"ttft":`, `"blocked":""`,
	} {
		if !strings.Contains(answer, line) {
			t.Errorf("the stream lacks %s: %s", line, answer)
		}
	}
	events := chatEvents(t, answer)
	if len(events) != 3 || events[0].Content+events[1].Content != "Hello world" ||
		events[2].Metadata.Route != sitebot.AnswerRoute {
		t.Errorf("events %+v", events)
	}
	got := bot.requests()[0]
	if got.Site != "acme.example" || got.Session != "s1" || got.Input != "Hi there" || got.PersonID != "p" ||
		got.Language != "pt-BR" || string(got.Reveal) != `{"company":"Acme"}` || got.IP.String() != "127.0.0.1" {
		t.Errorf("request %+v", got)
	}
	if log := d.log.String(); strings.Contains(log, "Hi there") || strings.Contains(log, "Hello") ||
		strings.Contains(log, "s1") || !strings.Contains(log, `"msg":"chat turn"`) {
		t.Errorf("log %s", log)
	}
}

func TestChatAsOneObject(t *testing.T) {
	d := openChats(t, &fakeBot{})
	got := want[struct {
		Response string
		Metadata sitebot.Metadata
	}](d, 200, "POST", chatPath, saying("s", "hi"), "Accept: application/json")
	if got.Response != "Hello world" || got.Metadata.TurnNumber != 1 || got.Metadata.Answers == nil {
		t.Errorf("%+v", got)
	}
	if _, answer := d.do("POST", chatPath, saying("s", "hi"),
		"Accept: application/json, text/event-stream"); !strings.HasPrefix(answer, "data: ") {
		t.Errorf("both: %s", answer)
	}
}

// The start is sent for who asks for it, before anything of the answer is there.
func TestChatStart(t *testing.T) {
	d := openChats(t, &fakeBot{turn: func(_ context.Context, _ sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		sink(sitebot.Event{Began: true, TurnNumber: 3})
		sink(sitebot.Event{Token: "Hello"})
		return &sitebot.Outcome{Response: "Hello"}, nil
	}})
	for query, begins := range map[string]string{
		"?start=1": `data: {"type":"start","turn_number":3}` + "\n\n" + `data: {"type":"token","content":"Hello"}`,
		"":         `data: {"type":"token","content":"Hello"}`,
	} {
		if _, answer := d.do("POST", chatPath+query, saying("s", "hi")); !strings.HasPrefix(answer, begins) {
			t.Errorf("%s: %s", query, answer)
		}
	}
}

func TestChatBlocked(t *testing.T) {
	d := openChats(t, &fakeBot{turn: func(_ context.Context, _ sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		sink(sitebot.Event{Token: "Too long."})
		return &sitebot.Outcome{Response: "Too long.", Metadata: sitebot.Metadata{Blocked: sitebot.BlockLong}}, nil
	}})
	response, answer := d.do("POST", chatPath, saying("s", strings.Repeat("👉", sitebot.MaxInput+1)))
	events := chatEvents(t, answer)
	if response.StatusCode != 200 || len(events) != 2 || events[0].Content != "Too long." ||
		events[1].Metadata.Blocked != "length" {
		t.Errorf("%d %s", response.StatusCode, answer)
	}
}

// An answer that was there at once comes in one token.
func TestChatWithoutTokens(t *testing.T) {
	d := openChats(t, &fakeBot{turn: func(_ context.Context, _ sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		sink(sitebot.Event{Began: true, TurnNumber: 7})
		return &sitebot.Outcome{Response: "All.", Metadata: sitebot.Metadata{TurnNumber: 7}}, nil
	}})
	for range 2 {
		_, answer := d.do("POST", chatPath+"?start=1", saying("s", "hi"))
		events := chatEvents(t, answer)
		if len(events) != 3 || *events[0].TurnNumber != 7 || events[1].Content != "All." ||
			events[2].Type != "complete" {
			t.Errorf("%s", answer)
		}
	}
}

// Metadata that is not JSON ends the stream with an error, as nothing may follow it.
func TestChatWithOddMetadata(t *testing.T) {
	d := openChats(t, &fakeBot{turn: func(context.Context, sitebot.Request, sinkFunc) (*sitebot.Outcome, error) {
		return &sitebot.Outcome{
			Response: "All.", Metadata: sitebot.Metadata{Latency: sitebot.LatencyMS{Total: math.NaN()}},
		}, nil
	}})
	_, answer := d.do("POST", chatPath, saying("s", "hi"))
	if events := chatEvents(t, answer); len(events) != 2 || events[1].Type != "error" ||
		events[1].Code != "internal_error" {
		t.Errorf("%s", answer)
	}
}

func TestChatFails(t *testing.T) {
	after := func(err error) *fakeBot {
		return &fakeBot{turn: func(_ context.Context, _ sitebot.Request, sink sinkFunc) (*sitebot.Outcome, error) {
			sink(sitebot.Event{Token: "Half"})
			return nil, err
		}}
	}
	before := func(err error) *fakeBot {
		return &fakeBot{turn: func(context.Context, sitebot.Request, sinkFunc) (*sitebot.Outcome, error) {
			return nil, err
		}}
	}
	cause := errors.New("POST https://models.internal/v1: key sk-123 refused")
	failed := &sitebot.Error{Fault: sitebot.Failed, Message: "no answer could be written", Hint: "set KEY", Err: cause}
	store := &sitebot.Error{Fault: sitebot.StoreFailed, Message: "the session cannot be written", Err: cause}
	panics := &fakeBot{turn: func(context.Context, sitebot.Request, sinkFunc) (*sitebot.Outcome, error) {
		panic(cause)
	}}
	for name, c := range map[string]struct {
		bot    *fakeBot
		status int // of a stream
		code   string
		whole  int // the status without a stream
	}{
		"failed, before": {before(failed), 200, "turn_failed", 502},
		"failed, after":  {after(failed), 200, "turn_failed", 502},
		"store, before":  {before(store), 503, "store_failed", 503},
		"store, after":   {after(store), 200, "store_failed", 503},
		"panic":          {panics, 500, "internal_error", 500},
		"odd, before":    {before(cause), 500, "internal_error", 500},
		"odd, after":     {after(cause), 200, "internal_error", 500},
		"nothing at all": {before(nil), 500, "internal_error", 500},
		"nothing, after": {after(nil), 200, "internal_error", 500},
		"unheard of":     {before(&sitebot.Error{Fault: "new", Message: "x"}), 500, "new", 500},
		"says bad input": {
			before(&sitebot.Error{Fault: sitebot.InvalidRequest, Message: "x"}), 400, "invalid_request", 400,
		},
		"says not a site": {before(&sitebot.Error{Fault: sitebot.UnknownSite, Message: "x"}), 404, "unknown_site", 404},
	} {
		d := openChats(t, c.bot)
		response, answer := d.do("POST", chatPath, saying("s", "hi"))
		if response.StatusCode != c.status || strings.Contains(answer, "internal/v1") {
			t.Errorf("%s: %d %s", name, response.StatusCode, answer)
		}
		if c.status != 200 {
			if p := decoded[Problem](t, answer); p.Code != c.code {
				t.Errorf("%s: problem %+v", name, p)
			}
		} else {
			events := chatEvents(t, answer)
			if last := events[len(events)-1]; last.Type != "error" || last.Code != c.code || last.Message == "" {
				t.Errorf("%s: %s", name, answer)
			}
		}
		if p := want[Problem](d, c.whole, "POST", chatPath, saying("s", "hi"),
			"Accept: application/json"); p.Code != c.code || p.Detail == "" {
			t.Errorf("%s: problem %+v", name, p)
		}
	}
}
