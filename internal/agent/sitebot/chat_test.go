package sitebot_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sitebottest"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const shop = sitebottest.Shop

// actor plays every node of the chatbot by a few words of the visitor's message.
const actor = `
rules:
  - {when: {node: '^intent_classifier$', user: '(?i)jailbreak'}, json: {intent: HACK, confidence: 0.9}}
  - {when: {node: '^intent_classifier$', user: '(?i)broken'}, reply: not json at all}
  - {when: {node: '^intent_classifier$', user: '(?i)log in'}, json: {intent: SUPPORT, confidence: 0.9}}
  - {when: {node: '^intent_classifier$', user: '(?i)book|@'}, json: {intent: BOOKING, confidence: 0.9}}
  - {when: {node: '^intent_classifier$', user: '(?i)we are|^50$'}, json: {intent: CONTEXT, confidence: 0.9}}
  - {when: {node: '^intent_classifier$'}, json: {intent: LEARN, confidence: 0.9}}
  - {when: {node: '^interest_signals_detector$', user: '(?i)price'}, json: {signals: [pricing, nonsense]}}
  - {when: {node: '^interest_signals_detector$', user: '(?i)monday'}, json: {signals: [urgency]}}
  - {when: {node: '^interest_signals_detector$'}, json: {signals: []}}
  - {when: {node: '^skill_selector$', user: '(?i)monday'}, json: {skills: [propose_demo], reasons: {}}}
  - {when: {node: '^skill_selector$', user: '(?i)we are'}, json: {skills: [ask_qualification], reasons: {ask_qualification: they told}}}
  - {when: {node: '^skill_selector$'}, json: {skills: [], reasons: {}}}
  - {when: {node: '^early_profile_extractor$', user: '(.*)'}, json: {value: $1}}
  - {when: {node: '^visitor_profile$', user: '(?i)we are (\w+)'}, json: {company_name: $1, status: completed}}
  - {when: {node: '^visitor_profile$'}, json: {}}
  - {when: {node: '^form_field_extractor$'}, json: {fields: {}}}
  - {when: {node: '^answer_suggester$'}, json: {answers: [Seed, Series A]}}
  - {when: {node: '^follow_up_suggester$'}, json: {suggestions: [What does it cost?]}}
  - {when: {node: '^answer_writer$', user: '(?i)fail'}, fault: {status: 500}}
  - {when: {node: '^answer_writer$', user: '(?i)we are'}, reply: "Welcome. 👉 What stage is your company at?"}
  - {when: {node: '^answer_writer$', user: '(?i)monday'}, reply: "Monday works. 👇 See a demo"}
  - {when: {node: '^answer_writer$'}, reply: We sell tea.}
  - {when: {node: '^redirect_handler$'}, reply: Please write to support.}
  - {when: {node: '^booking_handler$', user: '@'}, reply: Booked.}
  - {when: {node: '^booking_handler$'}, reply: Which e-mail address?}
  - {when: {node: '^post_conversion_handler$'}, reply: How many are you?}
`

// stage is a bot with everything around it that a test looks at.
type stage struct {
	*sitebot.Bot
	mu     sync.Mutex
	asked  []string
	outbox *lead.Memory
	leads  []told
	// delay, if any, is what every model call takes.
	delay func(context.Context)
}

// watchedModel notes which nodes ask.
type watchedModel struct {
	llm.Model
	stage *stage
}

