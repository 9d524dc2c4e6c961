//go:build linux

package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// commandParts are parts whose programs have only a PATH.
func commandParts(t *testing.T) Parts {
	t.Helper()
	p := wireParts(t)
	p.Environ = func(source.Value) []string { return []string{"PATH=" + os.Getenv("PATH")} }
	return p
}

// jsonAgent answers each line of JSON with what it was, quoted, and its process.
const jsonAgent = `while read -r line; do m=${line#*\"message\":\"}; m=${m%%\"*}; printf "%s\n" "{\"reply\": \"you said $m\", \"pid\": $$}"; done`

func TestCommandTargets(t *testing.T) {
	for yaml, want := range map[string]string{
		`command: [sh, -c, '` + jsonAgent + `']`: "you said one|you said two\nlines|",
		`command: [sh, -c, 'echo log; while read -r l; do echo "warn {"; echo "{\"a\": {\"text\": $(( n += 1 ))}}"; done']
answer: $.a.text`: "1|2|",
		`command: [sh, -c, 'while read -r l; do printf "%s\n" "{\"t\": \"Hel\"}" "{\"t\": \"lo\"}" "{\"done\": true}"; done']
stream: {format: jsonl, text: $.t, end: {if: {$.done: true}}}`: "Hello|Hello|",
		`command: [sh, -c, 'read -r a; printf "%s" "{\"reply\": \"unended\"}"']`: "unended|exited with status 0",
		`command: [sh, -c, 'while read -r l; do echo "<$l>"; done']
mode: text`: "<one>|<two lines>|",
		`command: [sh, -c, 'while read -r l; do echo a; echo "$l"; echo END; done']
mode: text
until: END`: "a\none|a\ntwo lines|",
		`command: [sh, -c, 'echo Welcome; printf "> "; while read -r l; do echo "> $l" | tr ">" "-"; printf "> "; done']
mode: text
prompt: "> "`: "- one|- two lines|",
		`command: [sh, -c, 'while read -r l; do echo "a $l"; sleep 0.05; echo b; done']
mode: text
quiet: 700ms`: "a one\nb|a two lines\nb|",
		`command: [sh, -c, 'printf "%s\n\n" "$0 $WHO $1"', "{{message}}", "{{with.x}}"]
process: turn
with: {x: 7}
env: {WHO: "{{vars.who}} {{turn}} {{conversation_id}}"}`: "one Ann 1 c 7|two\nlines Ann 2 c 7|",
		`command: cat
process: turn`: "one|two\nlines|",
		`command: [sh, -c, 'cat; echo']
process: turn
body: {q: "{{message}}", n: "{{turn}}"}
answer: $.q`: "one|two\nlines|",
		`command: [sh, -c, 'while read -r line; do id=${line##*conversation_id\":\"}; echo "{\"conversation_id\": \"${id%%\"*}\", \"reply\": \"hi\"}"; done']
process: shared
body: {q: "{{message}}"}`: "hi|hi|",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			replies, err := held(t, opened(t, commandParts(t), yaml), "c", "one", "two\nlines")
			got := ""
			for _, r := range replies {
				got += r.Text + "|"
			}
			if err != nil {
				got += err.Error()[max(0, strings.Index(err.Error(), "exited")):]
			}
			if got != want {
				t.Errorf("%s\n%q, want %q", yaml, got, want)
			}
		})
	}
}

