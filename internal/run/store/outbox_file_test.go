package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	outbox "github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// oneRow is a row for a webhook.
func oneRow(t *testing.T, session, email string, at time.Time) []outbox.Row {
	t.Helper()
	v := outbox.Visitor{Site: "a.example", Session: session, Email: email, At: at}
	rows, err := v.Rows([]outbox.Event{{Name: outbox.EmailCaptured}}, outbox.WebhookName)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// saveRows saves a turn of a session with rows.
func saveRows(t *testing.T, c *store.Checkpoints, session string, turn int, rows []outbox.Row) {
	t.Helper()
	r := turnRecord(turn)
	if err := c.SaveWith(t.Context(), "a.example:"+session, r, rows); err != nil {
		t.Fatal(err)
	}
}

// leadsOf are the rows as a list has them: each with its number of attempts and its state.
func leadsOf(t *testing.T, c *store.Checkpoints) (all []string) {
	t.Helper()
	rows, err := c.Leads(t.Context(), outbox.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s %d %s %s", r.Session, r.Attempts, r.State, r.Created.Format("05.000")))
	}
	return all
}

// Rows that nobody has looked at yet are there once as well: with rows of the same turns, of earlier ones that are
// filed, and after the last rows are gone, whose numbers come back.
func TestRowsAreFiledOnce(t *testing.T) {
	c := newCheckpoints(t, time.Hour)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	many := make([]outbox.Row, 0, 20)
	for i := range 20 { // more than one statement adds
		many = append(many, oneRow(t, "s0", fmt.Sprint("jo", i, "@x.com"), at)...)
	}
	saveRows(t, c, "s0", 1, append(many, many...))
	if got := leadsOf(t, c); len(got) != 20 {
		t.Fatalf("%d rows, want 20", len(got))
	}
	if err := c.Erase(t.Context(), "a.example:s0", "a.example", "s0"); err != nil {
		t.Fatal(err)
	}
	saveRows(t, c, "s1", 1, oneRow(t, "s1", "jo@x.com", at))
	saveRows(t, c, "s1", 2, oneRow(t, "s1", "jo@x.com", at.Add(time.Second)))
	saveRows(t, c, "s2", 1, oneRow(t, "s2", "jo@x.com", at))
	want := []outbox.Want{{Address: outbox.Address{Receiver: outbox.WebhookName, Site: "a.example"}, Most: 9}}
	claims, err := c.Claim(t.Context(), at.Add(time.Minute), want)
	if err != nil || len(claims) != 2 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	saveRows(t, c, "s1", 3, oneRow(t, "s1", "jo@x.com", at.Add(2*time.Second)))
	saveRows(t, c, "s3", 1, oneRow(t, "s3", "jo@x.com", at.Add(3*time.Second)))
	if d := cmp.Diff([]string{"s1 1 pending 00.000", "s2 1 pending 00.000", "s3 0 pending 03.000"},
		leadsOf(t, c)); d != "" {
		t.Error(d)
	}
	if err := c.Erase(t.Context(), "a.example:s3", "a.example", "s3"); err != nil {
		t.Fatal(err)
	}
	saveRows(t, c, "s4", 1, oneRow(t, "s4", "jo@x.com", at.Add(4*time.Second)))
	if claims, err = c.Claim(t.Context(), at.Add(time.Minute), want); err != nil || len(claims) != 1 ||
		claims[0].Session != "s4" {
		t.Errorf("claimed %+v, %v", claims, err)
	}
}

// An erased session leaves no row, also where nobody has looked at its rows yet.
func TestEraseTakesRowsThatAreNotFiled(t *testing.T) {
	c := newCheckpoints(t, time.Hour)
	saveRows(t, c, "s1", 1, oneRow(t, "s1", "jo@x.com", time.Now()))
	if err := c.Erase(t.Context(), "a.example:s1", "a.example", "s1"); err != nil {
		t.Fatal(err)
	}
	if got := leadsOf(t, c); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

// Looking for rows must not read the table, which holds those of 30 days.
func TestOutboxIsFoundByIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	defer s.Close()
	for name, query := range store.OutboxQueries {
		plan := planOf(t, rawDB(t, path), query, []any{1, 2, 3, 4, 5, 6, 7, 8})
		if want := "USING INDEX outbox_"; !strings.Contains(plan, want) {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// oldOutbox is a file of the program before rows were filed, with rows in every state.
func oldOutbox(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	if err := store.MigrateTo(t.Context(), path, 22); err != nil {
		t.Fatal(err)
	}
	db := rawDB(t, path)
	for i, state := range []string{"pending", "pending", "delivered", "failed"} {
		id := oneRow(t, fmt.Sprint("s", i), "jo@x.com", time.UnixMicro(1000))[0].ID
		_, err := db.ExecContext(t.Context(), `INSERT INTO outbox (number, id, site, session, event, receiver, state, attempts, tries, created_at, since, due, token,
			ended, error, body) VALUES (?, ?, 'a.example', ?, 'email_captured', 'lead_webhook', ?, ?, 1, 1000, 2000, 3000, ?, 0, 'e', 'body')`,
			10*i+10, id, fmt.Sprint("s", i), state, i, []string{"", "held"}[i%2])
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Rows of an earlier program stay what they are, in their order, and what they have told is not told again. Two
// processes may meet on such a file.
func TestOldOutbox(t *testing.T) {
	path := oldOutbox(t)
	for range 2 { // the migration is carried out by both
		data, err := os.ReadFile(filepath.Join("migrations", "sqlite", "00023_outbox_filed.sql"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rawDB(t, path).ExecContext(t.Context(), string(data)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	defer s.Close()
	c := s.Checkpoints(0)
	for i := range 4 {
		saveRows(t, c, fmt.Sprint("s", i), 1, oneRow(t, fmt.Sprint("s", i), "jo@x.com", time.Now()))
	}
	if d := cmp.Diff([]string{
		"s0 0 pending 00.001", "s1 1 pending 00.001", "s2 2 delivered 00.001", "s3 3 failed 00.001",
	}, leadsOf(t, c)); d != "" {
		t.Error(d)
	}
	rows := rowsOf(t, rawDB(t, path))
	if d := cmp.Diff([]string{
		"10 1 1 2000 3000  0 e body", "20 1 1 2000 3000 held 0 e body", "30 1 1 2000 3000  0 e body",
		"40 1 1 2000 3000 held 0 e body",
	}, rows); d != "" {
		t.Error(d)
	}
}

// rowsOf reads what lists of rows do not have.
func rowsOf(t *testing.T, db *sql.DB) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()),
		`SELECT number || ' ' || filed || ' ' || tries || ' ' || since || ' ' || due || ' ' || token || ' ' || ended ||
		' ' || error || ' ' || body FROM outbox ORDER BY number`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