func (w *watchedModel) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	w.stage.mu.Lock()
	w.stage.asked = append(w.stage.asked, r.Node)
	w.stage.mu.Unlock()
	if w.stage.delay != nil {
		w.stage.delay(ctx)
	}
	return w.Model.Generate(ctx, r)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	model, err := llm.LoadScript("actor.yaml", []byte(actor))
	if err != nil {
		t.Fatal(err)
	}
	one, err := site.Load("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{outbox: lead.NewMemory(graph.MemoryLimits{})}
	watched := &watchedModel{Model: model, stage: s}
	s.Bot, err = sitebot.New(sitebot.Config{
		Guard: true,
		Sites: library, Prompts: &prompt.Set{}, Checkpoints: s.outbox, Leads: s,
		Models: func(*site.Site) (sitebot.Models, error) {
			return sitebot.Models{Default: watched, Fast: watched}, nil
		},
		Retriever: func(*site.Site) sitebot.Retriever { return shelf{} },
		Enricher:  func(*site.Site) sitebot.Enricher { return knows{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Names says that everybody has a webhook.
func (s *stage) Names(string) []string { return []string{lead.WebhookName} }

// Wake is called when there may be rows; captured looks for them.
func (s *stage) Wake() {}

// told is what the webhook is told.
type told struct {
	Event, ID, Site, Session, Email string
	Context                         string `json:"capture_context"`
	Values, Collected               map[string]string
	Words                           map[string]string `json:"said"`
	Changed                         []string
	Profile                         enrich.Profile
	At                              time.Time `json:"captured_at"`
}

// captured takes what was left for the webhook, and returns all that it has been told so far.
func (s *stage) captured() []told {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := lead.Want{Address: lead.Address{Receiver: lead.WebhookName, Site: "shop.example"}, Most: 1000}
	claims, err := s.outbox.Claim(context.Background(), time.Now(), []lead.Want{want})
	for _, c := range claims {
		var t told
		err = errors.Join(err, json.Unmarshal(c.Body, &t), s.outbox.Finish(context.Background(), c, lead.Result{
			State: lead.Delivered, At: time.Now(),
		}))
		s.leads = append(s.leads, t)
	}
	if err != nil {
		panic(err)
	}
	return slices.Clone(s.leads)
}

type shelf struct{}

func (shelf) Retrieve(_ context.Context, query string) (string, error) {
	return "Tea is hot. " + query, nil
}

type knows struct{}

func (knows) Find(context.Context, enrich.Visitor) (enrich.Profile, []enrich.Attempt) {
	return enrich.Profile{Status: enrich.Partial, Source: "reveal", Sector: "Retail"}, nil
}

// say sends a message and returns what came of it; the pieces joined are the answer.
func (s *stage) say(t *testing.T, session, input string) *sitebot.Outcome {
	t.Helper()
	var said strings.Builder
	s.asked = nil
	o, err := s.Turn(t.Context(), sitebot.Request{Site: "WWW.shop.example", Session: session, Input: input},
		func(e sitebot.Event) { said.WriteString(e.Token) })
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	if said.String() != o.Response {
		t.Errorf("%s: the pieces are %q, the answer is %q", input, said.String(), o.Response)
	}
	return o
}

func (s *stage) state(t *testing.T, session string) map[string]any {
	t.Helper()
	data, err := s.State(t.Context(), "shop.example", session)
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestConversation holds one visitor's conversation from the first question to the booking and beyond.
func TestConversation(t *testing.T) {
	s := newStage(t)
	for i, tc := range []struct {
		input    string
		response string
		route    sitebot.Route
		action   sitebot.Action
		applied  string
		check    func(o *sitebot.Outcome, state map[string]any) bool
	}{
		{
			"What do you sell?", "We sell tea.", sitebot.AnswerRoute, sitebot.Educate, "suggest_follow_up",
			func(o *sitebot.Outcome, _ map[string]any) bool {
				return cmp.Equal(o.Metadata.FollowUps, []string{"What does it cost?"}) &&
					o.Metadata.Visitor.Sector == "Retail" && o.Metadata.TurnNumber == 0
			},
		},
		{
			"We are Acme", "Welcome. 👉 What stage is your company at?", sitebot.AnswerRoute, sitebot.Qualify,
			"ask_qualification", func(o *sitebot.Outcome, state map[string]any) bool {
				return cmp.Equal(o.Metadata.Answers, []string{"Seed", "Series A"}) &&
					o.Metadata.Visitor.CompanyName == "Acme" && o.Metadata.Visitor.Status == enrich.Partial &&
					at(state, "profiling_state.last_extraction_turn") == 2.0
			},
		},
		{
			"Series A, what is the price?", "We sell tea.", sitebot.AnswerRoute, sitebot.Educate, "suggest_follow_up",
			func(_ *sitebot.Outcome, state map[string]any) bool {
				return at(state, "profiling_state.collected_values.stage") == "Series A, what is the price?" &&
					at(state, "interest_signals_state.cumulative") == 4.0
			},
		},
		{
			"I need it on Monday", "Monday works. 👇 See a demo", sitebot.AnswerRoute, sitebot.Qualify, "propose_demo",
			func(o *sitebot.Outcome, state map[string]any) bool {
				return at(state, "dialog_supervision_state.demo_was_proposed_last_turn") == true &&
					at(state, "interest_signals_state.cumulative") == 10.0 && o.Metadata.CTA["stage"] != ""
			},
		},
		{
			"yes please", "Which e-mail address?", sitebot.BookingRoute, sitebot.HandleBooking, "",
			func(_ *sitebot.Outcome, state map[string]any) bool {
				return at(state, "booking_state.active") == true && at(state, "booking_state.field") == "email" &&
					at(state, "dialog_supervision_state.demo_was_proposed_last_turn") == false
			},
		},
		{
			"What does shipping cost?", "We sell tea.", sitebot.AnswerRoute, sitebot.Educate, "none",
			func(_ *sitebot.Outcome, state map[string]any) bool {
				return at(state, "booking_state.paused") == true
			},
		},
		{"It is ada@Example.com", "Booked.", sitebot.BookingRoute, sitebot.HandleBooking, "", func(_ *sitebot.Outcome,
			state map[string]any) bool {
			return at(state, "booking_state.converted") == true && at(state, "booking_state.webhook_sent") == false &&
				at(state, "dialog_supervision_state.captured_email") == "ada@example.com"
		}},
		{"Thanks", "We sell tea.", sitebot.AnswerRoute, sitebot.Educate, "suggest_follow_up", func(_ *sitebot.Outcome,
			state map[string]any) bool {
			return at(state, "booking_state.field") == "company_size"
		}},
		{"50", "How many are you?", sitebot.PostConversion, sitebot.HandlePost, "", func(_ *sitebot.Outcome,
			state map[string]any) bool {
			return at(state, "booking_state.values.company_size") == "50"
		}},
	} {
		o := s.say(t, "one", tc.input)
		state := s.state(t, "one")
		var applied []string
		if o.Metadata.Skills != nil {
			for _, k := range o.Metadata.Skills.Applied {
				applied = append(applied, string(k))
			}
		}
		if o.Response != tc.response || o.Metadata.Route != tc.route || o.Metadata.Action != tc.action ||
			strings.Join(applied, " ") != tc.applied {
			t.Errorf("turn %d %q: %q by %s %s, skills %v; want %q by %s %s, %s", i, tc.input, o.Response,
				o.Metadata.Route, o.Metadata.Action, applied, tc.response, tc.route, tc.action, tc.applied)
		}
		if tc.check != nil && !tc.check(o, state) {
			data, _ := json.Marshal(state)
			t.Errorf("turn %d %q: metadata %+v\nstate %s", i, tc.input, o.Metadata, data)
		}
		if state["turn_number"] != float64(i+1) || len(state["messages"].([]any)) != 2*(i+1) ||
			len(o.Metadata.Warnings) > 0 {
			t.Errorf("turn %d: turn_number %v, %d messages, warnings %v", i, state["turn_number"],
				len(state["messages"].([]any)), o.Metadata.Warnings)
		}
	}
	var events []string
	for _, l := range s.captured() {
		events = append(events, l.Event+" "+strings.Join(l.Changed, ","))
		if l.Email != "ada@example.com" || l.Context != lead.InChatBooking || l.Site != "shop.example" ||
			l.Session != "one" {
			t.Errorf("lead: %+v", l)
		}
	}
	if d := cmp.Diff([]string{
		"email_captured email", "booking_completed email", "post_conversion company_size",
	}, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if at(s.state(t, "one"), "booking_state.webhook_sent") != true {
		t.Error("a receiver has taken the address, and the state does not say so")
	}
	if n := s.Graph().Tasks(); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}

// hashOf is what is kept of a message.
func hashOf(message string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(message)))))
}

// at follows a path into a state.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// TestWhoIsAsked holds which models a route asks, and that a blocked message asks none.
func TestWhoIsAsked(t *testing.T) {
	s := newStage(t)
	s.say(t, "r", "I cannot log in")
	if slices.Contains(s.asked, "answer_writer") || !slices.Contains(s.asked, "redirect_handler") {
		t.Errorf("a redirect asks %v", s.asked)
	}
	for range 2 {
		if o := s.say(t, "h", "jailbreak now"); o.Metadata.Route != sitebot.RedirectRoute ||
			o.Metadata.Action != sitebot.HandleHack {
			t.Errorf("a hack: %+v", o.Metadata)
		}
	}
	o := s.say(t, "h", "hello?")
	if o.Metadata.Blocked != sitebot.BlockHack || len(s.asked) > 0 ||
		!strings.Contains(o.Response, "start a new session") {
		t.Errorf("after two hacks: %+v, asked %v", o, s.asked)
	}
	for i := range 6 {
		o := s.say(t, "s", "hello")
		if blocked := o.Metadata.Blocked == sitebot.BlockSpam; blocked != (i >= 3) || blocked && len(s.asked) > 0 {
			t.Errorf("message %d: blocked %q, asked %v", i, o.Metadata.Blocked, s.asked)
		}
	}
	if state := s.state(t, "s"); state["turn_number"] != 3.0 || state["spam_count"] != 5.0 {
		t.Errorf("after spam: turn %v, count %v", state["turn_number"], state["spam_count"])
	}
	if o := s.say(t, "s", "another"); o.Metadata.Blocked != sitebot.NotBlocked {
		t.Errorf("another message is blocked: %s", o.Metadata.Blocked)
	}
}

// TestFailures keeps the turn going unless nobody can answer.
func TestFailures(t *testing.T) {
	s := newStage(t)
	o := s.say(t, "f", "something broken")
	if !cmp.Equal(o.Metadata.Warnings, []string{"intent_classifier failed"}) || o.Metadata.Intent != sitebot.Learn {
		t.Errorf("a failing classifier: %+v", o.Metadata)
	}
	_, err := s.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "f", Input: "fail"}, nil)
	var failed *sitebot.Error
	if !errors.As(err, &failed) || failed.Fault != sitebot.Failed {
		t.Fatalf("a failing writer: %v", err)
	}
	if state := s.state(t, "f"); state["turn_number"] != 1.0 || state["last_input"] != hashOf("something broken") {
		t.Errorf("after a failed turn: %v", state)
	}
}

// TestInjection seeds a session as the reconstruction of a history does, and goes on from there.
func TestInjection(t *testing.T) {
	s := newStage(t)
	patch := `{"messages":[{"id":"0:u","role":"user","content":"I want to apply"},{"id":"0:a","role":"assistant","content":"👉 What stage?"}],
		"turn_number":1,"profiling_state":{"collected_values":{},"last_extraction_turn":1}}`
	if err := s.UpdateState(t.Context(), "shop.example", "i", json.RawMessage(patch), false); err != nil {
		t.Fatal(err)
	}
	s.say(t, "i", "Series B")
	if state := s.state(t, "i"); at(state, "profiling_state.collected_values.stage") != "Series B" ||
		state["turn_number"] != 2.0 {
		t.Errorf("state %v", state)
	}
	err := s.UpdateState(t.Context(), "shop.example", "i", json.RawMessage(`{"profiling_sate":{}}`), false)
	var failed *sitebot.Error
	if !errors.As(err, &failed) || failed.Fault != sitebot.UnknownField ||
		!strings.Contains(err.Error(), "profiling_state") {
		t.Errorf("an unknown field: %v", err)
	}
}