// One row is one thing that breaks. It fails with its words and the program, and leaves nothing behind.
func TestCommandBreaks(t *testing.T) {
	for yaml, says := range map[string]string{
		`command: [sh, -c, 'exec sleep 1000']`: "no answer within 300ms",
		`command: [sh, -c, 'read -r a; echo why >&2; exit 3']`: "exited with status 3, " +
			"and it says: why",
		`command: [sh, -c, 'read -r a; kill -9 $$']`:                  "exited by signal: killed",
		`command: ./nosuch`:                                           "cannot be started",
		`command: [sh, -c, 'read -r a; cat /dev/zero']`:               "larger than 64 KB",
		`command: [sh, -c, 'read -r a; yes noise']`:                   "no answer within 300ms",
		`command: [sh, -c, 'read -r a; while :; do echo "{}"; done']`: "no reply at",
		`command: [sh, -c, 'read -r a; echo "{reply"; sleep 1000']`:   "not JSON: {reply",
		`command: [sh, -c, 'read -r a; echo "{\"x\": 1}"; sleep 1000']`: "no reply at any of reply, " +
			"response",
		`command: [sh, -c, 'read -r a; printf "{\"reply\": \"\\377\"}\n"; sleep 1000']`: "UTF-8",
		`command: [sh, -c, 'read -r a; exec >&-; sleep 1000']`:                          "closed its output, broke off",
		`command: [sh, -c, 'read -r a; printf "{\"reply\":"; exit 0']`:                  "exited with status 0",
		// it breaks in its own way, and ends
		`command: [sh, -c, 'while :; do sleep 1000 & done; wait']`:                                                     "",
		"command: [sh, -c, 'read -r a; echo']\nmode: text":                                                             "empty answer",
		"command: [sh, -c, 'read -r a; echo part; exit 1']\nmode: text\nuntil: END":                                    "exited with status 1",
		"command: [sh, -c, 'read -r a; echo part; exec sleep 1000']\nmode: text\nprompt: X":                            "no answer within 300ms",
		"command: [sh, -c, 'echo bad >&2; exit 4']\nprocess: turn":                                                     "exited with status 4, and it says: bad",
		"command: 'true'\nprocess: turn":                                                                               "empty answer",
		"command: echo plain\nprocess: turn\nanswer: $.x":                                                              "not JSON: plain",
		"command: sleep 1000\nprocess: turn":                                                                           "no answer within 300ms",
		"command: [sh, -c, 'read -r a; echo \"{}\"; sleep 1000']\nprocess: shared":                                     "has no conversation_id",
		"command: [sh, -c, 'read -r a; echo oops >&2; exit 6']\nprocess: shared":                                       "exited with status 6, and it says: oops",
		"command: ['{{with.x}}']\nwith: {x: ./none}\nprocess: shared":                                                  "cannot be started",
		"command: [sh, -c, 'read -r a; echo \"{\\\"error\\\": \\\"broke\\\"}\"']\nanswer: {text: $.x, error: $.error}": "the agent reports an error: broke",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			timeout := "20s"
			if strings.HasPrefix(says, "no answer") || says == "" {
				timeout = "300ms"
			}
			_, err := held(t, opened(t, commandParts(t),
				"max_bytes: 65536\nretries: 0\nretry_after_max: 1s\nidempotent: true\ntimeout: "+timeout+"\n"+yaml),
				"c", "a")
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s\n%v, want %q", yaml, err, says)
			}
			if timedOut := errors.Is(err, context.DeadlineExceeded); timedOut != strings.HasPrefix(says, "no answer") &&
				says != "" {
				t.Errorf("%s: a time-out: %v, %v", yaml, timedOut, err)
			}
		})
	}
}

// A program that writes on after its answer is not taken at its word for another message.
func TestCommandSpeaksOn(t *testing.T) {
	for yaml, says := range map[string]string{
		`command: [sh, -c, 'while read -r a; do printf "{\"reply\": \"1\"}\nlogging\n{\"reply\": \"2\"}\n"; done']`:         "it spoke on after its answer",
		"command: [sh, -c, 'while read -r a; do printf \"one\\ntwo\\n\"; done']\nmode: text":                                "it spoke on after its answer: two",
		`command: [sh, -c, 'while read -r a; do printf "{\"reply\": \"1\"}\nlogging\n"; done']`:                             "",
		"command: [sh, -c, 'printf \"> \"; while read -r a; do printf \"one\\ntwo\\n> \"; done']\nmode: text\nprompt: '> '": "",
	} {
		_, err := held(t, opened(t, commandParts(t), yaml), "c", "a", "b")
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s\n%v, want %q", yaml, err, says)
		}
	}
}

