package pages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/pagestest"
)

// rich is a conversation with everything that a page shows.
func rich() *result.Test {
	x := test("s", "a/b ?", "t", "# Hi\n- one\n- **two**", "You said \"late\", we **refund** it.", "Bye", "")
	x.Turns[0].ToolCalls = []chat.ToolCall{{
		Name: "look<up>", Args: json.RawMessage(`{"id":7}`), Result: json.RawMessage(`"found"`), LatencyMS: 30,
	}}
	x.Turns[0].State = json.RawMessage(
		`{"profile":{"town":"Köln","age":3},"items":[{"name":"a"}],"facts":[{"key":"name","value":"Ada"}],"gone":1}`)
	x.Turns[1].State = json.RawMessage(`{"profile":{"town":"Bonn","age":3},"items":[{"name":"a"},{"name":"b"}],"facts":[{"key":"name","value":"Bob"}]}`)
	x.Turns[0].TraceID, x.Turns[0].Attempts, x.Turns[0].Usage, x.Turns[0].Cost = "trace-1", 2,
		chat.Usage{InputTokens: 3}, chat.Cost{USD: 0.5}
	x.Output = []chat.Message{
		chat.NewMessage(chat.System, "Be kind."), chat.NewMessage(chat.User, x.Turns[0].Input.Text),
		chat.NewMessage(chat.Assistant, x.Turns[0].Output), chat.NewMessage(chat.User, "Bye"),
	}
	x.Scores[0].Assertions = []result.Assertion{
		{
			Text: "is kind", Passed: true, Grader: "rubrics", Evidence: `It says "we **refund** it" and "never said".`,
			Score: new(0.75), Spans: [][2]int{{17, 33}},
		},
		{Text: "contains refund", Passed: true, Grader: "contains", Evidence: `found "refund"`},
	}
	x.Verdict, x.Score = result.Error, 0
	x.Scores[1].Verdict = result.Error
	x.Scores[1].Failures = []result.Failure{{
		Code: result.Timeout, Source: "orchestrator", Turn: 2, Message: "no reply in 30 s",
	}}
	x.Scores = append(x.Scores, result.Score{
		Name: "assertions", Verdict: result.Fail, Score: 0.25,
		Failures:   []result.Failure{{Code: result.QualityJudgeFail, Source: "judge", Message: "not polite"}},
		Assertions: []result.Assertion{{Text: "polite", Grader: "rubrics"}},
	})
	x.Failures = []result.Failure{
		x.Scores[1].Failures[0], x.Scores[2].Failures[0], {Code: result.SeedMismatch, Message: "seed"},
	}
	return x
}

