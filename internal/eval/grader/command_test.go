//go:build unix

package grader

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// script writes an executable shell script into a folder and returns the check of a command that runs it.
func script(t *testing.T, s *Set, dir, code, rest string) runner.Check {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte("#!/bin/sh\n"+code), 0o700); err != nil {
		t.Fatal(err)
	}
	check, err := s.Check(read(t, "- {type: command, command: ./check.sh"+rest+"}", dir)[0])
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	return check
}

func TestCommand(t *testing.T) {
	s := New(Config{})
	for _, tc := range []struct {
		answer string
		score  float64
		says   string
	}{
		{`{"score": 1}`, 1, ""},
		{`{"score": 0.25, "reasoning": "too 100% short"}`, 0.25, `; got: 0.25, "too 100% short"`},
		{`{"score": 0.9, "passed": false}`, 0, "passed: false with a score of 0.9"},
		{`{"score": 0.5, "passed": false}`, 0.5, "got: 0.5"},
		{`{"score": 0.5, "passed": true}`, 0.5, ""},
		{
			`{"score": 0, "assertions": [{"text": "has a price", "passed": false, "evidence": "none"}], "extra": 1}`, 0,
			"",
		},
	} {
		g := grade(t, script(t, s, t.TempDir(), "cat >/dev/null\ncat <<'E'\n"+tc.answer+"\nE\n", ""), reply("hi"))
		if g.Score != tc.score || !strings.Contains(g.Reason, tc.says) {
			t.Errorf("%s: score %v, want %v, reason %q, want %q in it", tc.answer, g.Score, tc.score, g.Reason, tc.says)
		}
		if strings.Contains(tc.answer, "price") && g.Assertions[0].Text != "has a price" {
			t.Errorf("assertions %+v", g.Assertions)
		}
	}
}

func TestCommandUndecided(t *testing.T) {
	s := New(Config{})
	for code, says := range map[string]string{
		"echo it broke >&2; exit 3":       "exit status 3, and it says: it broke",
		"exit 1":                          "exit status 1",
		"echo fine":                       `"fine": not the JSON that is expected`,
		"true":                            "not the JSON that is expected",
		`echo '{"passed": true}'`:         "no score",
		`echo '{"score": 0, "score": 1}'`: `the key "score" is written twice`,
		`echo '{"score": 0, "Score": 1}'`: `the key "score" is written "Score"`,
		`echo '{"score": 1, "passed": false, "PASSED": true}'`: `the key "passed" is written "PASSED"`,
		`echo '{"score": 1.5}'`:                                "the score 1.5 is not from 0 to 1",
		`echo '{"score": "1"}'`:                                "not the JSON that is expected",
		`echo '{"score": 1}{"score": 1}'`:                      "not the JSON that is expected",
		"yes tea":                                              "larger than 1048576 bytes",
		"head -c 2000 /dev/zero | tr '\\0' x >&2; false":       strings.Repeat("x", 300),
	} {
		_, err := script(t, s, t.TempDir(), code, "").Grader.Grade(context.Background(), reply("hi"))
		if err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 500 {
			t.Errorf("%s: error %.600v, want %q in it", code, err, says)
		}
	}
	missing := one(t, s, "{type: command, command: [./nosuch, x]}")
	if _, err := missing.Grader.Grade(context.Background(), reply("hi")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: error %v", err)
	}
}

// environ is an environment without secrets.
func environ(entries ...string) func(source.Value) []string {
	return func(source.Value) []string { return entries }
}

// The program gets the exchange on stdin, the author's configuration, the suite's folder and only the environment it is
// given.
func TestCommandSurroundings(t *testing.T) {
	t.Setenv("REHEARSE_SECRET", "hush")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Environ: environ("PATH="+os.Getenv("PATH"), "SEEN=yes")})
	code := "cat >in.json\nprintf '%s' \"$SEEN/$REHEARSE_SECRET\" >env.txt\necho '{\"score\": 1}'\n"
	if err := os.WriteFile(filepath.Join(dir, "sub", "check.sh"), []byte("#!/bin/sh\n"+code), 0o700); err != nil {
		t.Fatal(err)
	}
	check := script(t, s, dir, code, ", cwd: sub, config: {strict: true, n: 2}")
	x := reply("hello")
	x.Criteria = "be nice"
	x.Input = []chat.Message{chat.NewMessage(chat.User, "hi")}
	grade(t, check, x)

	data, err := os.ReadFile(filepath.Join(dir, "sub", "in.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"input": []any{map[string]any{"role": "user", "content": "hi"}}, "output": "hello", "text": "hello",
		"expected_output": "", "criteria": "be nice", "turn": 1.0, "turn_count": 1.0,
		"tool_calls": []any{}, "state": nil, "node": "", "finish_reason": "",
		"usage":      map[string]any{"input_tokens": 0.0, "output_tokens": 0.0, "total_tokens": 0.0},
		"latency_ms": 0.0, "cost_usd": 0.0, "vars": map[string]any{}, "metadata": map[string]any{},
		"config": map[string]any{"strict": true, "n": 2.0},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("stdin mismatch (-want +got):\n%s", d)
	}
	if env, _ := os.ReadFile(filepath.Join(dir, "sub", "env.txt")); string(env) != "yes/" {
		t.Errorf("environment %q, want %q", env, "yes/")
	}
}

// When it is given up, as when its time is up, the program ends with all that it has started: the pipe that its child
// holds open reaches its end.
func TestCommandEndsWithItsGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() {
		f, err := os.Open(pipe)
		if err == nil {
			_, err = f.Read(make([]byte, 1)) // until the child runs
			cancel()
			_, end := io.ReadAll(f)
			err = errors.Join(err, end)
			_ = f.Close()
		}
		closed <- err
	}()
	check := script(t, New(Config{Environ: environ(os.Environ()...)}), dir,
		"exec 3>pipe\n(echo x >&3; sleep 1000) &\nwait\n", "")
	if _, err := check.Grader.Grade(ctx, reply("hi")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestCommandTimeout(t *testing.T) {
	_, err := script(t, New(Config{}), t.TempDir(), "sleep 1000",
		", timeout: 100ms").Grader.Grade(t.Context(), reply("hi"))
	if err == nil || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("error %v", err)
	}
}

func TestCommandStopsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := script(t, New(Config{}), t.TempDir(), "sleep 1000", "").Grader.Grade(ctx, reply("hi"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestCommandProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: command", 1, 3, `needs "command"`},
		{"type: code-grader\ncommand: ''", 2, 12, "the command is empty"},
		{"type: command\ncommand: []", 2, 3, "the command is empty"},
		{"type: command\ncommand: \"sh 'x\"", 2, 12, "a ' at column 4 is never closed"},
		{"type: command\ncommand: sh\ntimeout: soon", 3, 12, "expected a positive time span"},
	})
}
