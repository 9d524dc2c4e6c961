package sitebot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// TestDaysInWords checks what becomes of a model's answer about days, on Wednesday 25 November 2026.
func TestDaysInWords(t *testing.T) {
	const monday = `{"fields":{"day":"2026-11-30"},"quotes":{"day":"next Monday"}}`
	for _, tc := range []struct {
		name, state, input string
		intent             sitebot.Intent
		reply              string // empty where no model may be called
		want               any
		warns              bool
	}{
		{
			"read", `{"active":true,"field":"day","asked_turn":1}`, "Next Monday", sitebot.Context, monday,
			"2026-11-30", false,
		},
		{
			"without a quotation", `{"active":true,"field":"day","asked_turn":1}`, "lunedì prossimo", sitebot.Context,
			`{"fields":{"day":"2026-11-30"}}`, nil, false,
		},
		{
			"a week", `{"active":true,"field":"day","asked_turn":1}`, "next week", sitebot.Context,
			`{"fields":{"day":"2026-11-30/2026-12-06"},"quotes":{"day":"next week"}}`, "2026-11-30/2026-12-06", false,
		},
		{
			"any", `{"active":true,"field":"day","asked_turn":1}`, "as soon as possible", sitebot.Context,
			`{"fields":{"day":"any"},"quotes":{"day":"as soon as possible"}}`, "any", false,
		},
		{
			"another field is open", `{"active":true,"field":"email","asked_turn":1}`, "next Monday, please",
			sitebot.Context, monday, "2026-11-30", false,
		},
		{"the message that begins a booking", `{}`, "A demo next Monday", sitebot.Book, monday, "2026-11-30", false},
		{
			"a correction", `{"active":true,"field":"phone","asked_turn":1,"values":{"day":"2026-12-02"}}`,
			"next Monday, sorry", sitebot.Context, monday, "2026-11-30", false,
		},
		{
			"a correction after the booking",
			`{"converted":true,"asked_turn":1,"values":{"email":"a@x.com","day":"2026-12-02","phone":"0612345678"}}`,
			"next Monday, sorry", sitebot.Learn, monday, "2026-11-30", false,
		},
		{
			"a question corrects nothing",
			`{"converted":true,"asked_turn":1,"values":{"email":"a@x.com","day":"2026-12-02","phone":"0612345678"}}`,
			"Why not next Monday?", sitebot.Learn, "", "2026-12-02", false,
		},
		{
			"words that the visitor did not write", `{"active":true,"field":"day","asked_turn":1}`, "Whatever you like",
			sitebot.Context, monday, nil, false,
		},
		{
			"no words for it", `{"active":true,"field":"day","asked_turn":1}`, "next Monday", sitebot.Context,
			`{"fields":{"day":"2026-11-30"},"quotes":{"day":null}}`, nil, false,
		},
		{
			"words in an address", `{"active":true,"field":"day","asked_turn":1}`, "it is monday@x.com",
			sitebot.Context, `{"fields":{"day":"2026-11-30"},"quotes":{"day":"monday"}}`, nil, false,
		},
		{
			"a past day", `{"active":true,"field":"day","asked_turn":1}`, "on Tuesday", sitebot.Book,
			`{"fields":{"day":"2026-11-24"},"quotes":{"day":"on Tuesday"}}`, nil, false,
		},
		{
			"an impossible day", `{"active":true,"field":"day","asked_turn":1}`, "on 31 April", sitebot.Book,
			`{"fields":{"day":"2027-04-31"},"quotes":{"day":"31 April"}}`, nil, false,
		},
		{
			"not a day", `{"active":true,"field":"day","asked_turn":1}`, "next Monday", sitebot.Book,
			`{"fields":{"day":"next Monday"},"quotes":{"day":"next Monday"}}`, nil, false,
		},
		{
			"two days", `{"active":true,"field":"day","asked_turn":1}`, "Monday or Tuesday", sitebot.Book,
			`{"fields":{"day":"several"},"quotes":{"day":"Monday or Tuesday"}}`, nil, false,
		},
		{
			"another field of the site", `{"active":true,"field":"day","asked_turn":1}`, "next Monday", sitebot.Book,
			`{"fields":{"email":"a@x.com","phone":"0612345678"}}`, nil, false,
		},
		{
			"not JSON", `{"active":true,"field":"day","asked_turn":1}`, "next Monday", sitebot.Book, `On Monday.`, nil,
			true,
		},
		{
			"in figures", `{"active":true,"field":"day","asked_turn":1}`, "on 1/12/2026, please", sitebot.Context, "",
			"2026-12-01", false,
		},
		{
			"in figures, past", `{"active":true,"field":"day","asked_turn":1}`, "on 1/11/2026, please", sitebot.Context,
			"", nil, false,
		},
		{
			"in figures, negated", `{"active":true,"field":"day","asked_turn":1}`, "not on 1/12/2026", sitebot.Context,
			"", nil, false,
		},
		{"no words", `{"active":true,"field":"email","asked_turn":1}`, "a@x.com", sitebot.Context, "", nil, false},
		{"nothing but yes", `{}`, "yes please", sitebot.Book, "", nil, false},
		{"no booking", `{}`, "tell me about Monday", sitebot.Support, "", nil, false},
		{
			"leaving a booking", `{"active":true,"field":"day","asked_turn":1}`, "not on Monday, stop",
			sitebot.StopBooking, "", nil, false,
		},
		{
			"leaving it for support", `{"active":true,"field":"day","asked_turn":1}`, "I cannot log in since Monday",
			sitebot.Support, "", nil, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			th := openBooker(t)
			th.intent(tc.intent)
			th.inject(t, "d",
				`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}],"booking_state":`+
					tc.state+`}`)
			calls := 0
			th.does("form_field_extractor", func(_ context.Context, r llm.Request) (string, error) {
				calls++
				if tc.reply == "" {
					return "", errors.New("no call is needed")
				}
				return tc.reply, nil
			})
			o := th.say(t, "d", tc.input)
			s := th.state(t, "d")
			if got := at(s, "booking_state.values.day"); got != tc.want {
				t.Errorf("the day is %v, want %v", got, tc.want)
			}
			if routed := o.Metadata.Route == sitebot.AnswerRoute; !routed && calls > 0 != (tc.reply != "") {
				t.Errorf("%d calls", calls)
			}
			if warned := len(o.Metadata.Warnings) > 0 && tc.reply != ""; warned != tc.warns {
				t.Errorf("warnings %v", o.Metadata.Warnings)
			}
			if tc.want != nil && tc.reply != "" && at(s, "booking_state.said.day") != tc.input {
				t.Errorf("said %v", at(s, "booking_state.said"))
			}
		})
	}
}

// TestRequestForDays checks what the model is given: the site's day and language, the last message, and a schema of
// days alone.
func TestRequestForDays(t *testing.T) {
	th := openBooker(t, func(c *sitebot.Config) {
		c.Now = func() time.Time { return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) }
	})
	th.intent(sitebot.Book)
	th.say(t, "r", "hello on Friday")
	th.say(t, "r", "I would like Monday")
	r := th.request("form_field_extractor")
	system := r.Messages[0].Content.String()
	for _, want := range []string{
		"Today is Wednesday 2026-11-25", "- Monday 2026-11-30\n", "- day: What is your day?", "language is English",
		"the day comes first",
	} {
		if !strings.Contains(system, want) {
			t.Errorf("no %q in\n%s", want, system)
		}
	}
	if len(r.Messages) != 3 || r.Messages[2].Content.String() != "I would like Monday" {
		t.Errorf("messages %+v", r.Messages[1:])
	}
	const want = `{"additionalProperties":false,"properties":{"day":{"type":["string","null"]}},"required":["day"],"type":"object"}`
	if schema := string(r.Schema.JSON); strings.Count(schema, want) != 2 || strings.Contains(schema, "corrections") {
		t.Errorf("schema %s", schema)
	}
}