func TestCommandNeverMixes(t *testing.T) {
	right := func(message string, r chat.Reply) (string, bool) {
		return string(r.State), r.Text == "you said "+message
	}
	t.Run("each its own", func(t *testing.T) {
		x := opened(t, commandParts(t), `{kind: command, command: [sh, -c, '`+jsonAgent+
			`'], answer: {text: $.reply, state: $.pid}}`)
		neverMixes(t, x, right)
	})
	t.Run("one for all", func(t *testing.T) {
		agent := filepath.Join(t.TempDir(), "agent.py")
		code := `
import json, random, sys
waiting = []
def answer(a): print(json.dumps({"conversation_id": a["conversation_id"], "reply": "you said " + a["message"]}), flush=True)
for line in sys.stdin:
    waiting.append(json.loads(line))
    random.shuffle(waiting)
    if len(waiting) > 3 or random.random() < 0.7:
        while waiting: answer(waiting.pop())
`
		// An agent that keeps some waiting answers them all when nothing comes for a while.
		code = strings.Replace(code, "import json", "import json, select", 1)
		code = strings.Replace(code, "for line in sys.stdin:\n", "while True:\n    if not select.select([sys.stdin], "+
			"[], [], 0.05)[0]:\n        while waiting: answer(waiting.pop())\n        continue\n"+
			"    line = sys.stdin.buffer.raw.readline()\n    if not line: break\n", 1)
		if err := os.WriteFile(agent, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		neverMixes(t, opened(t, commandParts(t), `{kind: command, command: [python3, "`+agent+`"], process: shared}`),
			right)
	})
}

// A conversation that is given up in the middle of a turn leaves no process behind.
func TestCommandInterrupted(t *testing.T) {
	for _, process := range []string{"conversation", "turn", "shared"} {
		dir := t.TempDir()
		p := commandParts(t)
		var closing []func() error
		p.Closing = func(closeIt func() error) { closing = append(closing, closeIt) }
		x := opened(t, p, `{kind: command, cwd: "`+dir+
			`", command: [sh, -c, '(sleep 1000 & echo $! > pids; echo $$ >> pids; wait)'], process: `+process+`}`)
		ctx, cancel := context.WithCancel(t.Context())
		s, err := x.Open(ctx, runner.Opening{Test: &suite.Test{ID: "t"}, ConversationID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for len(pids(dir)) < 2 {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
		}()
		if _, err := s.Send(ctx, chat.Content{Text: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", process, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, closeIt := range closing {
			if err := closeIt(); err != nil {
				t.Error(err)
			}
		}
		for _, pid := range pids(dir) {
			ended := false
			for range 500 {
				stat, err := os.ReadFile("/proc/" + pid + "/stat")
				if ended = err != nil || strings.Contains(string(stat), ") Z "); ended {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if !ended {
				t.Errorf("%s: the process %s goes on", process, pid)
			}
		}
	}
}

func pids(dir string) []string {
	data, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

func TestCommandFaults(t *testing.T) {
	_, _, err := load(t, Kinds(), `targets:
  a: {kind: command}
  b: {kind: command, command: "sh 'x", process: many, mode: xml, env: {"A=B": 1}}
  c: {kind: command, command: "sh {{message}}", until: END, prompt: ">", body: "{{nothing}}"}
  d: {kind: command, command: "sh {{conversation_id}}", process: shared, mode: text}
  e: {kind: command, command: sh, process: turn, mode: text, quiet: 1s, stream: sse}
  f: {kind: command, command: sh, mode: text, answer: $.x, body: x}
  g: {kind: command, command: sh, session: {path: $.id}}
  h: "cmd:sh 'x"
  i: {kind: command, command: sh, until: END}
`)
	for _, want := range []string{
		"a command target needs a program", "a ' at column 4 is never closed", `"many"`, `"xml"`,
		`"A=B" is no name of a variable`, "{{message}} has no value when the program is started",
		"until and prompt both say", "unknown placeholder {{ nothing }}", "{{conversation_id}} has no value",
		"plain text does not say which conversation", "all of the output is the reply", "targets.f.answer",
		"targets.f.body", "the session id is sent back nowhere", ":9:", "add `mode: text`",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if c, ok := Kinds().Short("cmd:sh 'x"); !ok || !source.IsInvalid(errOf(Open(c, Parts{}))) {
		t.Errorf("a bad short form: %+v %v", c, ok)
	}
	c, ok := Kinds().Short(`cmd:sh -c "a b"`)
	if o, _ := c.Options.(CommandConfig); !ok || fmt.Sprintf("%q", o.Words) != `["sh" "-c" "a b"]` || o.Dir != "." {
		t.Errorf("%+v %v", c, ok)
	}
}

func errOf(_ runner.Target, err error) error { return err }
