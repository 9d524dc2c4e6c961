// Package leadtest holds what every store of sessions with an outbox has to fulfil.
package leadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// Store is what is checked.
type Store interface {
	graph.Checkpointer
	lead.Outbox
	lead.Ledger
	SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error
	Erase(ctx context.Context, thread, site, session string) error
}

// RunOutbox checks an implementation; open returns two views of one empty store, as two processes have them, and closes
// them through t.Cleanup. They may be the same.
func RunOutbox(t *testing.T, open func(t *testing.T) (one, two Store)) {
	for name, check := range map[string]func(*testing.T, Store, Store){
		"saved with the turn":   checkSave,
		"a conflict has none":   checkConflict,
		"once":                  checkOnce,
		"claim":                 checkClaim,
		"a lease ends":          checkLease,
		"later":                 checkLater,
		"tend":                  checkTend,
		"nobody delivers":       checkForgotten,
		"kept for a time":       checkKept,
		"resend":                checkResend,
		"erase":                 checkErase,
		"two never hold one":    checkRace,
		"whatever names say":    checkNames,
		"nobody waits for none": checkNone,
	} {
		t.Run(name, func(t *testing.T) {
			one, two := open(t)
			check(t, one, two)
		})
	}
}

// begin is when the checks begin. It is now, as some stores let rows expire by their own clock.
func begin() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

var (
	hook    = lead.Address{Receiver: lead.WebhookName, Site: "tea.example"}
	posthog = lead.Address{Receiver: lead.PostHogName, Site: "tea.example"}
)

