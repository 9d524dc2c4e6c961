package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestScriptProblems(t *testing.T) {
	for _, tc := range []struct{ name, yaml, want string }{
		{"empty", "", "demo.yaml: expected a mapping, got nothing (write `key: value` pairs)"},
		{
			"no rules", "name: x",
			"demo.yaml:1:1: the script has no rules (write `rules:` with a list of {when, reply}, or a default)",
		},
		{"not YAML", "rules: [", `demo.yaml:1:8: not valid YAML: did not find expected node content while parsing a flow node (check the quotes, brackets and indentation here)`},
		{"many at once", `
rule: []
rules:
  - when: {user: '(', turns: 1}
    replay: x
  - when: {user: '(?P<city>a)', turn: 0, call: x}
    reply: ${town}
  - reply: x
    json: {}
  - fault: 500
  - fault: {status: 200, times: 0}
  - fault: {}
  - reply: x
    fault: timeout
  - delay: 1s
  - tool_calls: [{args: {}}]
  - verdicts: [{criterion: '[', score: 11, reason: x}]
  - text
default: {reply: "${1}", when: {}}
`, `demo.yaml:2:1: rule: unknown key "rule" (did you mean "rules"?)
demo.yaml:4:5: rules[0]: there is no answer (add reply, tool_calls, json, verdicts or fault)
demo.yaml:4:18: rules[0].when.user: bad pattern: missing closing ): ` + "`(`" +
			` (write a Go regular expression (RE2); quote special characters with \)
demo.yaml:4:23: rules[0].when.turns: unknown key "turns" (did you mean "turn"?)
demo.yaml:5:5: rules[0].replay: unknown key "replay" (did you mean "reply"?)
demo.yaml:6:39: rules[1].when.turn: 0 is too small (use 1 or more)
demo.yaml:6:48: rules[1].when.call: expected a whole number, got "x" (write a whole number)
demo.yaml:7:12: rules[1].reply: the pattern when.user has no group "town" (known: 0, city; write $${town} for the text itself)
demo.yaml:8:5: rules[2]: more than one answer (keep one; only reply and tool_calls go together)
demo.yaml:10:12: rules[3].fault: unknown value "500" (use one of: timeout, malformed, cut_stream, refuse_connection)
demo.yaml:11:21: rules[4].fault.status: 200 is too small (use 400 or more)
demo.yaml:11:33: rules[4].fault.times: 0 is too small (use 1 or more)
demo.yaml:12:5: rules[5].fault: a fault needs either status or kind (write status: 503, or kind: timeout)
demo.yaml:13:5: rules[6]: the fault always strikes, so the answer beside it is never given (limit the fault with times, or remove the answer)
demo.yaml:15:5: rules[7]: there is no answer (add reply, tool_calls, json, verdicts or fault)
demo.yaml:16:19: rules[8].tool_calls[0]: a tool call needs a name (add ` + "`name:`" + `, the name of a tool)
demo.yaml:17:28: rules[9].verdicts[0].criterion: bad pattern: missing closing ]: ` + "`[`" +
			` (write a Go regular expression (RE2); quote special characters with \)
demo.yaml:17:40: rules[9].verdicts[0].score: 11 is out of range (use a number from 0 to 10)
demo.yaml:17:44: rules[9].verdicts[0].reason: unknown key "reason" (known: canary, criterion, output, score)
demo.yaml:18:5: rules[10]: expected a mapping, got text (write ` + "`key: value`" + ` pairs)
demo.yaml:19:18: default.reply: the pattern when.user has no group "1" (known: 0; write $${1} for the text itself)
demo.yaml:19:26: default.when: unknown key "when" (known: delay, fault, json, reply, tool_calls, verdicts)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := LoadScript("demo.yaml", []byte(tc.yaml))
			if err == nil {
				t.Fatalf("loaded %+v", s)
			}
			if _, ok := errors.AsType[source.Problems](err); !ok {
				t.Errorf("the error is a %T", err)
			}
			diff(t, "problems", strings.Split(tc.want, "\n"), strings.Split(err.Error(), "\n"))
		})
	}
}

func TestScriptBounds(t *testing.T) {
	many := "rules:\n" + strings.Repeat("- {reply: x}\n", maxRules)
	if _, err := LoadScript("demo.yaml", []byte(many)); err != nil {
		t.Error(err)
	}
	for name, data := range map[string]string{
		"the script has more than 10000 rules": many + "- {reply: x}\n",
		"the script is larger than 4 MB":       "# " + strings.Repeat("x", maxScriptBytes),
	} {
		if _, err := LoadScript("demo.yaml", []byte(data)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

// What loads must also play and give a reply that can be written, and what doesn't must say where.
func FuzzLoadScript(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte(verdicts))
	f.Add([]byte(loop))
	f.Add([]byte("default: {fault: {status: 429, retry_after: 1s, times: 1}, delay: 1h, reply: x}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := LoadScript("fuzz.yaml", data)
		if err != nil {
			var problems source.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, cancel) // scripts may wait
		got, err := s.Generate(ctx, say("weather in Bern"))
		if err != nil && ctx.Err() == nil {
			wantError(t, err)
		}
		if _, err := encodeJSON(got); err != nil {
			t.Errorf("the reply is not JSON: %v", err)
		}
	})
}
