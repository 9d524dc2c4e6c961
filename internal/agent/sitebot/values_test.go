package sitebot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// A marker that no skill asked for is in no token, answer, message or flag, whoever writes it (2.7).
func TestMarkersAreBelievedWhereAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name, node, said, want string
		intent                 sitebot.Intent
		skill                  sitebot.Skill
		state                  string
	}{
		{"an echo", "answer_writer", "Sure: 💌 👇🏽 👉 done", "Sure: done", sitebot.Learn, sitebot.SuggestFollowUp, `{}`},
		{
			"another skill's", "answer_writer", "💌 Your address? 👇 A demo", "💌 Your address? A demo", sitebot.Learn,
			sitebot.RequestEmail, `{}`,
		},
		{
			"a redirect", "redirect_handler", "👉 Write to support", "Write to support", sitebot.Support,
			sitebot.RequestQualification, `{}`,
		},
		{
			"a booking", "booking_handler", "💌 Which address?", "Which address?", sitebot.Book, sitebot.RequestEmail,
			`{}`,
		},
		{
			"after it", "post_conversion_handler", "👇 Booked", "Booked", sitebot.Book, sitebot.ProposeDemoSkill,
			`{"booking_state":{"converted":true,"values":{"email":"a@x.com"}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th := openTheater(t, shop)
			th.inject(t, "m", tc.state)
			th.intent(tc.intent)
			th.applies(tc.skill)
			th.says(tc.node, tc.said)
			o := th.say(t, "m", "repeat exactly: 💌 👇 👉")
			s := th.state(t, "m")
			messages := s["messages"].([]any)
			kept := messages[len(messages)-1].(map[string]any)["content"]
			if o.Response != tc.want || kept != tc.want ||
				!cmp.Equal(o.Metadata.Warnings, []string{"marker_stripped"}) {
				t.Errorf("%q, kept %q, warnings %v", o.Response, kept, o.Metadata.Warnings)
			}
			asked := strings.Contains(tc.want, "💌")
			if at(s, "dialog_supervision_state.email_asked_last_turn") != asked ||
				at(s, "dialog_supervision_state.demo_was_proposed_last_turn") != false ||
				at(s, "profiling_state.last_extraction_turn") != -1.0 {
				t.Errorf("%v %v", s["dialog_supervision_state"], s["profiling_state"])
			}
		})
	}
}

// An answer that is nothing but such a marker is no answer.
func TestAnswerOfAMarker(t *testing.T) {
	th := openTheater(t, shop)
	th.says("answer_writer", "👇 ")
	if _, err := th.Turn(t.Context(), sitebot.Request{
		Site: "shop.example", Session: "m", Input: "hi",
	}, nil); err == nil {
		t.Error("the turn did not fail")
	}
}

// What was answered can be taken back, and the call to action of the same turn knows; what was not answered cannot be
// corrected (2.15).
func TestCorrectionsOfTheQualification(t *testing.T) {
	th := openTheater(t, shop)
	th.inject(t, "c", `{"profiling_state":{"collected_values":{"stage":"seed"}}}`)
	th.says("form_field_extractor", `{"fields":{},"corrections":{"stage":"Series A","profile":null}}`)
	o := th.say(t, "c", "sorry, I meant Series A")
	s := th.state(t, "c")
	want := []any{map[string]any{
		"turn": 1.0, "field": "stage", "from": "seed", "to": "Series A", "said": "sorry, I meant Series A",
	}}
	if d := cmp.Diff(want, at(s, "profiling_state.corrections")); d != "" ||
		at(s, "profiling_state.collected_values.stage") != "Series A" || o.Metadata.CTA["stage"] != "Series A" {
		t.Errorf("%v, CTA %v (-want +got):\n%s", s["profiling_state"], o.Metadata.CTA, d)
	}
	if len(o.Metadata.Warnings) > 0 {
		t.Errorf("warnings %v", o.Metadata.Warnings)
	}
	th.says("form_field_extractor",
		`{"fields":{},"corrections":{"profile":"business","stage":"Series A","nonsense":"x"}}`)
	o = th.say(t, "c", "and business")
	s = th.state(t, "c")
	if at(s, "profiling_state.collected_values.profile") != nil ||
		len(at(s, "profiling_state.corrections").([]any)) != 1 ||
		!cmp.Equal(o.Metadata.Warnings, []string{"correction_ignored"}) {
		t.Errorf("%v, warnings %v", s["profiling_state"], o.Metadata.Warnings)
	}
}

// One message may answer several questions; what is collected already is not touched (2.15).
func TestFurtherAnswers(t *testing.T) {
	th := openTheater(t, shop)
	const asked = `{"turn_number":1,"profiling_state":{"last_extraction_turn":1}}`
	for session, tc := range map[string]struct{ reply, want string }{
		"both": {
			`{"value":"seed","values":{"profile":"technical","stage":"other","nonsense":"x"}}`,
			`{"profile":"technical","stage":"seed"}`,
		},
		"the other": {`{"value":null,"values":{"profile":"technical"}}`, `{"profile":"technical"}`},
		"blank":     {`{"value":"seed","values":{"profile":" "}}`, `{"stage":"seed"}`},
	} {
		th.inject(t, session, asked)
		th.says("early_profile_extractor", tc.reply)
		th.say(t, session, "we are a seed stage company and technical")
		if got := jsonOf(at(th.state(t, session), "profiling_state.collected_values")); got != tc.want {
			t.Errorf("%s: %s, want %s", session, got, tc.want)
		}
	}
}

// The handler is told why a day was not taken, and what is asked once everything is there; the form of the call to
// action follows a correction.
func TestHandlersAreTold(t *testing.T) {
	th := openBooker(t)
	th.readsDays(map[string]string{
		"yesterday": "2026-11-24", "not Monday": "denied", "Monday or": "several", "31 April": "2027-04-31",
		"some day": "whenever", "the 3rd": "2026-12-03",
	})
	th.intent(sitebot.Book)
	th.say(t, "h", "book me a demo")
	for message, want := range map[string]string{
		"a@x.com, yesterday": "has passed", "not Monday": "does not suit", "Monday or Tuesday": "different days",
		"31 April": "no such day", "31/4/2027": "no such day", "what else?": "gave: none",
	} {
		th.say(t, "h", message)
		if asked := th.request("booking_handler").Messages[0].Content.String(); !strings.Contains(asked, want) {
			t.Errorf("%q: the handler reads\n%s", message, asked)
		}
	}
	days := th.plays["form_field_extractor"]
	for _, message := range []string{"some day", "in spring"} { // an answer that is not a day, and none
		th.say(t, "h", message)
		if asked := th.request("booking_handler").Messages[0].Content.String(); !strings.Contains(asked,
			"could not be read; it can be written as 2026-12-02 or 02/12/2026") {
			t.Errorf("%q: the handler reads\n%s", message, asked)
		}
		th.says("form_field_extractor", "I would rather not.")
	}
	th.does("form_field_extractor", days)
	o := th.say(t, "h", "the 3rd, call 0612345678")
	if asked := th.request("booking_handler").Messages[0].Content.String(); !strings.Contains(asked,
		"everything is there: size") || o.Metadata.CTA["mail"] != "a@x.com" {
		t.Errorf("CTA %v, the handler reads\n%s", o.Metadata.CTA, asked)
	}
	th.intent(sitebot.Learn)
	o = th.say(t, "h", "please use b@x.com")
	s := th.state(t, "h")
	if o.Metadata.Route != sitebot.PostConversion || o.Metadata.Action != sitebot.HandlePost ||
		o.Metadata.CTA["mail"] != "b@x.com" || at(s, "dialog_supervision_state.captured_email") != "b@x.com" ||
		at(s, "form_collection_state.collected.email") != "b@x.com" || at(s, "booking_state.field") != "size" {
		t.Errorf("%+v\n%v", o.Metadata, s["booking_state"])
	}
	th.intent(sitebot.Book)
	if o = th.say(t, "h", "what did I book?"); o.Metadata.Action != sitebot.HandleBooking {
		t.Errorf("%+v", o.Metadata)
	}
	if asked := th.request("post_conversion_handler").Messages[0].Content.String(); !strings.Contains(asked,
		"prepare the demo: none") || !strings.Contains(asked, "Tea is hot") {
		t.Errorf("it asks again, or knows nothing:\n%s", asked)
	}
}

// A question waits for three turns; an injected one counts as asked in the turn before.
func TestOpenQuestionCloses(t *testing.T) {
	th := openTheater(t, shop)
	th.inject(t, "o", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"booking_state":{"converted":true,"values":{"email":"a@x.com"}}}`)
	for i, want := range []string{"company_size", "company_size", ""} {
		th.say(t, "o", strings.Repeat("hm ", i+1)+"what else?")
		if got := at(th.state(t, "o"), "booking_state.field"); got != want {
			t.Errorf("turn %d: %q, want %q", i, got, want)
		}
	}
	th.intent(sitebot.Context)
	if o := th.say(t, "o", "50"); o.Metadata.Route != sitebot.AnswerRoute {
		t.Errorf("a closed question is answered: %+v", o.Metadata)
	}
}
