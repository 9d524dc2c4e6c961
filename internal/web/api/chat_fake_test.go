package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

type sinkFunc = func(sitebot.Event)

// fakeBot is a chatbot of one site, acme.example. A turn says "Hello " and "world" unless turn says otherwise.
type fakeBot struct {
	turn func(ctx context.Context, r sitebot.Request, sink sinkFunc) (*sitebot.Outcome, error)

	mu     sync.Mutex
	asked  []sitebot.Request
	busy   map[string]bool
	states map[string]map[string]any
}

func (b *fakeBot) Turn(ctx context.Context, r sitebot.Request, sink func(sitebot.Event)) (*sitebot.Outcome, error) {
	if r.Site != "acme.example" {
		return nil, &sitebot.Error{Fault: sitebot.UnknownSite, Message: fmt.Sprintf("there is no site %q", r.Site)}
	}
	if err := b.enter(r); err != nil {
		return nil, err
	}
	defer b.leave(r)
	if b.turn != nil {
		return b.turn(ctx, r, sink)
	}
	return hello(ctx, r, sink)
}

func (b *fakeBot) enter(r sitebot.Request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[r.Session] {
		return &sitebot.Error{Fault: sitebot.Busy, Message: "a turn of the session is under way"}
	}
	if b.busy == nil {
		b.busy, b.states = map[string]bool{}, map[string]map[string]any{}
	}
	b.busy[r.Session] = true
	b.asked = append(b.asked, r)
	return nil
}

func (b *fakeBot) leave(r sitebot.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[r.Session] = false
	if b.states[r.Session] == nil {
		b.states[r.Session] = map[string]any{"turn_number": 0}
	}
	b.states[r.Session]["turn_number"] = b.states[r.Session]["turn_number"].(int) + 1
}

func (b *fakeBot) State(_ context.Context, site, session string) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case site != "acme.example":
		return nil, &sitebot.Error{Fault: sitebot.UnknownSite, Message: "there is no such site"}
	case session == "broken":
		return nil, &sitebot.Error{
			Fault: sitebot.StoreFailed, Message: "the session cannot be read",
			Err: errors.New("redis at 10.0.0.7 is down"),
		}
	case b.states[session] == nil:
		return nil, &sitebot.Error{Fault: sitebot.UnknownSession, Message: "there is no such session"}
	}
	return json.Marshal(b.states[session])
}

func (b *fakeBot) Erase(_ context.Context, site, session string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case site != "acme.example":
		return &sitebot.Error{Fault: sitebot.UnknownSite, Message: "there is no such site"}
	case session == "busy":
		return &sitebot.Error{Fault: sitebot.Busy, Message: "a turn of this session is under way"}
	case session == "broken":
		return &sitebot.Error{
			Fault: sitebot.StoreFailed, Message: "not everything could be erased", Err: errors.New("10.0.0.7 is down"),
		}
	}
	delete(b.states, session)
	return nil
}

func (b *fakeBot) UpdateState(_ context.Context, site, session string, patch json.RawMessage, replace bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	fields := map[string]any{}
	if err := json.Unmarshal(patch, &fields); err != nil {
		return err
	}
	for name := range fields {
		if name != "hack_count" && name != "messages" {
			return &sitebot.Error{
				Fault: sitebot.UnknownField, Message: fmt.Sprintf("there is no state field %q", name), Hint: "see GET",
			}
		}
	}
	switch {
	case site != "acme.example":
		return &sitebot.Error{Fault: sitebot.UnknownSite, Message: "there is no such site"}
	case b.busy[session]:
		return &sitebot.Error{Fault: sitebot.Busy, Message: "busy"}
	case b.states[session] != nil && !replace:
		return &sitebot.Error{Fault: sitebot.SessionFull, Message: "the session is full", Hint: "use replace"}
	}
	if b.states == nil {
		b.states = map[string]map[string]any{}
	}
	fields["turn_number"] = 0
	b.states[session] = fields
	return nil
}

func (b *fakeBot) requests() []sitebot.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]sitebot.Request{}, b.asked...)
}

func hello(_ context.Context, _ sitebot.Request, sink func(sitebot.Event)) (*sitebot.Outcome, error) {
	sink(sitebot.Event{Token: "Hello "})
	sink(sitebot.Event{Token: "world"})
	return &sitebot.Outcome{Response: "Hello world", Metadata: sitebot.Metadata{
		FollowUps: []string{"And then?"}, TurnNumber: 1, Route: sitebot.AnswerRoute, Action: sitebot.Educate,
		Intent: sitebot.Learn,
	}}, nil
}

