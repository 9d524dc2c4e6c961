package sitebot_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// TestNodesOfRoutes holds which nodes ask a model on each route.
func TestNodesOfRoutes(t *testing.T) {
	analysis := "intent_classifier interest_signals_detector skill_selector"
	for _, tc := range []struct {
		name   string
		intent sitebot.Intent
		state  string
		skill  sitebot.Skill
		answer string
		want   string
	}{
		{
			"answer", sitebot.Learn, `{}`, sitebot.SuggestFollowUp, "",
			"answer_writer follow_up_suggester form_field_extractor " + analysis + " visitor_profile",
		},
		{
			"answer with a question", sitebot.Learn, `{}`, sitebot.RequestQualification, "And you? 👉 Which stage?",
			"answer_suggester answer_writer form_field_extractor " + analysis + " visitor_profile",
		},
		{
			"answer with a proposal", sitebot.Learn,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, sitebot.ProposeDemoSkill,
			"👇 See a demo.", "answer_writer form_field_extractor " + analysis + " visitor_profile",
		},
		{
			"answer with an e-mail question", sitebot.Learn, `{}`, sitebot.RequestEmail, "💌 Leave your address.",
			"answer_writer form_field_extractor " + analysis + " visitor_profile",
		},
		{
			"a question was asked", sitebot.Context,
			`{"turn_number":1,"profiling_state":{"last_extraction_turn":1}}`, sitebot.SuggestFollowUp, "",
			"answer_writer early_profile_extractor follow_up_suggester form_field_extractor " + analysis +
				" visitor_profile",
		},
		{
			"a question was asked earlier", sitebot.Context,
			`{"turn_number":2,"profiling_state":{"last_extraction_turn":1}}`, sitebot.SuggestFollowUp, "",
			"answer_writer follow_up_suggester form_field_extractor " + analysis + " visitor_profile",
		},
		{
			"redirect", sitebot.Support, `{}`, sitebot.SuggestFollowUp, "",
			"intent_classifier interest_signals_detector redirect_handler skill_selector visitor_profile",
		},
		{
			"hack", sitebot.Hack, `{}`, sitebot.SuggestFollowUp, "",
			"intent_classifier interest_signals_detector redirect_handler skill_selector visitor_profile",
		},
		{
			"booking", sitebot.Book, `{}`, sitebot.SuggestFollowUp, "",
			"booking_handler " + analysis + " visitor_profile",
		},
		{
			"post conversion", sitebot.Context, `{"booking_state":{"converted":true}}`, sitebot.SuggestFollowUp, "",
			"intent_classifier interest_signals_detector post_conversion_handler skill_selector visitor_profile",
		},
		{
			"after a conversion", sitebot.Learn, `{"booking_state":{"converted":true}}`, sitebot.SuggestFollowUp, "",
			"answer_writer follow_up_suggester form_field_extractor " + analysis + " visitor_profile",
		},
		{"blocked", sitebot.Learn, `{"hack_count":2}`, sitebot.SuggestFollowUp, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th := openTheater(t, shop)
			th.intent(tc.intent)
			if tc.answer != "" {
				th.says("answer_writer", tc.answer)
			}
			th.applies(tc.skill)
			th.inject(t, "n", tc.state)
			o := th.say(t, "n", "tell me")
			if d := cmp.Diff(tc.want, strings.Join(th.nodes(), " ")); d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
			if len(o.Metadata.Warnings) > 0 || th.Graph().Tasks() != 0 {
				t.Errorf("warnings %v, %d tasks", o.Metadata.Warnings, th.Graph().Tasks())
			}
		})
	}
}

