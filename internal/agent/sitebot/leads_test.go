package sitebot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// booker is a site that books with three values and asks two more afterwards.
var booker = strings.Replace(shop, "booking:", "booking: {fields: [email, {id: day, type: date}, {id: phone, type: "+
	"phone}], post_conversion_fields: [size, budget]}\nformer:", 1)

func openBooker(t *testing.T, changes ...func(*sitebot.Config)) *theater {
	t.Helper()
	lines := strings.Split(booker, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "former:") {
			lines[i] = ""
		}
	}
	wednesday := func(c *sitebot.Config) {
		c.Now = func() time.Time { return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) }
	}
	return openTheater(t, strings.Join(lines, "\n"), append([]func(*sitebot.Config){wednesday}, changes...)...)
}

// news returns the events since the last call, each with what it says has changed.
func (th *theater) news() []string {
	before := len(th.stage.leads)
	var events []string
	for _, l := range th.captured()[before:] {
		events = append(events, l.Event+" "+strings.Join(l.Changed, ","))
	}
	return events
}

// TestEvents walks through a booking and holds what each turn tells (2.16).
func TestEvents(t *testing.T) {
	th := openBooker(t)
	th.readsDays(map[string]string{
		"on Monday": "2026-11-30", "on Tuesday": "2026-12-01", "Wednesday": "2026-12-02", "not Tuesday": "denied",
		"on Thursday": "2026-11-26",
	})
	for _, tc := range []struct {
		intent sitebot.Intent
		input  string
		want   string
	}{
		{sitebot.Learn, "what do you sell?", ""},
		{sitebot.Book, "book me a demo", ""},
		{sitebot.Context, "it is Ada@X.com", "email_captured email"},
		{sitebot.Learn, "what does it cost?", ""},
		{sitebot.Context, "on Monday", "booking_updated day"},
		{sitebot.Context, "+33 6 12 34 56 78", "booking_completed phone"},
		{sitebot.Learn, "thanks", ""},
		{sitebot.Learn, "on Tuesday, please", "booking_updated day"},
		{sitebot.Learn, "is Wednesday possible?", ""},
		{sitebot.Learn, "not Tuesday", ""},
		{sitebot.Support, "b@x.com, and on Thursday", "email_captured email; booking_updated email,day"},
		{sitebot.Learn, "back to Ada@X.com", "email_captured email"},
		{sitebot.Learn, "and on Monday", "booking_updated day"},
		{sitebot.Context, "50 people", "post_conversion size"},
		{sitebot.Context, "10k", "post_conversion budget"},
		{sitebot.Learn, "bye", ""},
	} {
		th.intent(tc.intent)
		th.say(t, "e", tc.input)
		if got := strings.Join(th.news(), "; "); got != tc.want {
			t.Errorf("%q: told %q, want %q", tc.input, got, tc.want)
		}
	}
	last := th.stage.leads[len(th.stage.leads)-1]
	want := told{
		Event: lead.PostConversion, ID: last.ID, Site: "shop.example", Session: "e", Email: "Ada@x.com",
		Context: lead.InChatBooking, Values: map[string]string{
			"email": "Ada@x.com", "day": "2026-11-30", "phone": "+33612345678", "size": "50 people", "budget": "10k",
		},
		Words: map[string]string{
			"email": "back to Ada@X.com", "day": "and on Monday", "phone": "+33 6 12 34 56 78", "size": "50 people",
			"budget": "10k",
		}, Collected: map[string]string{}, Changed: []string{"budget"}, Profile: last.Profile, At: last.At,
	}
	if d := cmp.Diff(want, last); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	ids := map[string]bool{}
	for _, l := range th.stage.leads {
		ids[l.ID] = true
	}
	if len(ids) != len(th.stage.leads) {
		t.Errorf("%d events have %d ids", len(th.stage.leads), len(ids))
	}
}

