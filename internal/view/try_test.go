package view_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/suite"
	"rehearse/internal/talk"
	"rehearse/internal/view"
	"rehearse/internal/view/frame"
)

// agent is an agent behind HTTP that notes what it is asked, and fails on "fail".
func agent(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		last := body.Messages[len(body.Messages)-1].Content
		if last == "fail" {
			http.Error(w, "the agent is <b>ill</b>", http.StatusBadRequest)
			return
		}
		first := body.Messages[0].Content
		_ = json.NewEncoder(w).Encode(map[string]any{
			"reply": "You said **" + last + "**; first was " + first, "tools": []any{map[string]any{"name": "look", "args": map[string]any{"q": last}}},
			"state": map[string]any{"said": len(body.Messages)},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// tried are pages with a configuration whose only target is an agent.
func tried(t *testing.T, readOnly bool) (*site, *atomic.Int64) {
	t.Helper()
	address, asked := agent(t)
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "rehearse.yaml", `target: agent
targets:
  agent:
    kind: http
    url: `+address+`
    body: {messages: "{{messages}}"}
    answer: {text: $.reply, tool_calls: $.tools, state: $.state}
`)
	write(t, "shop.suite.yaml", `name: shop
tests:
  - id: polite
    mode: conversation
    turns:
      - {input: hello, assertions: [{type: contains, value: hello}]}
      - {input: bye, assertions: [{type: contains, value: "good bye"}]}
`)
	desk := talk.NewDesk(nil)
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	s := newSiteOf(t, func(c *view.Config) {
		c.Frame = frame.Config{ReadOnly: readOnly}
		c.Mask = func(s string) string { return strings.ReplaceAll(s, "s3cret", "[redacted]") }
		c.Try = view.Trying{Desk: desk, Partners: func(string) (*view.Partners, error) {
			opened, err := setup.Open(setup.Options{Config: filepath.Join(dir, "rehearse.yaml"), LookupEnv: func(string) (string, bool) { return "", false }})
			if err != nil {
				return nil, err
			}
			return &view.Partners{Setup: opened}, nil
		}}
	})
	return s, asked
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A talk asks nobody before it begins, shows what was said with its calls and its state, tells of errors and goes on.
func TestTry(t *testing.T) {
	s, asked := tried(t, false)
	b := s.browser()
	begin := s.get(http.StatusOK, "/try")
	if begin.One("<main>").Attr["data-page"] != "try" || len(begin.All("<option>", "value=agent")) != 1 || asked.Load() != 0 {
		t.Fatalf("%d asked; %s", asked.Load(), begin.Words())
	}
	status, to := b.send("/try", "say", map[string]string{"message": "hello s3cret"})
	if status != http.StatusSeeOther || !strings.HasPrefix(to, "/try/") {
		t.Fatalf("%d to %s", status, to)
	}
	shown := s.get(http.StatusOK, to)
	first := shown.One("data-turn=1")
	if got := first.One("data-role=assistant").Words(); !strings.Contains(got, "You said hello [redacted]; first was hello") {
		t.Errorf("reply %q", got)
	}
	if first.One("data-tool-call=look").Name == "" || first.One("data-path=said").Attr["data-change"] != "added" {
		t.Error("no call or no state beside the reply")
	}
	if status, again := b.send(to, "say", map[string]string{"message": "fail"}); status != http.StatusSeeOther || again != to {
		t.Fatalf("%d to %s", status, again)
	}
	shown = s.get(http.StatusOK, to)
	if fault := shown.One("data-fault").Words(); !strings.Contains(fault, "Not answered") || !strings.Contains(fault, "400") {
		t.Errorf("fault %q", fault)
	}
	if shown.One("<textarea>").Words() != "fail" || shown.One("<main>").Attr["data-turns"] != "1" {
		t.Error("the message that was not answered is gone, or counts")
	}
	b.send(to, "say", map[string]string{"message": "bye"})
	shown = s.get(http.StatusOK, to)
	if got := shown.One("data-turn=2").One("data-role=assistant").Words(); !strings.Contains(got, "first was hello") || len(shown.All("data-fault")) != 0 {
		t.Errorf("turn 2 %q, %d faults", got, len(shown.All("data-fault")))
	}
	if href := shown.One("data-action=suite").Attr["href"]; href != to+"/suite.yaml" {
		t.Errorf("suite at %s", href)
	}
	_, yaml := s.answer(http.MethodGet, to+"/suite.yaml", nil, nil)
	write(t, "saved.suite.yaml", yaml)
	saved, err := suite.Load("saved.suite.yaml", suite.Options{})
	if err != nil || saved.Count != 1 || strings.Contains(yaml, "s3cret") || !strings.Contains(yaml, "superset") {
		t.Errorf("%v\n%s", err, yaml)
	}
	if status, _ := b.send(to, "end", nil); status != http.StatusSeeOther {
		t.Errorf("end: %d", status)
	}
	s.get(http.StatusNotFound, to)
}

// The turns of a talk are graded as those of the test that was chosen.
func TestTryGraded(t *testing.T) {
	s, _ := tried(t, false)
	b := s.browser()
	page := "/try?grade=shop.suite.yaml&as=polite"
	_, to := b.send(page, "say", map[string]string{"message": "hello"})
	b.send(to, "say", map[string]string{"message": "bye"})
	b.send(to, "say", map[string]string{"message": "more"})
	shown := s.get(http.StatusOK, to)
	for turn, want := range map[string]string{"1": "pass", "2": "fail", "3": ""} {
		if got := shown.One("data-turn=" + turn).Attr["data-verdict"]; got != want {
			t.Errorf("turn %s is %q, want %q", turn, got, want)
		}
	}
	if shown.One("data-turn=2").One("data-failure").Name == "" {
		t.Error("no failure beside the turn")
	}
	if status, _ := b.send(page, "say", map[string]string{"message": "x", "grade": "../etc/passwd"}); status != http.StatusUnprocessableEntity {
		t.Errorf("a file that was not offered: %d", status)
	}
	if status, _ := b.send(page, "say", map[string]string{"message": "x", "target": "openai:gpt-5"}); status != http.StatusUnprocessableEntity {
		t.Errorf("a target that the configuration does not name: %d", status)
	}
}

// A talk goes on before a turn of a recorded conversation.
func TestTryFrom(t *testing.T) {
	s, asked := tried(t, false)
	x := test("shop", "polite", "agent", "hello", "Hi there", "bye", "nothing")
	x.Scores[1].Verdict = result.Fail
	x.Source = &result.Source{File: "shop.suite.yaml", Line: 3, Turns: []int{6, 7}}
	x.Output = []chat.Message{chat.Say(chat.User, "hello"), chat.Say(chat.Assistant, "Hi there"), chat.Say(chat.User, "bye"), chat.Say(chat.Assistant, "nothing")}
	s.put(result.Run{ID: "r", Targets: []string{"agent"}}, x)
	link := s.get(http.StatusOK, "/runs/r/tests/polite").One("data-action=try").Attr["href"]
	page := s.get(http.StatusOK, link)
	if main := page.One("<main>"); main.Attr["data-turn-from"] != "2" || len(page.All("data-message")) != 2 || page.One("<textarea>").Words() != "bye" {
		t.Fatalf("%s: %v with %d messages", link, main.Attr, len(page.All("data-message")))
	}
	if asked.Load() != 0 {
		t.Error("somebody was asked")
	}
	b := s.browser()
	status, to := b.send(link, "say", map[string]string{"message": "good bye"})
	if status != http.StatusSeeOther {
		t.Fatal(status)
	}
	shown := s.get(http.StatusOK, to)
	// The agent was told what was said before, and the turn is graded as the second of the test.
	if turn := shown.One("data-turn=1"); turn.Attr["data-verdict"] != "pass" || !strings.Contains(turn.Words(), "first was hello") {
		t.Errorf("%v %s", turn.Attr, turn.Words())
	}
	_, yaml := s.answer(http.MethodGet, to+"/suite.yaml", nil, nil)
	if !strings.Contains(yaml, "Hi there") || strings.Count(yaml, "input:") != 2 {
		t.Errorf("the history is not in the suite:\n%s", yaml)
	}
	for _, address := range []string{"/try?run=r&test=polite&turn=9", "/try?run=r&test=polite&turn=x", "/try?run=r&test=other", "/try?run=nope&test=polite"} {
		s.get(http.StatusNotFound, address)
	}
}

// Nobody talks from elsewhere, from read-only pages or without a configuration.
func TestTryRefused(t *testing.T) {
	s, asked := tried(t, true)
	if page := s.get(http.StatusOK, "/try"); len(page.All("method=post")) != 0 || page.One("data-empty").Words() == "" {
		t.Error("read-only pages have a form")
	}
	head := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if answer, _ := s.answer(http.MethodPost, "/try", head, strings.NewReader("message=hello&target=agent")); answer.StatusCode != http.StatusForbidden {
		t.Errorf("read-only: %d", answer.StatusCode)
	}
	s, asked2 := tried(t, false)
	if answer, _ := s.answer(http.MethodPost, "/try", head, strings.NewReader("message=hello&target=agent")); answer.StatusCode != http.StatusForbidden {
		t.Errorf("without csrf: %d", answer.StatusCode)
	}
	if status, _ := s.browser().send("/try", "say", map[string]string{"message": " \r\n"}); status != http.StatusUnprocessableEntity {
		t.Errorf("an empty message: %d", status)
	}
	if asked.Load()+asked2.Load() != 0 {
		t.Error("the agent was asked")
	}
	if words := newSite(t).get(http.StatusOK, "/try").One("data-empty").Words(); !strings.Contains(words, "rehearse init") {
		t.Errorf("without a configuration: %s", words)
	}
}