func TestConversation(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, rich())
	page := s.get(200, "/runs/r/tests/a%2Fb%20%3F?suite=s&target=t")
	main := page.One("<main>").Attr
	for name, want := range map[string]string{
		"data-run": "r", "data-suite": "s", "data-test": "a/b ?", "data-target": "t", "data-verdict": "error",
		"data-score": "",
	} {
		if main[name] != want {
			t.Errorf("%s is %q, want %q", name, main[name], want)
		}
	}
	first, second := page.One("data-turn=1"), page.One("data-turn=2")
	if first.Attr["id"] != "turn-1" || first.Attr["data-verdict"] != "pass" || first.Attr["data-score"] != "1" ||
		second.Attr["data-verdict"] != "error" || second.Attr["data-score"] != "" {
		t.Errorf("%v %v", first.Attr, second.Attr)
	}
	var said []string
	for _, m := range page.All("data-message") {
		said = append(said, m.Attr["data-role"])
	}
	if got := strings.Join(said, " "); got != "system user assistant user" {
		t.Errorf("messages of %s", got)
	}
	user := first.One("data-role=user")
	if len(user.All("<h3>")) != 1 || len(user.All("<li>")) != 2 || user.One("<strong>").Words() != "two" {
		t.Error("Markdown is not rendered")
	}
	if !strings.Contains(second.Words(), "No reply") {
		t.Error("no word of a reply that did not come")
	}
	marks := first.All("<mark>", "data-evidence", "data-grader=rubrics")
	if len(marks) != 3 || marks[0].Words()+marks[1].Words()+marks[2].Words() != "werefundit" {
		t.Errorf("%d marks", len(marks))
	}
	grades := first.All("data-grade")
	if len(grades) != 2 || grades[0].Attr["data-grader"] != "rubrics" || grades[0].Attr["data-passed"] != "true" ||
		grades[0].Attr["data-score"] != "0.75" || grades[1].Attr["data-score"] != "" {
		t.Errorf("%d grades", len(grades))
	}
	if f := second.One("data-failure").Attr; f["data-code"] != "TIMEOUT" {
		t.Errorf("%v", f)
	}
	call := first.One("data-tool-call=look<up>")
	if w := call.Words(); !strings.Contains(w, `{ "id": 7 }`) || !strings.Contains(w, "found") ||
		!strings.Contains(w, "30 ms") {
		t.Errorf("a tool call: %s", w)
	}
	delta := func(turn *pagestest.Node, name string) string {
		var rows []string
		for _, row := range turn.One("data-delta=" + name).All("data-path") {
			rows = append(rows, row.Attr["data-path"]+" "+row.Attr["data-change"])
		}
		return strings.Join(rows, ", ")
	}
	if got := delta(second, "state"); got !=
		"facts[0].value changed, gone removed, items[1].name added, profile.town changed" {
		t.Errorf("state: %s", got)
	}
	if got := delta(second, "facts"); got != "name changed" || delta(first, "facts") != "name added" {
		t.Errorf("facts: %s", got)
	}
	if w := second.One("data-path=profile.town").Words(); w != "profile.town changed Köln Bonn" {
		t.Error(w)
	}
	for _, want := range []string{"latency 12 ms", "tokens 3", "cost $0.50", "attempts 2", "trace trace-1"} {
		if !strings.Contains(first.Words(), want) {
			t.Errorf("no %s", want)
		}
	}
	whole := page.One("id=assertions")
	if whole.Name != "section" || whole.Attr["data-verdict"] != "fail" ||
		whole.One("data-failure").Attr["data-code"] != "QUALITY_JUDGE_FAIL" ||
		whole.One("data-grade").Attr["data-passed"] != "false" {
		t.Errorf("%v", whole.Attr)
	}
	if n := len(page.All("data-code=SEED_MISMATCH")); n != 1 {
		t.Errorf("a failure of no turn stands there %d times", n)
	}
	raw := s.get(200, page.One("data-key=r").Attr["href"])
	if got := raw.One("data-turn=1").One("data-role=user").One("class=prose").Words(); got != "# Hi - one - **two**" ||
		len(raw.One("data-role=user").All("<li>")) != 0 {
		t.Errorf("raw: %q", got)
	}
	if len(raw.One("data-turn=1").All("<mark>")) != 1 {
		t.Error("no evidence in the raw text")
	}
}