// A background task that is cancelled has asked its model, which may have worked: what the turn took is then unknown,
// and not less.
func TestUseOfACancelledTask(t *testing.T) {
	th := openTheater(t, shop)
	th.intent(sitebot.Support)
	th.does("visitor_profile", func(ctx context.Context, _ llm.Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	if o := th.say(t, "n", "tell me"); o.Use.Attempts != 5 || !o.Use.Usage.Unknown || !o.Use.Cost.Unknown {
		t.Errorf("%+v", o.Use)
	}
	th.says("visitor_profile", replies["visitor_profile"])
	th.intent(sitebot.Learn)
	if o := th.say(t, "other", "tell me"); o.Use.Usage.Unknown || o.Use.Cost.Unknown {
		t.Errorf("nothing was cancelled: %+v", o.Use)
	}
}

// TestFailuresOfNodes holds what each node leaves when it fails: a warning, and never the turn, unless it is the one
// that answers (2.4).
func TestFailuresOfNodes(t *testing.T) {
	for _, node := range []string{
		"intent_classifier", "interest_signals_detector", "skill_selector", "early_profile_extractor",
		"form_field_extractor", "follow_up_suggester", "visitor_profile",
	} {
		t.Run(node, func(t *testing.T) {
			th := openTheater(t, shop)
			th.says(node, "I would rather not.")
			th.inject(t, "f", `{"turn_number":1,"profiling_state":{"last_extraction_turn":1},"interest_signals_state":{"cumulative":7,"signals":["urgency"]}}`)
			o := th.say(t, "f", "tell me")
			want := node + " failed"
			if node == "visitor_profile" {
				want = "visitor_profile_awaiter failed"
			}
			if !cmp.Equal(o.Metadata.Warnings, []string{want}) || o.Response != replies["answer_writer"] {
				t.Errorf("%q, warnings %v", o.Response, o.Metadata.Warnings)
			}
			if s := th.state(t, "f"); node == "interest_signals_detector" &&
				at(s, "interest_signals_state.cumulative") != 7.0 {
				t.Errorf("interest %v", at(s, "interest_signals_state"))
			}
		})
	}
	for node, intent := range map[string]sitebot.Intent{
		"answer_writer": sitebot.Learn, "redirect_handler": sitebot.Support, "booking_handler": sitebot.Book,
	} {
		t.Run(node, func(t *testing.T) {
			th := openTheater(t, shop)
			th.intent(intent)
			th.says(node, " ")
			_, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "f", Input: "hello"}, nil)
			if fault, ok := errors.AsType[*sitebot.Error](err); !ok || fault.Fault != sitebot.Failed {
				t.Fatalf("error %v", err)
			}
			if state, err := th.State(t.Context(), "shop.example", "f"); err == nil {
				t.Errorf("a failed turn has left %s", state)
			}
		})
	}
}

// TestScore holds the formula of 2.5: once per signal, reset after a proposal, kept within bounds, and all of an
// injected history at first.
func TestScore(t *testing.T) {
	th := openTheater(t, shop)
	th.says("interest_signals_detector", `{"signals":["pricing","pricing","other"]}`)
	th.inject(t, "i", `{"messages":[{"role":"user","content":"old one"},{"role":"assistant","content":"hm"}]}`)
	th.say(t, "i", "new one")
	if r := th.request("interest_signals_detector"); len(r.Messages) != 3 ||
		r.Messages[1].Content.String() != "old one" {
		t.Errorf("the detector of an injected conversation reads %+v", r.Messages)
	}
	score := func() any { return at(th.state(t, "i"), "interest_signals_state.cumulative") }
	if score() != 4.0 {
		t.Errorf("score %v", score())
	}
	th.say(t, "i", "again")
	if r := th.request("interest_signals_detector"); len(r.Messages) != 2 {
		t.Errorf("the detector reads %+v", r.Messages)
	}
	if score() != 4.0 {
		t.Errorf("a signal counts twice: %v", score())
	}
	th.says("interest_signals_detector", `{"signals":["urgency"]}`)
	th.applies(sitebot.ProposeDemoSkill)
	th.says("answer_writer", "👇 A demo.")
	th.say(t, "i", "by Monday")
	if score() != 10.0 {
		t.Errorf("score %v", score())
	}
	th.say(t, "i", "hm") // the reset: a demo was proposed, and nothing is new
	if score() != 0.0 {
		t.Errorf("after a proposal the score is %v", score())
	}
	th.inject(t, "known", `{"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"hm"}],
		"interest_signals_state":{"cumulative":99,"signals":["pricing"]}}`)
	th.say(t, "known", "new")
	if r := th.request("interest_signals_detector"); len(r.Messages) != 2 {
		t.Errorf("a conversation with a score is read whole: %+v", r.Messages)
	}
	if got := at(th.state(t, "known"), "interest_signals_state.cumulative"); got != 100.0 {
		t.Errorf("score %v", got)
	}
}

