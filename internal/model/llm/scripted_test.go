package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

func script(t testing.TB, yaml string) *Scripted {
	t.Helper()
	s, err := LoadScript("demo.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const shop = `
name: shop
rules:
  - when: {user: 'weather in (?P<city>\w+)', tools: get_weather}
    tool_calls:
      - {name: get_weather, args: {city: "${city}", "unit of $1": [1, 0x10, 2.50, true, null, "$$5"]}}
      - name: log
  - when: {user: 'weather in (?P<city>\w+) (\w+)', tools: [a, b]}
    reply: both
    tool_calls: [{name: a, args: "not json"}]
  - when: {user: '^weather in (\w+)'}
    reply: "$1, ${1}! $0. It is $5 off, $20 or $$1; {$} $"
  - when: {user: '(a)?(b)'}
    reply: "<$1|$2>"
  - when: {system: 'You are (a )?pirate', turn: 2}
    reply: Arr again
  - when: {system: 'You are (a )?pirate'}
    reply: Arr
  - when: {call: 7}
    reply: seventh
  - when: {user: '^json (.*)$'}
    json: {z: "$1", a: {list: ["$1", x], n: -0.5, big: 12345678901234567890}}
  - when: {model: '^judge$'}
    reply: I judge
  - when: {user: ^empty$}
    reply: ""
default:
  reply: I don't know about <$0>.
`

func TestScriptedAnswers(t *testing.T) {
	tools := func(names ...string) (list []Tool) {
		for _, n := range names {
			list = append(list, Tool{Name: n})
		}
		return list
	}
	system := func(texts ...string) (list []chat.Message) {
		for i, text := range texts {
			list = append(list,
				chat.NewMessage([]chat.Role{chat.System, chat.User, chat.Assistant, chat.User}[i], text))
		}
		return list
	}
	s := script(t, shop)
	for _, tc := range []struct {
		name    string
		as      string
		request Request
		text    string
		calls   []chat.ToolCall
		words   int
	}{
		{
			name:    "tool calls",
			request: Request{Messages: say("weather in Bern").Messages, Tools: tools("x", "get_weather")},
			calls: []chat.ToolCall{
				{
					ID: "call_1_1", Name: "get_weather",
					Args: json.RawMessage(`{"city":"Bern","unit of $1":[1,16,2.50,true,null,"$5"]}`),
				},
				{ID: "call_1_2", Name: "log", Args: json.RawMessage(`{}`)},
			}, words: 1 + 3 + 1 + 1,
		},
		{
			name:    "text and a call",
			request: Request{Messages: say("weather in Bern now").Messages, Tools: tools("b", "a")}, text: "both",
			calls: []chat.ToolCall{{ID: "call_1_1", Name: "a", Args: json.RawMessage(`"not json"`)}}, words: 1 + 1 + 2,
		},
		{
			name: "captures", request: say("weather in Bern"),
			text: "Bern, Bern! weather in Bern. It is $5 off, $20 or $1; {$} $", words: 14,
		},
		{name: "a group that took no part", request: say("b"), text: "<|b>", words: 1},
		{name: "system", request: Request{Messages: system("You are pirate", "x")}, text: "Arr", words: 1},
		{
			name: "turn", request: Request{Messages: system("You are a pirate", "x", "y", "z")}, text: "Arr again",
			words: 2,
		},
		{name: "call", request: say("x"), text: "seventh", words: 1},
		{name: "default", request: say("x y"), text: "I don't know about <x y>.", words: 6},
		{
			name: "JSON", request: say(`json "quoted"`),
			text: `{"z":"\"quoted\"","a":{"list":["\"quoted\"","x"],"n":-0.5,"big":12345678901234567890}}`, words: 1,
		},
		{name: "another model", as: "judge", request: say("x"), text: "I judge", words: 2},
		{name: "empty", request: say("empty")},
		{
			name: "no user message", request: Request{Messages: system("You are polite")},
			text: "I don't know about <>.", words: 5,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := Model(s)
			if tc.as != "" {
				m = s.As(tc.as)
			}
			got, err := m.Generate(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			input := 0
			for _, m := range tc.request.Messages {
				input += len(strings.Fields(m.Content.Text))
			}
			want := chat.Reply{
				Text: tc.text, ToolCalls: tc.calls, Usage: chat.Usage{InputTokens: input, OutputTokens: tc.words},
				Attempts: 1,
			}
			want.FinishReason = ended(want)
			diff(t, "reply", want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency"), cmpopts.EquateEmpty())
		})
	}
}

func TestScriptedWithoutMatch(t *testing.T) {
	s := script(t, "rules: [{when: {user: hello}, reply: hi}]")
	_, err := s.Generate(t.Context(), say("good bye"))
	diff(t, "error", `scripted:demo at demo.yaml: no rule matches the user message "good bye" (add a rule or a default to demo.yaml)`, err.Error())
	diff(t, "fault", Refused, wantError(t, err).Fault)
}

// Each name counts its own calls, so that an agent and its judge may share a script.
func TestScriptedCounts(t *testing.T) {
	s := script(t, "rules: [{when: {call: 2}, reply: second}]\ndefault: {reply: other}")
	for name, want := range map[string][]string{"agent": {"other", "second", "other"}, "judge": {"other", "second"}} {
		for _, text := range want {
			got, err := s.As(name).Generate(t.Context(), say("x"))
			if err != nil || got.Text != text {
				t.Errorf("%s: got %q, %v, want %q", name, got.Text, err, text)
			}
		}
	}
}

func TestScriptedDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, "default: {reply: x, delay: 2s}")
		start := time.Now()
		got, err := s.Generate(t.Context(), say("x"))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "took", 2*time.Second, time.Since(start))
		diff(t, "latency", 2*time.Second, got.Latency)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Generate(ctx, say("x")); err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("got %v", err)
		}
	})
}

func TestScriptedFaults(t *testing.T) {
	for _, tc := range []struct {
		fault string
		want  Error
		cause Injected
	}{
		{
			"{status: 429, retry_after: 1s, body: slow down}",
			Error{
				Fault: RateLimited, Status: 429, RetryAfter: time.Second,
				Message: "asks for fewer requests (429): slow down",
			},
			Injected{InjectStatus, "slow down"},
		},
		{
			"{status: 401}",
			Error{Fault: Unauthorized, Status: 401, Message: "refused the key (401): Unauthorized"},
			Injected{InjectStatus, "Unauthorized"},
		},
		{
			`{status: 599, body: '{"error":{"message":"odd"}}'}`,
			Error{Fault: Unavailable, Status: 599, Message: "is not available (599): odd"},
			Injected{InjectStatus, `{"error":{"message":"odd"}}`},
		},
		{
			"malformed", Error{Fault: Malformed, Message: "the answer is not JSON: <html>this is not JSON</html>"},
			Injected{InjectMalformed, "<html>this is not JSON</html>"},
		},
		{
			"{kind: malformed, body: oops}", Error{Fault: Malformed, Message: "the answer is not JSON: oops"},
			Injected{InjectMalformed, "oops"},
		},
		{"cut-stream", Error{Fault: Unreachable, Message: brokenOff}, Injected{Kind: InjectCut}},
		{
			"refuse_connection", Error{Fault: Unreachable, Message: "the connection was refused"},
			Injected{Kind: InjectRefusal},
		},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			_, err := script(t, "default: {fault: "+tc.fault+"}").Generate(t.Context(), say("x"))
			e := wantError(t, err)
			tc.want.Model, tc.want.At, tc.want.Attempts = "scripted:demo", "demo.yaml", 1
			diff(t, "error", tc.want, *e, cmpopts.IgnoreFields(Error{}, "Err"))
			var injected *Injected
			if !errors.As(err, &injected) {
				t.Fatalf("the cause of %v is not Injected", err)
			}
			diff(t, "cause", tc.cause, *injected)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := script(t, "default: {fault: timeout}").Generate(ctx, say("x")); err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("got %v", err)
		}
	})
}

// A limited fault strikes each distinct request as often as it says, in whatever order many callers retry.
func TestScriptedFaultTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, `
rules:
  - fault: {status: 503, times: 2}
  - when: {user: a}
    reply: A
    fault: {kind: cut_stream, times: 1}
default: {reply: other}`)
		m := Retry(s, Policy{Retries: 5})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				text, want, attempts := fmt.Sprint("a", i), "A", 4
				if i%2 == 0 {
					text, want, attempts = fmt.Sprint("b", i), "other", 3
				}
				got, err := m.Generate(t.Context(), say(text))
				if err != nil || got.Text != want || got.Attempts != attempts {
					t.Errorf("%s: got %q after %d attempts, %v", text, got.Text, got.Attempts, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestScriptedExhaustedDefault(t *testing.T) {
	s := script(t, "default: {fault: {status: 500, times: 1}}")
	_, err := s.Generate(t.Context(), say("x"))
	diff(t, "first", 500, wantError(t, err).Status)
	_, err = s.Generate(t.Context(), say("x"))
	if !strings.Contains(err.Error(), "no rule matches") {
		t.Errorf("second: %v", err)
	}
}

const verdicts = `
rules:
  - verdicts:
      - {criterion: '(?i)greets', output: '(?i)hello|hi'}
      - {criterion: polite, output: please, score: 7}
      - {criterion: always}
`

// TestScriptedControls checks that a script answers canaries and negations truthfully, unless an entry is for canaries.
func TestScriptedControls(t *testing.T) {
	const asked = `{"output":"a bird","rubrics":[{"id":"x","outcome":"The reply contains the word \"bird\"."},` +
		`{"id":"y","outcome":"The reply contains the word \"xkcd\"."},{"id":"z","outcome":"Sings"},{"id":"n","outcome":"This is not the case: Sings"}]}`
	for entries, want := range map[string][]bool{
		`[{criterion: "", output: ""}]`:                  {true, false, true, false},
		`[{criterion: Sings, output: fish}]`:             {true, false, false, true},
		`[]`:                                             {true, false, false, true},
		`[{canary: true}, {output: fish}]`:               {true, true, false, true},
		`[{canary: true, output: fish}, {output: bird}]`: {false, false, true, false},
	} {
		reply, err := script(t, "default: {verdicts: "+entries+"}").Generate(t.Context(), say(asked))
		if err != nil {
			t.Fatal(err)
		}
		var answered struct{ Checks []struct{ Satisfied bool } }
		if err := json.Unmarshal([]byte(reply.Text), &answered); err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, c := range answered.Checks {
			got = append(got, c.Satisfied)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", entries, got, want)
		}
	}
}

func TestScriptedVerdicts(t *testing.T) {
	for _, tc := range []struct{ name, ask, want string }{
		{
			"a checklist",
			`{"input":[],"output":"Hello there","criteria":"x","rubrics":[
				{"id":"criterion-1","outcome":"Greets the user"},{"id":"b","outcome":"is polite"},{"id":"c","outcome":"unknown"},
				{"id":"d","outcome":"always","score_ranges":[{"Low":0}]},{"id":"e","outcome":"polite","score_ranges":[1]}]}`,
			`{"checks":[
				{"id":"criterion-1","satisfied":true,"reasoning":"the output has what the script looks for"},
				{"id":"b","satisfied":false,"reasoning":"the output does not match please"},
				{"id":"c","satisfied":false,"reasoning":"the script has no verdict on this criterion"},
				{"id":"d","score":10,"reasoning":"the output has what the script looks for"},
				{"id":"e","score":0,"reasoning":"the output does not match please"}],
			  "overall_reasoning":"decided by a script"}`,
		},
		{"no rubrics", `{"output":"x","rubrics":[]}`, `{"checks":[],"overall_reasoning":"decided by a script"}`},
		{
			"named criteria", `{"assistant_message":"yes please","expected_criteria":{"is polite":true,"greets":true},"context_excerpt":""}`,
			`{"scores":{"is polite":0.7,"greets":0},"fail_reasons":["greets: the output does not match (?i)hello|hi"]}`,
		},
		{
			"one score by criteria", `{"task":"Score it.","criteria":"greets","input":[],"output":"hi"}`,
			`{"score":1,"reasoning":"the output has what the script looks for"}`,
		},
		{
			"one score by task", `{"task":"Is this polite? Yes, please."}`,
			`{"score":0.7,"reasoning":"the output has what the script looks for"}`,
		},
		{
			"one score, unknown", `{"task":"?","output":"hi"}`,
			`{"score":0,"reasoning":"the script has no verdict on this criterion"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := script(t, verdicts)
			request := say(tc.ask)
			got, err := s.Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "reply", decoded(t, []byte(tc.want)), decoded(t, []byte(got.Text)))
			request.Messages = append(request.Messages, got.Message(),
				chat.NewMessage(chat.User, "That cannot be used. Answer again."))
			again, err := s.Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "repaired reply", got.Text, again.Text)
		})
	}
	_, err := script(t, verdicts).Generate(t.Context(), say("hello"))
	diff(t, "error", "scripted:demo at demo.yaml: the rule at demo.yaml:3 cannot answer: "+
		"no user message is the JSON object of a judge's request "+
		"(`verdicts` answer a judge's request; narrow `when`)", err.Error())
}
