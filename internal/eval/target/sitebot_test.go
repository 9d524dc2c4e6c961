package target_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/targettest"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// repeater plays a chatbot that repeats what it hears, and fails when it is told to.
const repeater = `
rules:
  - {when: {node: '^intent_classifier$', user: help}, json: {intent: SUPPORT, confidence: 1}}
  - {when: {node: '^intent_classifier$'}, json: {intent: LEARN, confidence: 1}}
  - {when: {node: '^skill_selector$'}, json: {skills: [], reasons: {}}}
  - {when: {node: '^follow_up_suggester$'}, json: {suggestions: []}}
  - {when: {node: '^answer_writer$', user: fail}, fault: {status: 400}}
  - {when: {node: '^(answer_writer|redirect_handler)$', user: '(?s)(.*)'}, reply: 'You said $1.'}
  - {when: {node: '^early_profile_extractor$', user: '(.*)'}, json: {value: $1}}
default: {json: {}}
`

func newSitebot(t *testing.T) *target.Sitebot {
	t.Helper()
	model, err := llm.LoadScript("repeater.yaml", []byte(repeater))
	if err != nil {
		t.Fatal(err)
	}
	one, err := site.Load("shop.yaml", []byte(`
site: shop.example
qualification: {profiling: {forms: [{id: f, field_groups: [{id: g, fields: [{id: stage, question: Which stage?, required: true}]}]}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := sitebot.New(sitebot.Config{
		Guard: true,
		Sites: library, Prompts: &prompt.Set{}, Checkpoints: graph.NewMemory(graph.MemoryLimits{}),
		Models: func(*site.Site) (sitebot.Models, error) { return sitebot.Models{Default: model, Fast: model}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &target.Sitebot{Bot: bot, Site: "shop.example"}
}

func TestSitebot(t *testing.T) { targettest.Run(t, newSitebot(t)) }

// TestSitebotGoesOn begins where a test says: with what was said before, and with a state.
func TestSitebotGoesOn(t *testing.T) {
	bot := newSitebot(t)
	test := &suite.Test{
		ID: "open question",
		Input: []chat.Message{
			chat.NewMessage(chat.System, "left out"), chat.NewMessage(chat.User, "Hi"),
			chat.NewMessage(chat.Assistant, "👉 Which stage?"),
		},
	}
	test.Start.Fields = json.RawMessage(`{"spam_count":1}`)
	s, err := bot.Open(t.Context(), runner.Opening{Test: test})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Send(t.Context(), chat.Content{Text: "Seed"})
	if err != nil || reply.Node != "ANSWER" || strings.Contains(string(reply.State), `"messages"`) {
		t.Errorf("%+v %v", reply, err)
	}
	for _, want := range []string{
		`"turn_number":2`, `"collected_values":{"stage":"Seed"}`,
		`"last_input":"19b25856e1c150ca834cffc8b59b23adbd0ec0389e58eb22b3b64768098d002b"`, `"spam_count":0`,
	} {
		if !strings.Contains(string(reply.State), want) {
			t.Errorf("the state lacks %s: %s", want, reply.State)
		}
	}
	if reply, err = s.Send(t.Context(), chat.Content{Text: "help"}); err != nil || reply.Node != "REDIRECT" ||
		reply.Text != "You said help." {
		t.Errorf("%+v %v", reply, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSitebotWithUnusableState(t *testing.T) {
	for want, start := range map[string]suite.Start{
		"profiling_sate":          {Fields: json.RawMessage(`{"profiling_sate":{}}`)},
		"cannot unmarshal array":  {Fields: json.RawMessage(`[]`)},
		"state of test bad is":    {Memory: json.RawMessage(`{}`)},
		"the history of test bad": {History: json.RawMessage(`{}`)},
	} {
		test := &suite.Test{ID: "bad", Start: start}
		if _, err := newSitebot(t).Open(t.Context(), runner.Opening{Test: test}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want something of %q", err, want)
		}
	}
}

// What the reducers make of a state must be what was set; else the test would grade another conversation than its
// author wrote.
func TestSitebotSeedMismatch(t *testing.T) {
	test := &suite.Test{ID: "blank", Start: suite.Start{
		Fields: json.RawMessage(`{"profiling_state":{"collected_values":{"stage":"  "}}}`),
	}}
	_, err := newSitebot(t).Open(t.Context(), runner.Opening{Test: test})
	if _, ok := errors.AsType[*runner.SeedError](err); !ok ||
		!strings.Contains(err.Error(), `profiling_state.collected_values.stage is null instead of "  "`) {
		t.Error(err)
	}
}

// The example of the specification: the fields and the open question are rebuilt, and the query is the answer to it.
func TestSitebotRebuildsHistory(t *testing.T) {
	rows := `[{"role":"user","content":"I want to apply"},{"role":"assistant","content":"👉 Which stage?"},{"role":"User","content":"Seed"},
		{"role":"system","content":"x"},{"role":"assistant","content":"👉 And then?"},{"role":"user","content":"B"},{"role":"assistant","content":"late"}]`
	test := &suite.Test{ID: "history", Start: suite.Start{
		History: json.RawMessage(rows),
	}, Turns: []suite.Turn{{Input: chat.Content{Text: "B"}}}}
	s, err := newSitebot(t).Open(t.Context(), runner.Opening{Test: test})
	if err != nil {
		t.Fatal(err)
	}
	said := s.(runner.Historian).Earlier()
	if len(said) != 4 || said[3].Content.Text != "👉 And then?" {
		t.Errorf("%v was said before", said)
	}
	reply, err := s.Send(t.Context(), chat.Content{Text: "B"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"turn_number":3`, `"collected_values":{"stage":"Seed"}`} {
		if !strings.Contains(string(reply.State), want) {
			t.Errorf("the state lacks %s: %s", want, reply.State)
		}
	}
}

// A turn tells what all its calls have used, also when it failed; a message that no model is asked about has used
// nothing.
func TestSitebotUsage(t *testing.T) {
	session, err := newSitebot(t).Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	reply, err := session.Send(t.Context(), chat.Content{Text: "hello"})
	if err != nil || reply.Attempts < 5 || reply.Usage.InputTokens < 100 || reply.Usage.OutputTokens < 6 {
		t.Errorf("an answer: %d attempts, usage %+v, error %v", reply.Attempts, reply.Usage, err)
	}
	reply, err = session.Send(t.Context(), chat.Content{Text: "fail"})
	if err == nil || reply.Attempts < 4 || reply.Usage.InputTokens < 100 || reply.Text != "" {
		t.Errorf("a failure: %d attempts, usage %+v, error %v", reply.Attempts, reply.Usage, err)
	}
	reply, err = session.Send(t.Context(), chat.Content{Text: strings.Repeat("x", sitebot.MaxInput+1)})
	if err != nil || reply.Usage != (chat.Usage{}) {
		t.Errorf("a refusal: %+v, error %v", reply, err)
	}
}