// behindFront puts chats behind a front without a token, or with the one of the configuration.
func behindFront(chats *Chats, configured ...FrontConfig) http.Handler {
	c := append(configured, FrontConfig{})[0]
	if chats.Public {
		c.Public = chats.Open
	}
	return newFront(chats.With(http.NotFoundHandler()), c)
}

// acme is the file of the site that the tests talk with.
const acme = `
site: acme.example
aliases: [www.acme.example]
language: fr
company: {name: "Acme <b>&</b> Co"}
widget: {color: "#ffee00", logo: "https://cdn.example/acme.png", greeting: "Bonjour </script><b>", starters: [Combien ?, "Quand <i>?"], position: left}
`

// acmeSites are the sites of the tests; changes replace parts of the file.
func acmeSites(t testing.TB, changes ...string) *site.Library {
	t.Helper()
	one, err := site.Load("acme.yaml", []byte(strings.NewReplacer(changes...).Replace(acme)))
	if err != nil {
		t.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		t.Fatal(err)
	}
	return library
}

// openChats serves chats behind a front.
func openChats(t testing.TB, bot Chatbot, change ...func(*ChatsConfig)) *desk {
	t.Helper()
	return openChatsBehind(t, FrontConfig{}, bot, change...)
}

// openChatsBehind serves chats behind a configured front.
func openChatsBehind(t testing.TB, front FrontConfig, bot Chatbot, change ...func(*ChatsConfig)) *desk {
	t.Helper()
	log := &lockedBuffer{}
	c := ChatsConfig{
		Bot: bot, Operator: &fakeOperator{}, Sites: acmeSites(t), Log: slog.New(slog.NewJSONHandler(log, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	chats, err := NewChats(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(behindFront(chats, front))
	transport := httpclient.Transport()
	t.Cleanup(web.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return &desk{t: t, url: web.URL, client: &http.Client{Transport: transport}, log: log}
}

// saying is the body of a message.
func saying(session, input string, more ...string) string {
	quoted, _ := json.Marshal(input)
	members := append([]string{
		`"site_name":"acme.example"`, `"session_id":"` + session + `"`, `"input":` + string(quoted),
	}, more...)
	return "{" + strings.Join(members, ",") + "}"
}

// chatEvents reads a whole stream of a chat; comments are passed over.
func chatEvents(t testing.TB, stream string) (events []chatEvent) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		if strings.HasPrefix(part, ":") {
			continue
		}
		data, ok := strings.CutPrefix(part, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not an event: %q", part)
		}
		events = append(events, decoded[chatEvent](t, data))
	}
	return events
}

// openStream sends a message and returns the answer while it comes. The test ends it with cancel.
func (d *desk) openStream(path, body string) (lines *bufio.Reader, cancel context.CancelFunc) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	response, err := d.client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { cancel(); _ = response.Body.Close() })
	return bufio.NewReader(response.Body), cancel
}

// fakeOperator has one session, s1 of acme.example, with two turns.
type fakeOperator struct {
	mu    sync.Mutex
	asked []sitebot.Query
	rated []sessionindex.Feedback
}

func (o *fakeOperator) Sessions(_ context.Context, site string, q sitebot.Query) (*sitebot.SessionList, error) {
	if site != "acme.example" {
		return nil, &sitebot.Error{Fault: sitebot.UnknownSite, Message: "there is no such site"}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, q)
	next := "abc"
	return &sitebot.SessionList{
		Sessions: []sessionindex.Row{{Session: "s1", Turns: 2, Outcome: sessionindex.Open}}, Next: &next,
	}, nil
}

func (o *fakeOperator) Session(_ context.Context, _, session string) (*sitebot.Session, error) {
	switch session {
	case "s1", strongSession:
		return &sitebot.Session{
			Row: sessionindex.Row{Session: session}, Turns: []sitebot.SessionTurn{}, Failures: []sessionindex.Failure{},
			Leads: []lead.Row{}, Feedback: []sessionindex.Feedback{},
		}, nil
	case "broken":
		return nil, &sitebot.Error{
			Fault: sitebot.StoreFailed, Message: "the session cannot be read",
			Err: errors.New("redis at 10.0.0.7 is down"),
		}
	}
	return nil, &sitebot.Error{Fault: sitebot.UnknownSession, Message: "there is no such session"}
}

func (o *fakeOperator) Rate(ctx context.Context, site, session string, f sessionindex.Feedback) error {
	if _, err := o.Session(ctx, site, session); err != nil {
		return err
	}
	if f.Turn > 2 {
		return &sitebot.Error{Fault: sitebot.UnknownTurn, Message: "there is no such turn"}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rated = append(o.rated, f)
	return nil
}