// An address that completes the booking is both, and one that was kept before is told once.
func TestEventsOfAnAddress(t *testing.T) {
	th := openTheater(t, shop)
	th.intent(sitebot.Book)
	th.say(t, "one", "book me, a@x.com")
	if got := strings.Join(th.news(), "; "); got != "email_captured email; booking_completed email" {
		t.Errorf("an address that completes: %q", got)
	}
	th = openBooker(t)
	th.applies(sitebot.RequestEmail)
	th.says("answer_writer", "💌 Where may I send it?")
	th.say(t, "gate", "what is there")
	th.say(t, "gate", "to a@x.com")
	if got := th.captured(); len(got) != 1 || got[0].Context != lead.ContentGating ||
		strings.Join(got[0].Changed, " ") != "email" {
		t.Errorf("an address for content: %+v", got)
	}
	th.intent(sitebot.Book)
	th.say(t, "gate", "book me, my address is a@x.com")
	if got := strings.Join(th.news(), "; "); got != "booking_updated email" {
		t.Errorf("an address that was known: %q", got)
	}
	th.inject(t, "known", `{"booking_state":{"active":true,"values":{"email":"a@x.com"},"field":"day","asked_turn":1}}`)
	th.intent(sitebot.Context)
	th.say(t, "known", "30/11/2026")
	if got := th.captured(); got[len(got)-1].Event != lead.BookingUpdated || got[len(got)-1].Email != "a@x.com" {
		t.Errorf("an address that was injected: %+v", got)
	}
}

// A turn that fails, or loses its visitor, tells nothing; repeated, it tells under the id that it would have had.
func TestFailedTurnTellsNothing(t *testing.T) {
	first := openTheater(t, shop)
	first.intent(sitebot.Book)
	first.say(t, "f", "a@x.com")
	want := first.captured()[0].ID

	th := openTheater(t, shop)
	th.intent(sitebot.Book)
	th.says("booking_handler", " ")
	if _, err := th.Turn(t.Context(), sitebot.Request{
		Site: "shop.example", Session: "f", Input: "a@x.com",
	}, nil); err == nil {
		t.Fatal("the turn did not fail")
	}
	ctx, leave := context.WithCancel(t.Context())
	th.does("booking_handler", func(context.Context, llm.Request) (string, error) { leave(); return "well, well", nil })
	if _, err := th.Turn(ctx, sitebot.Request{Site: "shop.example", Session: "f", Input: "b@x.com"},
		func(sitebot.Event) {}); err == nil {
		t.Fatal("the visitor did not leave")
	}
	if got := th.captured(); len(got) != 0 {
		t.Fatalf("failed turns tell %+v", got)
	}
	th.says("booking_handler", "Booked.")
	th.say(t, "f", "a@x.com")
	if got := th.captured(); len(got) != 2 || got[0].ID != want || got[0].Email != "a@x.com" {
		t.Errorf("repeated: %+v, want the id %s", got, want)
	}
}

// brokenStore is a store whose saves fail.
type brokenStore struct{ *lead.Memory }

func (brokenStore) SaveWith(context.Context, string, graph.Record, []lead.Row) error {
	return errors.New("disk full")
}

// A turn that cannot be saved fails: nobody is told that all went well.
func TestUnsavedTurnFails(t *testing.T) {
	th := openTheater(t, shop, func(c *sitebot.Config) {
		c.Checkpoints = brokenStore{lead.NewMemory(graph.MemoryLimits{})}
	})
	th.intent(sitebot.Book)
	_, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "f", Input: "a@x.com"}, nil)
	if fault, ok := errors.AsType[*sitebot.Error](err); !ok || fault.Fault != sitebot.StoreFailed ||
		len(th.captured()) != 0 {
		t.Errorf("%v, %+v", err, th.captured())
	}
}

func TestLeadsNeedAnOutbox(t *testing.T) {
	th := openTheater(t, shop)
	c := th.Config
	c.Checkpoints = graph.NewMemory(graph.MemoryLimits{})
	if _, err := sitebot.New(c); err == nil {
		t.Error("leads that nobody keeps")
	}
}

// located has found the visitor's address, as a session of an older version has.
type located struct{}

func (located) Find(context.Context, enrich.Visitor) (enrich.Profile, []enrich.Attempt) {
	return enrich.Profile{Status: enrich.Partial, Source: "reveal", IPAddress: "203.0.113.7"}, nil
}