// TestGating walks the machine of content gating (2.7), on every route, with one webhook.
func TestGating(t *testing.T) {
	for _, intent := range []sitebot.Intent{sitebot.Learn, sitebot.Support} {
		th := openTheater(t, shop)
		th.applies(sitebot.RequestEmail)
		th.says("answer_writer", "💌 Where may I send it?")
		th.say(t, "g", "what is there")
		th.applies(sitebot.SuggestFollowUp)
		if s := th.state(t, "g"); at(s, "dialog_supervision_state.ask_count") != 1.0 ||
			at(s, "dialog_supervision_state.content_gating_ask_turn") != 1.0 {
			t.Fatalf("asked: %v", s["dialog_supervision_state"])
		}
		th.intent(intent)
		th.says("answer_writer", "Here it is.")
		o := th.say(t, "g", "to Ada@SHOP.example.COM please")
		want := []sitebot.Skill{sitebot.SuggestFollowUp, sitebot.CaptureEmail, sitebot.DeliverContent}
		if intent == sitebot.Learn && !cmp.Equal(o.Metadata.Skills.Applied, want) {
			t.Errorf("skills %v", o.Metadata.Skills.Applied)
		}
		th.say(t, "g", "and to bob@shop.example")
		leads := th.captured()
		if len(leads) != 1 || leads[0].Email != "Ada@shop.example.com" || leads[0].Context != "content_gating" {
			t.Errorf("%s: leads %+v", intent, leads)
		}
	}
}

// TestGatingCloses stops asking after the second time, however often the selector wants to.
func TestGatingCloses(t *testing.T) {
	th := openTheater(t, shop)
	th.says("skill_selector", `{"skills":["ask_email"],"reasons":{"ask_email":"why not"}}`)
	th.does("answer_writer", func(_ context.Context, r llm.Request) (string, error) {
		if strings.Contains(r.Messages[0].Content.String(), "begins with 💌") {
			return "💌 Your address?", nil
		}
		return "Fine.", nil
	})
	var applied []string
	for i := range 7 {
		o := th.say(t, "c", "message "+strings.Repeat("x", i))
		applied = append(applied, string(o.Metadata.Skills.Applied[0]))
	}
	want := []string{
		"ask_email", "capture_email", "suggest_follow_up", "ask_email", "capture_email", "suggest_follow_up",
		"suggest_follow_up",
	}
	if d := cmp.Diff(want, applied); d != "" {
		t.Errorf("skills (-want +got):\n%s", d)
	}
}

// TestAbuse holds the order of the blocks, their languages and what a blocked turn leaves (2.8).
func TestAbuse(t *testing.T) {
	th := openTheater(t, shop)
	long := strings.Repeat("é", sitebot.MaxInput)
	if o := th.say(t, "l", long); o.Metadata.Blocked != "" {
		t.Errorf("15,000 characters: %q", o.Metadata.Blocked)
	}
	th.nodes()
	for i := range 5 {
		if o := th.say(t, "m", long+"é"); o.Metadata.Blocked != sitebot.BlockLong || o.Metadata.Latency.FirstToken < 0 {
			t.Errorf("message %d: %q", i, o.Metadata.Blocked)
		}
	}
	if _, err := th.State(t.Context(), "shop.example", "m"); err == nil {
		t.Error("messages that are too long have made a session")
	}
	th.inject(t, "h", `{"hack_count":2,"spam_count":3,"last_input":"Hallo"}`)
	o, err := th.Turn(t.Context(), sitebot.Request{
		Site: "shop.example", Session: "h", Input: " hallo ", Language: "de-CH",
	}, nil)
	if err != nil || o.Metadata.Blocked != sitebot.BlockHack ||
		!strings.HasPrefix(o.Response, "Ich kann dieses Gespräch") {
		t.Errorf("%+v %v", o, err)
	}
	if s := th.state(t, "h"); s["spam_count"] != 3.0 || s["last_input"] != hashOf("hallo") {
		t.Errorf("a blocked session counts: %v %v", s["spam_count"], s["last_input"])
	}
	if asked := th.nodes(); len(asked) > 0 {
		t.Errorf("blocked messages ask %v", asked)
	}
}
