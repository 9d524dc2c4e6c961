package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

func TestChatBusy(t *testing.T) {
	begun, more := make(chan bool), make(chan bool)
	d := openChats(t, &fakeBot{turn: func(ctx context.Context, r sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		begun <- true
		<-more
		return hello(ctx, r, sink)
	}})
	first := make(chan string, 1)
	go func() {
		_, answer := d.do("POST", chatPath, saying("s", "hi"))
		first <- answer
	}()
	<-begun
	for _, request := range [][]string{
		{"POST", chatPath, saying("s", "again")},
		{"POST", chatPath, saying("s", "again"), "Accept: application/json"},
		{"PATCH", chatPath + "/acme.example/s/state", "{}"},
	} {
		response, answer := d.do(request[0], request[1], request[2], request[3:]...)
		if response.StatusCode != 429 || answer != `{"error":"session_busy"}` ||
			response.Header.Get("Retry-After") != "1" || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: %d %v %q", request, response.StatusCode, response.Header, answer)
		}
	}
	close(more)
	if answer := <-first; !strings.Contains(answer, "complete") {
		t.Error(answer)
	}
}

// The first token arrives while the turn still waits; when the client then goes away, the turn hears of it and its
// place is free.
func TestChatDisconnect(t *testing.T) {
	gone := make(chan error, 1)
	d := openChats(t, &fakeBot{turn: func(ctx context.Context, r sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		if r.Input == "second" {
			return hello(ctx, r, sink)
		}
		sink(sitebot.Event{Token: "First"})
		<-ctx.Done()
		gone <- ctx.Err()
		return nil, ctx.Err()
	}}, func(c *ChatsConfig) { c.MaxTurns = 1 })
	lines, cancel := d.openStream(chatPath, saying("s", "hi"))
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "First") {
		t.Fatal(line, err)
	}
	if p := want[Problem](d, 503, "POST", chatPath, saying("other", "hi")); p.Code != "overloaded" {
		t.Errorf("problem %+v", p)
	}
	cancel()
	select {
	case err := <-gone:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn goes on")
	}
	for began := time.Now(); ; runtime.Gosched() { // the place is given back a moment later
		if response, _ := d.do("POST", chatPath, saying("other", "second")); response.StatusCode == 200 {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal("the place stays taken")
		}
	}
}

func TestChatDrain(t *testing.T) {
	begun, more := make(chan bool), make(chan bool)
	chats, err := NewChats(ChatsConfig{Bot: &fakeBot{turn: func(ctx context.Context, r sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		close(begun)
		<-more
		return hello(ctx, r, sink)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(session string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://localhost"+chatPath, strings.NewReader(saying(session, "hi")))
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		behindFront(chats).ServeHTTP(w, r)
		return w
	}
	first := make(chan *httptest.ResponseRecorder, 1)
	go func() { first <- post("s") }()
	<-begun
	drained := make(chan error, 1)
	go func() { drained <- chats.Drain(context.Background()) }()
	<-chats.stopping
	if w := post("late"); w.Code != 503 || decoded[Problem](t, w.Body.String()).Code != "stopping" ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	close(more)
	if w := <-first; !strings.Contains(w.Body.String(), "complete") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// A slow turn is kept alive by pings, and ended when it takes too long; by then the stream has begun.
func TestChatPingsAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fakeBot{turn: func(ctx context.Context, r sitebot.Request, sink sinkFunc) (*sitebot.Outcome, error) {
			select {
			case <-time.After(40 * time.Second):
				return hello(ctx, r, sink)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		for most, wanted := range map[time.Duration]string{
			time.Minute: ": ping\n\n: ping\n\ndata: {\"type\":\"token\"",
			35 * time.Second: ": ping\n\n: ping\n\ndata: {\"type\":\"error\",\"code\":\"timeout\",\"message\":\"the " +
				"answer took longer than 35s\"}\n\n",
			time.Second: `{"type":"about:blank","title":"Gateway Timeout","status":504`,
		} {
			chats, err := NewChats(ChatsConfig{Bot: slow, MaxTime: most})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("POST", "http://localhost"+chatPath, strings.NewReader(saying("s", "hi")))
			r.RemoteAddr = "127.0.0.1:1"
			w := httptest.NewRecorder()
			behindFront(chats).ServeHTTP(w, r)
			if !strings.HasPrefix(w.Body.String(), wanted) {
				t.Errorf("at most %s: %s", most, w.Body)
			}
		}
	})
}

// deaf is a client that takes nothing in.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("time-out") }

func TestChatGivesUpOnADeafClient(t *testing.T) {
	chats, err := NewChats(ChatsConfig{Bot: &fakeBot{turn: func(ctx context.Context, _ sitebot.Request,
		sink sinkFunc) (*sitebot.Outcome, error) {
		sink(sitebot.Event{Token: "x"})
		<-ctx.Done()
		sink(sitebot.Event{Token: "y"})
		return nil, ctx.Err()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://localhost"+chatPath, strings.NewReader(saying("s", "hi")))
	r.RemoteAddr = "127.0.0.1:1"
	behindFront(chats).ServeHTTP(deaf{httptest.NewRecorder()}, r)
}

func TestManyChatsAtOnce(t *testing.T) {
	bot := &fakeBot{turn: func(_ context.Context, r sitebot.Request, sink sinkFunc) (*sitebot.Outcome, error) {
		for _, word := range strings.SplitAfter(r.Input, " ") {
			sink(sitebot.Event{Token: word})
			runtime.Gosched() // to the other turns
		}
		return &sitebot.Outcome{Response: r.Input}, nil
	}}
	d := openChats(t, bot)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			input := fmt.Sprintf("this is the message of number %d and of nobody else", i)
			for range 3 {
				response, answer := d.do("POST", chatPath, saying(fmt.Sprint(i), input))
				var text strings.Builder
				events := chatEvents(t, answer)
				for _, e := range events {
					text.WriteString(e.Content)
				}
				if response.StatusCode != http.StatusOK || text.String() != input ||
					events[len(events)-1].Type != "complete" {
					t.Errorf("%d: %d %s", i, response.StatusCode, answer)
				}
			}
		})
	}
	all.Wait()
	if n := len(bot.requests()); n != 600 {
		t.Errorf("%d turns", n)
	}
}
