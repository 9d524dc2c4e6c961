package lead_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// body is what the webhook is told, as encoding/json would write it.
type body struct {
	Event     string            `json:"event"`
	ID        string            `json:"id"`
	Context   string            `json:"capture_context"`
	Site      string            `json:"site"`
	Session   string            `json:"session"`
	Email     string            `json:"email"`
	Values    map[string]string `json:"values"`
	Words     map[string]string `json:"said"`
	Collected map[string]string `json:"collected"`
	Changed   []string          `json:"changed"`
	Profile   enrich.Profile    `json:"profile"`
	At        time.Time         `json:"captured_at"`
}

// idOf is how ids are made: rows of earlier programs have such ids, and what they have told must not be told again.
func idOf(t *testing.T, receiver, event string, v *lead.Visitor) string {
	t.Helper()
	content := []any{receiver, v.Site, v.Session, event, v.Email}
	if event != lead.EmailCaptured {
		content = append(content, v.Values)
	}
	if v.Corrections > 0 {
		content = append(content, v.Corrections)
	}
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Rows are written as encoding/json would write them, whatever visitors say.
func TestRowsAreJSON(t *testing.T) {
	texts := []string{
		"", "Ada", `"`, `\`, "<b>&amp;</b>", "line\nline\t\x00", "\x7f", "é", "日本語", "\u2028", "\xff", "a\xc3", "😀 👇",
		"~ !", "\ufffd",
	}
	for i, text := range texts {
		other := texts[(i+1)%len(texts)]
		for n, values := range []map[string]string{
			nil, {}, {"email": text}, {text: other, other + "b": text, "a": "", "é": "x"},
		} {
			v := lead.Visitor{
				Site: text, Session: "s" + other, Email: other, Values: values,
				Words: map[string]string{"said": text}, Collected: values, Corrections: n,
				Profile: enrich.Profile{CompanyName: text, FeatureList: []string{other}},
				At:      time.Unix(int64(n), int64(i*1000)).UTC(),
			}
			events := []lead.Event{
				{Name: lead.EmailCaptured, Context: lead.ContentGating, Changed: []string{text, "b"}},
				{Name: lead.BookingUpdated, Context: text},
			}
			rows, err := v.Rows(events, lead.WebhookName, lead.PostHogName)
			if err != nil || len(rows) != 4 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for j, r := range rows {
				e := events[j/2]
				if want := idOf(t, r.Receiver, e.Name, &v); r.ID != want {
					t.Errorf("%q, %d, %s for %s: the id is %s, want %s", text, n, e.Name, r.Receiver, r.ID, want)
				}
				if j%2 == 0 {
					checkBody(t, r, e, &v)
				}
			}
		}
	}
}

func checkBody(t *testing.T, r lead.Row, e lead.Event, v *lead.Visitor) {
	t.Helper()
	there := func(m map[string]string) map[string]string {
		if m == nil {
			m = map[string]string{}
		}
		return m
	}
	want, err := json.Marshal(body{
		e.Name, r.ID, e.Context, v.Site, v.Session, v.Email, there(v.Values), there(v.Words), there(v.Collected),
		append([]string{}, e.Changed...), v.Profile, v.At,
	})
	if err != nil || string(r.Body) != string(want) {
		t.Errorf("the body is\n%s\nwant\n%s", r.Body, want)
	}
}

// Ids stay what they were from one program to the next.
func TestIDsOfEarlierPrograms(t *testing.T) {
	v := lead.Visitor{Site: "acme.example", Session: "s1", Email: "jo@acme.example", Values: map[string]string{
		"email": "jo@acme.example", "day": "any",
	}, Corrections: 1}
	rows, err := v.Rows([]lead.Event{{Name: lead.EmailCaptured}, {Name: lead.BookingCompleted}}, lead.WebhookName)
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[0].ID + " " + rows[1].ID; got !=
		"9ca849dc4e696cea242e1254d69df665 c2a68032e792e530bf1c4472a43e9aca" {
		t.Errorf("the ids are %s", got)
	}
}
