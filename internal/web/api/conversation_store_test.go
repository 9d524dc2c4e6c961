package api

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// conversationsIn opens a store of conversations in a file.
func conversationsIn(t *testing.T, path string) *store.Fleet {
	t.Helper()
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Fleet()
}

// A conversation goes on at another server of the store, with all that was collected, and is shown and reset there.
func TestConversationGoesOnElsewhere(t *testing.T) {
	kept := conversationsIn(t, filepath.Join(t.TempDir(), "rehearse.db"))
	shared := func(c *FlowsConfig) { c.Conversations = kept }
	one, two := openDesk(t, llm.Lexical{}, shared), openDesk(t, llm.Lexical{}, shared)
	want[openingView](one, 201, "POST", conversations, `{"flow_id":"Rsvp","conversation_id":"c"}`)
	want[Problem](two, 409, "POST", conversations, `{"flow_id":"Rsvp","conversation_id":"c"}`)
	for i, step := range []struct {
		at              *desk
		say, to, answer string
	}{
		{one, "x", "ask_name", "Too short."},
		{two, "Ada", "confirm", "Is Ada coming?"},
		{one, "oh yes", "done", "See you."},
	} {
		if r := want[replyView](step.at, 200, "POST", messages("c"),
			`{"message":"`+step.say+`"}`); r.State != step.to || r.Response != step.answer || r.TurnNumber != i+1 {
			t.Errorf("turn %d: %+v", i+1, r)
		}
	}
	shown := want[transcriptView](two, 200, "GET", conversations+"/c", "")
	if !shown.FlowCompleted || shown.DataCollected["name"] != "Ada" || len(shown.History) != 6 ||
		shown.BegunAt.IsZero() {
		t.Errorf("shown %+v", shown)
	}
	if p := want[Problem](two, 409, "POST", messages("c"), `{"message":"more"}`); p.Code != "flow_already_completed" {
		t.Errorf("problem %+v", p)
	}
	if o := want[openingView](two, 200, "POST", conversations+"/c/reset", ""); o.State != "ask_name" ||
		o.TurnNumber != 0 {
		t.Errorf("reset %+v", o)
	}
	if r := want[replyView](one, 200, "POST", messages("c"), `{"message":"Bob"}`); r.DataCollected["name"] != "Bob" {
		t.Errorf("after the reset %+v", r)
	}
	if response, _ := two.do("DELETE", conversations+"/c", ""); response.StatusCode != http.StatusNoContent {
		t.Errorf("deleted: %d", response.StatusCode)
	}
	want[Problem](one, 404, "GET", conversations+"/c", "")
	want[Problem](one, 404, "POST", messages("c"), `{"message":"hi"}`)
}

// A path with bytes that a store replaces reaches no conversation of another ID.
func TestConversationOfAnotherID(t *testing.T) {
	d := openDesk(t, llm.Lexical{}, func(c *FlowsConfig) {
		c.Conversations = conversationsIn(t, filepath.Join(t.TempDir(), "rehearse.db"))
	})
	want[openingView](d, 201, "POST", conversations, `{"flow_id":"Rsvp","conversation_id":"a\ufffdb"}`)
	for _, id := range []string{"/a%00b", "/a%ffb"} {
		want[Problem](d, 404, "GET", conversations+id, "")
		want[Problem](d, 404, "DELETE", conversations+id, "")
	}
	want[transcriptView](d, 200, "GET", conversations+"/a%EF%BF%BDb", "")
}