// Trials: the first that failed, those that are asked for side by side, none that was not held.
func TestTrialsOfConversation(t *testing.T) {
	s := newSite(t)
	var all []*result.Test
	for n := 1; n <= 5; n++ {
		x := test("s", "often", "t", "Hi", "yes", "And", "no")
		if n == 3 || n == 5 {
			failed(x, result.AssistantContent, "no")
		}
		x.Trial = n
		all = append(all, x)
	}
	sum := test("s", "often", "t")
	sum.Trials = &result.Trials{Count: 5, Passed: 3, Class: "flaky"}
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, append(all, sum)...)
	page := s.get(200, "/runs/r/tests/often")
	if a := page.One("<main>").Attr; a["data-trial"] != "3" || a["data-verdict"] != "fail" ||
		a["data-class"] != "flaky" || len(page.All("data-trial=3", "<section>")) != 1 {
		t.Errorf("%v", a)
	}
	side := s.get(200, page.One("data-key=t").Attr["href"])
	if got := len(side.All("<section>", "data-trial")); got != 4 {
		t.Errorf("%d trials side by side", got)
	}
	side = s.get(200, "/runs/r/tests/often?trial=2&trial=5&trial=1&trial=4&trial=3")
	if got := len(side.All("<section>", "data-trial")); got != 4 ||
		side.One("<section>", "data-trial").Attr["data-trial"] != "2" || side.One("<main>").Attr["data-trial"] != "" {
		t.Errorf("%d trials side by side", got)
	}
	if side.One("data-trial=5", "<section>").One("data-turn=2").Attr["data-verdict"] != "fail" {
		t.Error("a trial has the turns of another")
	}
	s.get(404, "/runs/r/tests/often?trial=6")
	s.get(404, "/runs/r/tests/often?trial=x")
	s.get(404, "/runs/r/tests/never")
	s.get(404, "/runs/r/tests/often?suite=other")
}

// Moving stays within the list that the conversation was opened from.
func TestMoving(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t", "u"}, ExitCode: new(1), ExitReason: result.ReasonFailed},
		test("s", "a", "t", "Hi", "yes"), failed(test("s", "b", "t", "Hi", "no"), result.AssistantContent, "x"),
		test("s", "c", "t", "Hi", "yes"), failed(test("s", "d", "t", "Hi", "no"), result.AssistantContent, "x"),
		test("s", "c", "u", "Hi", "yes"))
	moves := func(path string) string {
		var all []string
		for _, a := range s.get(200, path).All("data-nav") {
			main := s.get(200, a.Attr["href"]).One("<main>").Attr
			all = append(all, a.Attr["data-nav"]+"="+main["data-test"]+"/"+main["data-target"])
		}
		return strings.Join(all, " ")
	}
	for path, want := range map[string]string{
		"/runs/r/tests/c?target=t":                        "prev=b/t next=c/u prev-failing=b/t next-failing=d/t",
		"/runs/r/tests/a":                                 "next=b/t next-failing=b/t",
		"/runs/r/tests/b?from=verdict%3Dfail":             "next=d/t next-failing=d/t",
		"/runs/r/tests/d?from=sort%3D-score%26target%3Dt": "prev=b/t prev-failing=b/t",
		"/runs/r/tests/a?from=verdict%3Dfail":             "",
		"/runs/r/tests/a?from=%25%25":                     "next=b/t next-failing=b/t",
	} {
		if got := moves(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	page := s.get(200, "/runs/r/tests/b?from=verdict%3Dfail")
	if up := page.One("data-up").Attr["href"]; up != "/runs/r?verdict=fail" {
		t.Errorf("up leads to %s", up)
	}
	if others := s.get(200, "/runs/r/tests/c").One("aria-label=The same test elsewhere").All("<a>"); len(others) != 1 ||
		others[0].Attr["href"] != "/runs/r/tests/c?suite=s&target=u" {
		t.Errorf("%d others", len(others))
	}
}

// A long message has its beginning, and the rest below.
func TestLongMessage(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{
		ID: "r", Targets: []string{"t"},
	}, test("s", "a", "t", "Hi", strings.Repeat("ä", 20_000)+"END"+strings.Repeat("x", 300_000)))
	reply := s.get(200, "/runs/r/tests/a").One("data-role=assistant")
	if got := len([]rune(reply.One("class=prose").Words())); got != 20_000 {
		t.Errorf("%d characters are shown", got)
	}
	if w := reply.One("<details>").Words(); !strings.Contains(w, "200,000 more characters") ||
		!strings.Contains(w, "END") || !strings.Contains(reply.Words(), "100,003 more characters not shown here") {
		t.Error("the rest is not told of")
	}
}