// The visitor's own address leaves the bot only where the site keeps it.
func TestAddressIsNotTold(t *testing.T) {
	for _, tc := range []struct{ file, want string }{
		{shop, ""},
		{shop + "\nenrichment: {keep_ip: true}\n", "203.0.113.7"},
	} {
		th := openTheater(t, tc.file, func(c *sitebot.Config) {
			c.Enricher = func(*site.Site) sitebot.Enricher { return located{} }
		})
		o := th.say(t, "a", "hello")
		th.intent(sitebot.Book)
		th.say(t, "a", "book me, a@x.com")
		shown, _ := at(th.state(t, "a"), "visitor_profile.ip_address").(string)
		if o.Metadata.Visitor.IPAddress != tc.want || shown != tc.want ||
			th.captured()[0].Profile.IPAddress != tc.want {
			t.Errorf("%q: answer %q, state %q, webhook %q", tc.want, o.Metadata.Visitor.IPAddress, shown,
				th.captured()[0].Profile.IPAddress)
		}
	}
}

// Failures never count as spam, and what was refused is kept nowhere (2.8).
func TestFailuresAreNoSpam(t *testing.T) {
	th := openTheater(t, shop)
	th.says("answer_writer", " ")
	for range 5 {
		if _, err := th.Turn(t.Context(), sitebot.Request{
			Site: "shop.example", Session: "s", Input: "try again",
		}, nil); err == nil {
			t.Fatal("the turn did not fail")
		}
	}
	th.says("answer_writer", "Here you are.")
	if o := th.say(t, "s", "try again"); o.Metadata.Blocked != "" {
		t.Errorf("after five failures: %q", o.Metadata.Blocked)
	}
	const secret = "a secret that is refused"
	th.inject(t, "h", `{"hack_count":2}`)
	th.say(t, "h", secret)
	th.say(t, "l", secret+strings.Repeat("x", sitebot.MaxInput))
	for range 5 {
		th.say(t, "p", secret)
	}
	th.say(t, "p", "something else")
	for _, session := range []string{"h", "l"} {
		records, err := th.outbox.Load(t.Context(), sitebot.Thread("shop.example", session), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if strings.Contains(string(r.Values)+string(r.Appended), secret) {
				t.Errorf("%s: kept %s", session, r.Values)
			}
		}
	}
	if s := th.state(t, "p"); s["last_input"] != hashOf("something else") || s["spam_count"] != 0.0 {
		t.Errorf("%v %v", s["last_input"], s["spam_count"])
	}
}

// TestErase leaves nothing of a session, and waits for no turn (2.16).
func TestErase(t *testing.T) {
	var elsewhere []string
	th := openTheater(t, shop, func(c *sitebot.Config) {
		c.Elsewhere = func(_ context.Context, site, session string) error {
			elsewhere = append(elsewhere, site+" "+session)
			return nil
		}
	})
	th.intent(sitebot.Book)
	th.say(t, "e", "book me, a@x.com")
	var busy error
	th.does("booking_handler", func(ctx context.Context, _ llm.Request) (string, error) {
		busy = th.Erase(ctx, "shop.example", "e")
		return "Noted.", nil
	})
	th.inject(t, "e", `{"booking_state":{"converted":false}}`)
	th.say(t, "e", "and once more")
	if fault, ok := errors.AsType[*sitebot.Error](busy); !ok || fault.Fault != sitebot.Busy {
		t.Errorf("while a turn is under way: %v", busy)
	}
	for range 2 {
		if err := th.Erase(t.Context(), "www.shop.example", "e"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := th.State(t.Context(), "shop.example", "e"); err == nil {
		t.Error("the session is still there")
	}
	if rows, err := th.outbox.Leads(t.Context(), lead.Filter{}); err != nil || len(rows) != 0 {
		t.Errorf("leads are left: %+v %v", rows, err)
	}
	if d := cmp.Diff([]string{"shop.example e", "shop.example e"}, elsewhere); d != "" {
		t.Errorf("others (-want +got):\n%s", d)
	}
	if o := th.say(t, "e", "hello again"); o.Metadata.TurnNumber != 0 {
		t.Errorf("it goes on at turn %d", o.Metadata.TurnNumber)
	}
}

// What could not be erased is said.
func TestEraseFails(t *testing.T) {
	th := openTheater(t, shop, func(c *sitebot.Config) {
		c.Elsewhere = func(context.Context, string, string) error { return errors.New("down") }
	})
	th.say(t, "e", "hello")
	err := th.Erase(t.Context(), "shop.example", "e")
	if fault, ok := errors.AsType[*sitebot.Error](err); !ok || fault.Fault != sitebot.StoreFailed {
		t.Errorf("%v", err)
	}
	if _, err := th.State(t.Context(), "shop.example", "e"); err == nil {
		t.Error("what could be erased is still there")
	}
}