// A message that is sent again with its key, because its answer was lost, takes no second turn, also at another server.
func TestConversationMessageSentAgain(t *testing.T) {
	kept := conversationsIn(t, filepath.Join(t.TempDir(), "rehearse.db"))
	shared := func(c *FlowsConfig) { c.Conversations = kept }
	one, two := openDesk(t, llm.Lexical{}, shared), openDesk(t, llm.Lexical{}, shared)
	want[openingView](one, 201, "POST", conversations, `{"flow_id":"Rsvp","conversation_id":"c"}`)
	send := func(at *desk, message, key string) (int, string) {
		response, answer := at.do("POST", messages("c"), `{"message":"`+message+`"}`, "Idempotency-Key: "+key)
		return response.StatusCode, answer
	}
	_, first := send(one, "x", "k1")
	if status, answer := send(two, "x", "k1"); status != 200 || answer != first {
		t.Errorf("sent again: %d %s, want %s", status, answer, first)
	}
	if status, answer := send(two, "Ada", "k1"); status != 422 || !strings.Contains(answer, codeMismatch) {
		t.Errorf("another message: %d %s", status, answer)
	}
	if status, _ := send(two, "x", strings.Repeat("k", store.MaxIdempotencyKey+1)); status != 400 {
		t.Errorf("a long key: %d", status)
	}
	_, answer := one.do("POST", messages("c"), `{"message":"x"}`, "Idempotency-Key: k1", "Accept: text/event-stream")
	if events := readEvents(t, answer); string(events[len(events)-1].Result) != strings.TrimSpace(first) {
		t.Errorf("as events: %s", answer)
	}
	if r := want[replyView](one, 200, "POST", messages("c"), `{"message":"x"}`); r.TurnNumber != 2 {
		t.Errorf("without a key: %+v", r)
	}
	want[openingView](two, 200, "POST", conversations+"/c/reset", "")
	_, first = send(one, "Ada", "k2")
	want[openingView](two, 200, "POST", conversations+"/c/reset", "")
	if _, answer := send(one, "Ada", "k2"); decoded[replyView](t, answer).TraceID ==
		decoded[replyView](t, first).TraceID {
		t.Error("a reset conversation has the answer of before")
	}
}

// One turn is taken at a time over all servers; one that fails leaves the conversation as it was.
func TestConversationIsBusyEverywhere(t *testing.T) {
	kept := conversationsIn(t, filepath.Join(t.TempDir(), "rehearse.db"))
	under, goOn := make(chan struct{}, 1), make(chan struct{})
	model := modelFunc(func(_ context.Context, r llm.Request) (chat.Reply, error) {
		if strings.Contains(r.Messages[len(r.Messages)-1].Content.Text, "fail") {
			return chat.Reply{}, &llm.Error{Model: "m", Message: "it failed"}
		}
		select {
		case under <- struct{}{}:
		default: // a turn asks several times
		}
		<-goOn
		return chat.Reply{Text: "an answer"}, nil
	})
	shared := func(c *FlowsConfig) { c.Conversations = kept }
	one, two := openDesk(t, model, shared), openDesk(t, model, shared)
	want[openingView](one, 201, "POST", conversations, `{"flow_id":"desk","conversation_id":"c"}`)
	if response, answer := two.do("POST", messages("c"), `{"message":"fail"}`); response.StatusCode < 500 {
		t.Fatalf("a failed turn: %d %s", response.StatusCode, answer)
	}
	var first sync.WaitGroup
	first.Go(func() { want[replyView](one, 200, "POST", messages("c"), `{"message":"hello"}`) })
	<-under
	for _, request := range [][]string{
		{"POST", messages("c"), `{"message":"again"}`},
		{"POST", conversations + "/c/reset", ""},
		{"DELETE", conversations + "/c", ""},
	} {
		if p := want[Problem](two, 429, request[0], request[1], request[2]); p.Code != "conversation_busy" {
			t.Errorf("%v: %+v", request, p)
		}
	}
	close(goOn)
	first.Wait()
	if shown := want[transcriptView](two, 200, "GET", conversations+"/c", ""); shown.TurnNumber != 1 ||
		len(shown.History) != 2 {
		t.Errorf("shown %+v", shown)
	}
}

// A server that has lost a conversation writes nothing, and says that the message is to be said again.
func TestConversationThatIsLost(t *testing.T) {
	kept := conversationsIn(t, filepath.Join(t.TempDir(), "rehearse.db"))
	taken := &takenStore{Fleet: kept}
	d := openDesk(t, llm.Lexical{}, func(c *FlowsConfig) { c.Conversations = taken })
	want[openingView](d, 201, "POST", conversations, `{"flow_id":"Rsvp","conversation_id":"c"}`)
	if p := want[Problem](d, 429, "POST", messages("c"), `{"message":"Ada"}`); p.Code != "conversation_busy" {
		t.Errorf("problem %+v", p)
	}
	if shown := want[transcriptView](d, 200, "GET", conversations+"/c", ""); shown.TurnNumber != 0 {
		t.Errorf("shown %+v", shown)
	}
}

// takenStore gives each held conversation to somebody else at once.
type takenStore struct{ *store.Fleet }

func (s *takenStore) LeaseConversation(ctx context.Context, id, holder string,
	_, idle time.Duration) (store.Conversation, error) {
	c, err := s.Fleet.LeaseConversation(ctx, id, holder, 0, idle)
	if err == nil {
		_, err = s.Fleet.LeaseConversation(ctx, id, "another", time.Hour, idle)
	}
	return c, err
}
