package sitebot_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// TestInjectedMessages holds the ids of messages that come without: none takes the place of another, now or in the next
// turn.
func TestInjectedMessages(t *testing.T) {
	for _, tc := range []struct {
		name, patch string
		ids         []string
		turn        float64
	}{
		{
			"a turn", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`,
			[]string{"0:u", "0:a", "1:u", "1:a"}, 2,
		},
		{"a greeting", `[{"role":"assistant","content":"hi"}]`, []string{"0:a", "1:u", "1:a"}, 2},
		{
			"an unanswered message", `[{"role":"user","content":"a"},{"role":"user","content":"a"}]`,
			[]string{"0:u.0", "0:u.1", "0:u", "0:a"}, 1,
		},
		{
			"two answers",
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"assistant","content":"c"}]`,
			[]string{"0:u", "0:a", "1:a", "2:u", "2:a"},
			3,
		},
		{
			"an id that the next turn would take", `[{"id":"0:u","role":"user","content":"a"}]`,
			[]string{"0:u", "0:u.2", "0:a"}, 1,
		},
		{"nothing", `[]`, []string{"0:u", "0:a"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th := openTheater(t, shop)
			th.inject(t, "i", `{"messages":`+tc.patch+`}`)
			th.say(t, "i", "hello")
			s := th.state(t, "i")
			var ids []string
			for _, m := range s["messages"].([]any) {
				ids = append(ids, m.(map[string]any)["id"].(string))
			}
			if d := cmp.Diff(tc.ids, ids); d != "" || s["turn_number"] != tc.turn {
				t.Errorf("turn %v, ids (-want +got):\n%s", s["turn_number"], d)
			}
		})
	}
}

// TestInjectingAgain changes nothing when the messages have ids, and adds where they have none (X31).
func TestInjectingAgain(t *testing.T) {
	th := openTheater(t, shop)
	for range 3 {
		th.inject(t, "i",
			`{"messages":[{"id":"0:u","role":"user","content":"a"},{"id":"0:a","role":"assistant","content":"b"}]}`)
	}
	if s := th.state(t, "i"); len(s["messages"].([]any)) != 2 || s["turn_number"] != 1.0 {
		t.Errorf("turn %v, messages %v", s["turn_number"], s["messages"])
	}
	th.inject(t, "i", `{"messages":[{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}`)
	s := th.state(t, "i")
	if len(s["messages"].([]any)) != 4 || s["turn_number"] != 2.0 || s["site_name"] != "shop.example" ||
		s["session_id"] != "i" {
		t.Errorf("state %v", s)
	}
	err := th.UpdateState(t.Context(), "shop.example", "i", json.RawMessage(`{"hack_count":1}`), true)
	if s := th.state(t, "i"); err != nil || len(s["messages"].([]any)) != 0 || s["turn_number"] != 0.0 ||
		s["hack_count"] != 1.0 {
		t.Errorf("replaced: %v %v", s, err)
	}
}

func TestInjectionRefuses(t *testing.T) {
	th := openTheater(t, shop)
	for _, patch := range []string{
		`{"unknown":1}`, `{"booking_state":{"unknown":1}}`, `{"dialog_supervision_state":{"ask_count":"two"}}`,
		`{"turn_number":"1"}`, `[]`, `{`, `7`, ``, `{"messages":[{"role":"system","content":"x"}]}`,
		`{"messages":[{"role":"user","content":"x","name":"y"}]}`, `{"profiling_state":{"x":1}}`,
		`{"turn_number":1,"turn_number":2}`, `{"visitor_profile":{"age":3}}`, `{"turn_number":-1}`, `{"hack_count":-1}`,
		`{"summary":{"to_turn":-1}}`, `{"interest_signals_state":{"cumulative":101}}`, `{"next_route":"NOWHERE"}`,
		`{"site_name":"other"}`,
	} {
		err := th.UpdateState(t.Context(), "shop.example", "r", json.RawMessage(patch), false)
		var fault *sitebot.Error
		if !errors.As(err, &fault) || fault.Fault != sitebot.UnknownField {
			t.Errorf("%s: %v", patch, err)
		}
	}
	if _, err := th.State(t.Context(), "shop.example", "r"); err == nil {
		t.Error("a refused patch has left a session")
	}
}

// TestInjectedBooking takes the value of a field that an injected booking waits for, whatever it leaves out.
func TestInjectedBooking(t *testing.T) {
	const phoneFirst = "site: shop.example\naliases: [www.shop.example]\nbooking: {fields: [name, phone]}\n"
	th := openTheater(t, phoneFirst)
	th.inject(t, "b", `{"booking_state":{"active":true,"field":"name"}}`)
	th.say(t, "b", "Ada Lovelace")
	if s := th.state(t, "b"); at(s, "booking_state.values.name") != "Ada Lovelace" ||
		at(s, "booking_state.field") != "phone" {
		t.Errorf("booking %v", s["booking_state"])
	}
	th.intent(sitebot.Book)
	th.say(t, "c", "I want to book a demo")
	if s := th.state(t, "c"); at(s, "booking_state.values.name") != nil || at(s, "booking_state.field") != "name" {
		t.Errorf("the message that begins a booking is taken as its first value: %v", s["booking_state"])
	}
}