// rows returns what a session leaves: a row for each receiver.
func rows(t *testing.T, session, email string, at time.Time) []lead.Row {
	t.Helper()
	v := lead.Visitor{Site: hook.Site, Session: session, Email: email, At: at}
	made, err := v.Rows([]lead.Event{{Name: lead.EmailCaptured, Context: lead.InChatBooking}}, hook.Receiver,
		posthog.Receiver)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// save saves the first turn of a session with its rows.
func save(t *testing.T, s Store, session string, at time.Time) []lead.Row {
	t.Helper()
	made := rows(t, session, "jo@acme.example", at)
	r := graph.Record{ID: "1-" + session, Turn: 1, Source: graph.SourceTurn, At: at, Values: []byte(`{}`)}
	if err := s.SaveWith(t.Context(), thread(session), r, made); err != nil {
		t.Fatal(err)
	}
	return made
}

func thread(session string) string { return hook.Site + ":" + session }

func claim(t *testing.T, s Store, now time.Time, wants ...lead.Want) []lead.Claim {
	t.Helper()
	claims, err := s.Claim(t.Context(), now, wants)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func finish(t *testing.T, s Store, c lead.Claim, r lead.Result) {
	t.Helper()
	if err := s.Finish(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
}

func leads(t *testing.T, s Store, f lead.Filter) []lead.Row {
	t.Helper()
	found, err := s.Leads(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func of(a lead.Address, most int) lead.Want { return lead.Want{Address: a, Most: most} }

func checkSave(t *testing.T, one, two Store) {
	at := begin()
	made := save(t, one, "s1", at)
	want := slices.Clone(made)
	for i := range want {
		want[i].Body = nil
	}
	if d := cmp.Diff(want, leads(t, two, lead.Filter{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if records, err := two.Load(t.Context(), thread("s1"), ""); err != nil || len(records) != 1 {
		t.Errorf("the turn itself: %d records, %v", len(records), err)
	}
	claims := claim(t, two, at, of(hook, 5))
	if len(claims) != 1 || string(claims[0].Body) != string(made[0].Body) || claims[0].Attempts != 1 ||
		!claims[0].Since.Equal(at) {
		t.Errorf("claimed %+v", claims)
	}
}

func checkConflict(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	stale := graph.Record{ID: "2", Parent: "unknown", Turn: 2, Source: graph.SourceTurn, At: at, Values: []byte(`{}`)}
	err := two.SaveWith(t.Context(), thread("s1"), stale, rows(t, "s1", "other@acme.example", at))
	if !errors.Is(err, graph.ErrConflict) || len(leads(t, one, lead.Filter{})) != 2 {
		t.Errorf("%v, rows %+v", err, leads(t, one, lead.Filter{}))
	}
}

// A turn that says the same again adds nothing, also when the row is delivered already.
func checkOnce(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	finish(t, one, claim(t, one, at, of(hook, 1))[0], lead.Result{State: lead.Delivered, At: at})
	next := graph.Record{ID: "2-s1", Parent: "1-s1", Turn: 2, Source: graph.SourceTurn, At: at, Values: []byte(`{}`)}
	if err := two.SaveWith(t.Context(), thread("s1"), next,
		rows(t, "s1", "jo@acme.example", at.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	found := leads(t, two, lead.Filter{})
	if len(found) != 2 || found[0].State != lead.Delivered || !found[0].Created.Equal(at) {
		t.Errorf("%+v", found)
	}
}

func checkClaim(t *testing.T, one, two Store) {
	at := begin()
	for i := range 4 {
		save(t, one, fmt.Sprint("s", i), at.Add(time.Duration(i)*time.Millisecond))
	}
	other := lead.Address{Receiver: lead.WebhookName, Site: "other.example"}
	if got := claim(t, one, at.Add(time.Second), of(other, 9)); len(got) != 0 {
		t.Errorf("rows of a site that is not wanted: %+v", got)
	}
	if got := claim(t, one, at.Add(-time.Second), of(hook, 9)); len(got) != 0 {
		t.Errorf("rows that are not due: %+v", got)
	}
	first := claim(t, one, at.Add(time.Second), of(hook, 3), of(other, 3))
	var sessions []string
	for _, c := range first {
		sessions = append(sessions, c.Session)
	}
	slices.Sort(sessions)
	if strings.Join(sessions, " ") != "s0 s1 s2" {
		t.Errorf("claimed %v, want the longest due", sessions)
	}
	if rest := claim(t, two, at.Add(time.Second), of(hook, 9), of(posthog, 9)); len(rest) != 5 {
		t.Errorf("%d are left, want 5", len(rest))
	}
	held := leads(t, two, lead.Filter{State: lead.Pending, Session: "s0"})
	if len(held) != 2 || held[0].Attempts != 1 || !held[0].Next.Equal(at.Add(time.Second+lead.Lease)) {
		t.Errorf("a row that is held: %+v", held)
	}
}

// Whoever lost a row writes nothing down any more.
func checkLease(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	lost := claim(t, one, at, of(hook, 1))
	if got := claim(t, two, at.Add(lead.Lease-time.Millisecond), of(hook, 1)); len(got) != 0 {
		t.Fatalf("claimed twice: %+v", got)
	}
	taken := claim(t, two, at.Add(lead.Lease), of(hook, 1))
	if len(taken) != 1 || taken[0].Attempts != 2 || taken[0].ID != lost[0].ID {
		t.Fatalf("after the lease: %+v", taken)
	}
	finish(t, one, lost[0], lead.Result{State: lead.Failed, At: at, Error: "late"})
	if row := leads(t, one, lead.Filter{})[0]; row.State != lead.Pending || row.LastError != nil {
		t.Errorf("written by whoever lost it: %+v", row)
	}
	finish(t, two, taken[0], lead.Result{State: lead.Delivered, At: at.Add(time.Minute)})
	finish(t, two, taken[0], lead.Result{State: lead.Pending, At: at, Next: at})
	row := leads(t, one, lead.Filter{})[0]
	if row.State != lead.Delivered || row.Next != nil || row.Delivered == nil ||
		!row.Delivered.Equal(at.Add(time.Minute)) {
		t.Errorf("delivered: %+v", row)
	}
	if got := claim(t, one, at.Add(time.Hour), of(hook, 1)); len(got) != 0 {
		t.Errorf("a delivered row is claimed: %+v", got)
	}
}

func checkLater(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	finish(t, one, claim(t, one, at, of(hook, 1))[0], lead.Result{
		State: lead.Pending, At: at, Next: at.Add(time.Minute), Error: "status 500",
	})
	row := leads(t, two, lead.Filter{})[0]
	if row.State != lead.Pending || row.LastError == nil || *row.LastError != "status 500" ||
		!row.Next.Equal(at.Add(time.Minute)) || row.Attempts != 1 {
		t.Errorf("%+v", row)
	}
	if got := claim(t, two, at.Add(59*time.Second), of(hook, 1)); len(got) != 0 {
		t.Errorf("claimed too early: %+v", got)
	}
	if got := claim(t, two, at.Add(time.Minute), of(hook, 1)); len(got) != 1 || got[0].Tries != 2 {
		t.Errorf("claimed %+v", got)
	}
}

// What nobody holds is due at once, and what somebody holds stays theirs.
func checkTend(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "waits", at)
	finish(t, one, claim(t, one, at, of(hook, 1))[0], lead.Result{
		State: lead.Pending, At: at, Next: at.Add(time.Hour), Error: "x",
	})
	save(t, one, "held", at)
	held := claim(t, one, at, of(hook, 1))
	now := at.Add(5 * time.Second)
	if err := two.Tend(t.Context(), now, []lead.Address{posthog}); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, two, now, of(hook, 9)); len(got) != 0 {
		t.Errorf("rows of an address that is not served are due: %+v", got)
	}
	if err := two.Tend(t.Context(), now, []lead.Address{hook}); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, two, now, of(hook, 9)); len(got) != 1 || got[0].Session != "waits" {
		t.Errorf("revived %+v, held %+v", got, held)
	}
}

func checkForgotten(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	for _, when := range []time.Duration{0, lead.GiveUp - time.Second} {
		if err := two.Tend(t.Context(), at.Add(when), nil); err != nil {
			t.Fatal(err)
		}
		if row := leads(t, one, lead.Filter{})[0]; row.State != lead.Pending {
			t.Errorf("after %s: %+v", when, row)
		}
	}
	if err := two.Tend(t.Context(), at.Add(lead.GiveUp), nil); err != nil {
		t.Fatal(err)
	}
	if row := leads(t, one, lead.Filter{})[0]; row.State != lead.Failed || row.LastError == nil ||
		*row.LastError != lead.Unclaimed {
		t.Errorf("%+v", row)
	}
}

func checkKept(t *testing.T, one, two Store) {
	at := begin()
	made, other := save(t, one, "s1", at), save(t, one, "s2", at)
	for _, c := range claim(t, one, at, of(hook, 2), of(posthog, 2)) {
		r := lead.Result{State: lead.Delivered, At: at}
		if c.Receiver == posthog.Receiver {
			r.State, r.Error = lead.Failed, "x"
		}
		finish(t, one, c, r)
	}
	for _, c := range []struct {
		after  time.Duration
		row    lead.Row // that is sent again
		resent bool
		rows   int // of the first session
	}{
		{lead.BodyRetention - time.Minute, other[0], true, 2},
		{lead.BodyRetention + time.Minute, made[0], false, 2},
		{lead.RowRetention - time.Minute, other[1], true, 2},
		{lead.RowRetention + time.Minute, made[1], false, 0},
	} {
		if err := two.Tend(t.Context(), at.Add(c.after), nil); err != nil {
			t.Fatal(err)
		}
		if got := leads(t, two, lead.Filter{Session: "s1"}); len(got) != c.rows {
			t.Errorf("after %s: %d rows, want %d", c.after, len(got), c.rows)
		}
		if resent, err := two.Resend(t.Context(), at.Add(c.after), c.row.ID); err != nil ||
			(len(resent) == 1) != c.resent {
			t.Errorf("after %s: sent again %v, %v", c.after, resent, err)
		}
	}
}

func checkResend(t *testing.T, one, two Store) {
	at := begin()
	made := save(t, one, "s1", at)
	finish(t, one, claim(t, one, at, of(hook, 1))[0], lead.Result{State: lead.Delivered, At: at})
	finish(t, one, claim(t, one, at, of(posthog, 1))[0], lead.Result{State: lead.Failed, At: at, Error: "x"})
	later := at.Add(time.Hour)
	resent, err := two.Resend(t.Context(), later, made[0].ID, "unknown")
	if err != nil || !slices.Equal(resent, []string{made[0].ID}) {
		t.Fatalf("resent %v, %v", resent, err)
	}
	row := leads(t, two, lead.Filter{})[0]
	if row.State != lead.Pending || row.Delivered != nil || !row.Next.Equal(later) {
		t.Errorf("%+v", row)
	}
	again := claim(t, one, later, of(hook, 1))
	if len(again) != 1 || again[0].Tries != 1 || !again[0].Since.Equal(later) || again[0].Attempts != 2 ||
		again[0].ID != made[0].ID {
		t.Errorf("claimed %+v", again)
	}
	if all, err := two.Resend(t.Context(), later); err != nil || len(all) != 2 {
		t.Errorf("all: %v, %v", all, err)
	}
	if got := claim(t, two, later, of(hook, 9), of(posthog, 9)); len(got) != 1 || got[0].Receiver != posthog.Receiver {
		t.Errorf("what is under way was given away: %+v", got)
	}
}

func checkErase(t *testing.T, one, two Store) {
	at := begin()
	save(t, one, "s1", at)
	save(t, one, "s2", at)
	under := claim(t, two, at, of(posthog, 9))
	if err := two.Erase(t.Context(), thread("s1"), hook.Site, "s1"); err != nil {
		t.Fatal(err)
	}
	if err := two.Erase(t.Context(), thread("none"), hook.Site, "none"); err != nil {
		t.Errorf("what there is not: %v", err)
	}
	for _, c := range under { // an attempt that was under way brings nothing back
		finish(t, two, c, lead.Result{State: lead.Pending, At: at, Next: at, Error: "x"})
	}
	if got := leads(t, one, lead.Filter{Session: "s1"}); len(got) != 0 {
		t.Errorf("rows are left: %+v", got)
	}
	if got := claim(t, one, at.Add(time.Hour), of(hook, 9), of(posthog, 9)); len(got) != 2 {
		t.Errorf("the other session has %+v", got)
	}
	if records, err := one.Load(t.Context(), thread("s1"), ""); err != nil || len(records) != 0 {
		t.Errorf("the thread is left: %v %v", records, err)
	}
}

func checkRace(t *testing.T, one, two Store) {
	const sessions = 40
	at := begin()
	for i := range sessions {
		save(t, one, fmt.Sprint("s", i), at)
	}
	var mu sync.Mutex
	held := map[string]int{}
	var group sync.WaitGroup
	for _, s := range []Store{one, two, one, two} {
		group.Go(func() {
			for range sessions {
				claims, err := s.Claim(t.Context(), at, []lead.Want{of(hook, 3), of(posthog, 1)})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, c := range claims {
					held[c.ID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for id, n := range held {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(held) != 2*sessions {
		t.Errorf("%d were claimed, want %d", len(held), 2*sessions)
	}
}

// Session ids come from outside: they may look like parts of keys and queries.
func checkNames(t *testing.T, one, two Store) {
	at := begin()
	for _, session := range []string{"a", "a b", "a:b", "{a}", "a'; DROP TABLE outbox; --", "*", "ä\x01"} {
		save(t, one, session, at)
		if got := leads(t, two, lead.Filter{Session: session}); len(got) != 2 || got[0].Session != session {
			t.Errorf("%q: %+v", session, got)
		}
	}
	if err := two.Erase(t.Context(), thread("*"), hook.Site, "*"); err != nil {
		t.Fatal(err)
	}
	if got := leads(t, one, lead.Filter{}); len(got) != 12 {
		t.Errorf("%d rows are left, want 12", len(got))
	}
}

func checkNone(t *testing.T, one, _ Store) {
	if got := claim(t, one, begin(), of(hook, 1)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := leads(t, one, lead.Filter{}); got == nil || len(got) != 0 {
		t.Errorf("%#v is not an empty list", got)
	}
	if resent, err := one.Resend(t.Context(), begin()); err != nil || len(resent) != 0 {
		t.Errorf("%v, %v", resent, err)
	}
}
