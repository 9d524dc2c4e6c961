package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

const durableSite = `
site: acme.example
company: {name: Acme}
qualification:
  interest_signals: {threshold: 10, signals: [{id: pricing, weight: 6, when: asks about prices}]}
suggestions: {follow_ups: true}
`

const durableModel = `
rules:
  - {when: {node: '^intent_classifier$'}, json: {intent: LEARN, confidence: 0.9}}
  - {when: {node: '^interest_signals_detector$'}, json: {signals: [pricing]}}
  - {when: {node: '^follow_up_suggester$'}, json: {suggestions: [What does it cost?]}}
  - {when: {node: '^answer_writer$'}, reply: "We sell tea from the hills, by post."}
default: {json: {}}
`

// countedModel is a scripted model that counts who asks, and lets a node wait for ever.
type countedModel struct {
	next http.Handler

	mu    sync.Mutex
	calls map[string]int
	hangs string
	hung  chan struct{}
}

func (m *countedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	node := r.Header.Get(llm.NodeHeader)
	m.mu.Lock()
	m.calls[node]++
	hangs, hung := m.hangs == node, m.hung
	if hangs {
		m.hangs = ""
	}
	m.mu.Unlock()
	if hangs {
		close(hung)
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		<-r.Context().Done()
		return
	}
	m.next.ServeHTTP(w, r)
}

// hang lets the next call of a node wait; the channel is closed once it does.
func (m *countedModel) hang(node string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hangs, m.hung = node, make(chan struct{})
	return m.hung
}

// asked returns how often each node has asked since the last time.
func (m *countedModel) asked() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := maps.Clone(m.calls)
	clear(m.calls)
	return asked
}

// TestDurableTurns kills the server in the middle of turns, with each store of sessions: the same message goes on, and
// nothing that had settled is asked again; another message begins anew.
func TestDurableTurns(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) []string{
		"sqlite": func(*testing.T) []string { return []string{"--store", "sqlite:chat.db"} },
		"redis":  func(t *testing.T) []string { return []string{"--redis", servertest.NewRedis(t).URL()} },
		"postgresql": func(t *testing.T) []string {
			return []string{"--store", servertest.NewPostgres(t).URL().String()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDurable(t, store(t))
			want := d.state(d.undisturbed())
			nodes := []string{"skill_selector", "answer_writer", "follow_up_suggester"}
			cuts := []cut{{"other", "follow_up_suggester"}}
			for _, node := range nodes {
				cuts = append(cuts, cut{"cut-at-" + node, node})
			}
			d.cut("What do you sell?", cuts)
			d.another("other")
			for _, node := range nodes {
				session := "cut-at-" + node
				d.goesOn(session, node)
				if got := strings.ReplaceAll(d.state(session), session, "whole"); got != want {
					t.Errorf("%s: the state is\n%s\nand not\n%s", node, got, want)
				}
			}
		})
	}
}

type durable struct {
	t     *testing.T
	p     *chaosProcess
	model *countedModel
}

func newDurable(t *testing.T, store []string) *durable {
	script, err := llm.LoadScript("model.yaml", []byte(durableModel))
	if err != nil {
		t.Fatal(err)
	}
	model := &countedModel{next: api.OpenAI(script, api.Options{}), calls: map[string]int{}}
	web := httptest.NewServer(model)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(durableSite), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &durable{t: t, model: model, p: &chaosProcess{t: t, dir: dir, name: "server", ready: "listening on "}}
	d.p.args = append([]string{
		"env", "OPENAI_BASE_URL=" + web.URL + "/v1", "OPENAI_API_KEY=sk-test-1234567890", "rehearse", "serve",
		"--durable", "--sites", "acme.yaml", "--model", "openai:agent", "--addr", "127.0.0.1:0", "--workers", "0",
	}, store...)
	d.p.start()
	return d
}

// say sends a message as soon as its session is free, and returns the text of the answer.
func (d *durable) say(session, input string) (string, error) {
	body := fmt.Sprintf(`{"site_name": "acme.example", "session_id": %q, "input": %q}`, session, input)
	for end := time.Now().Add(chaosPatience); ; time.Sleep(100 * time.Millisecond) {
		answer, err := http.Post(d.p.addr+"/api/v1/chat", "application/json", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		if answer.StatusCode == http.StatusTooManyRequests && time.Now().Before(end) { // of a process that has died
			_ = answer.Body.Close()
			continue
		}
		text, err := spoken(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %s", answer.Status)
		}
		return text, err
	}
}

// spoken reads the tokens of an answer, which must be complete.
func spoken(body io.ReadCloser) (text string, err error) {
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct{ Type, Content string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return text, err
		}
		if event.Type == "complete" {
			return text, nil
		}
		text += event.Content
	}
	return text, io.ErrUnexpectedEOF
}

const durableAnswer = "We sell tea from the hills, by post."

func (d *durable) undisturbed() (session string) {
	d.t.Helper()
	if text, err := d.say("whole", "What do you sell?"); err != nil || text != durableAnswer {
		d.t.Fatalf("%q, %v", text, err)
	}
	return "whole"
}

func (d *durable) state(session string) string {
	d.t.Helper()
	data, err := chaosAsk(http.StatusOK, http.MethodGet, d.p.addr+"/api/v1/chat/acme.example/"+session+"/state", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

// cut is a turn of a session in which the server dies while a node waits for its model.
type cut struct{ session, node string }

// cut begins turns, kills the server once each waits at its node, and starts it again. All die at once, since each then
// waits for the lock of the process that has died.
func (d *durable) cut(input string, cuts []cut) {
	d.t.Helper()
	failed := make(chan error, len(cuts))
	for _, c := range cuts {
		hangs := d.model.hang(c.node)
		go func() { _, err := d.say(c.session, input); failed <- err }()
		select {
		case <-hangs:
		case err := <-failed:
			d.t.Fatalf("%s: the turn has ended: %v", c.node, err)
		}
	}
	d.p.kill()
	for range cuts {
		if err := <-failed; err == nil {
			d.t.Fatal("a turn is complete although the server was killed")
		}
	}
	d.model.asked()
	d.p.start()
}

// before names the nodes that have settled when another one asks its model.
var before = map[string][]string{
	"skill_selector": nil, "answer_writer": {"intent_classifier", "interest_signals_detector", "skill_selector"},
	"follow_up_suggester": {"intent_classifier", "interest_signals_detector", "skill_selector", "answer_writer"},
}

func (d *durable) goesOn(session, node string) {
	d.t.Helper()
	if text, err := d.say(session, "What do you sell?"); err != nil || text != durableAnswer {
		d.t.Errorf("%s: %q, %v", node, text, err)
	}
	asked := d.model.asked()
	if asked[node] != 1 {
		d.t.Errorf("%s has asked %d times after the death of the server", node, asked[node])
	}
	for _, settled := range before[node] {
		if asked[settled] != 0 {
			d.t.Errorf("%s: %s has asked again", node, settled)
		}
	}
}

func (d *durable) another(session string) {
	d.t.Helper()
	if text, err := d.say(session, "Who are you?"); err != nil || text != durableAnswer {
		d.t.Errorf("%q, %v", text, err)
	}
	if asked := d.model.asked(); asked["intent_classifier"] != 1 || asked["answer_writer"] != 1 {
		d.t.Errorf("another message has asked %v", asked)
	}
	if state := d.state(session); strings.Contains(state, "What do you sell") ||
		!strings.Contains(state, `"turn_number":1`) {
		d.t.Errorf("the state is %s", state)
	}
}
