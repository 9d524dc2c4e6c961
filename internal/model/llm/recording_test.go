package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// playBytes plays what was recorded without a mask.
func playBytes(file string, data []byte) (*Recording, error) {
	return Play(file, bytes.NewReader(data), int64(len(data)), nil)
}

func TestCassette(t *testing.T) {
	var tape bytes.Buffer
	recorder := NewRecorder(&tape, nil)
	count := 0
	replies := modelFunc(func(_ context.Context, r Request) (chat.Reply, error) {
		count++
		return chat.Reply{
			Text:    fmt.Sprintf("<%s> %d", r.Messages[0].Content.Text, count),
			Latency: time.Second, Attempts: 2, Cost: chat.Cost{USD: 0.25},
			ToolCalls: []chat.ToolCall{{ID: "a", Name: "f", Args: json.RawMessage(`{"x": [1, 2]}`)}, {Name: "g"}},
			Usage:     chat.Usage{InputTokens: 3, OutputTokens: 4},
		}, nil
	})
	failure := &Error{
		Fault: RateLimited, Model: "openai:judge", At: "http://here", Status: 429, Message: "slow down", Hint: "wait",
		RetryAfter: time.Minute, Attempts: 3, Err: errors.New("cause"),
	}
	fails := modelFunc(func(context.Context, Request) (chat.Reply, error) { return chat.Reply{}, failure })
	gone := modelFunc(func(context.Context, Request) (chat.Reply, error) { return chat.Reply{}, context.Canceled })

	agent, judge := recorder.Record("openai:agent", replies), recorder.Record("openai:judge", fails)
	var want []chat.Reply
	for _, text := range []string{"a", "b", "a"} {
		reply, err := agent.Generate(t.Context(), say(text))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, reply)
	}
	if _, err := judge.Generate(t.Context(), say("a")); !errors.Is(err, failure) {
		t.Errorf("recording changed the error: %v", err)
	}
	if _, err := recorder.Record("openai:agent", gone).Generate(t.Context(), say("c")); !errors.Is(err,
		context.Canceled) {
		t.Errorf("recording changed the error: %v", err)
	}
	diff(t, "lines with the head", 5, strings.Count(tape.String(), "\n"))

	c, err := playBytes("tape.jsonl", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "models", []string{"openai:agent", "openai:judge"}, c.Models())
	var got []chat.Reply
	for _, text := range []string{"a", "a", "b"} {
		reply, err := c.As("openai:agent").Generate(t.Context(), say(text))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply)
	}
	diff(t, "replies", []chat.Reply{want[0], want[2], want[1]}, got)
	_, err = c.As("openai:judge").Generate(t.Context(), say("a"))
	failure.Err = nil
	diff(t, "error", failure, wantError(t, err))

	for _, tc := range []struct {
		model Model
		text  string
		want  string
	}{
		{c.As("openai:agent"), "new", `openai:agent at tape.jsonl: the cassette does not hold this request, with the user message "new" (record it again: --record tape.jsonl)`},
		{c.As("openai:agent"), "a", `openai:agent at tape.jsonl: the cassette holds this request 2 times, and all were played, with the user message "a" (record it again: --record tape.jsonl)`},
		{c.As("openai:other"), "a", `openai:other at tape.jsonl: the cassette does not hold this request, with the user message "a" (it was recorded with openai:agent, openai:judge; record it again: --record tape.jsonl)`},
		{c, "a", `cassette:tape.jsonl: holds 2 models (say which: cassette:tape.jsonl#NAME; known: openai:agent, openai:judge)`},
	} {
		_, err := tc.model.Generate(t.Context(), say(tc.text))
		diff(t, "error", tc.want, err.Error())
		diff(t, "fault", Unrecorded, wantError(t, err).Fault)
	}
}

func TestCassetteOfOneModel(t *testing.T) {
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("openai:agent", script(t, "default: {reply: x}"))
	if _, err := m.Generate(t.Context(), say("a")); err != nil {
		t.Fatal(err)
	}
	c, err := playBytes("tape.jsonl", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Generate(t.Context(), say("a")); err != nil || got.Text != "x" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

// What two models were asked is told apart, also when it is the same.
func TestRequestKey(t *testing.T) {
	keys := map[string]string{}
	for name, r := range map[string]Request{
		"plain": say("a"), "text": say("b"), "role": {Messages: []chat.Message{chat.NewMessage(chat.System, "a")}},
		"temperature": {Messages: say("a").Messages, Temperature: new(0.0)},
		"tools":       {Messages: say("a").Messages, Tools: []Tool{{Name: "x"}}},
	} {
		for _, model := range []string{"m", "n"} {
			key, err := requestKey(model, r)
			if err != nil {
				t.Fatal(err)
			}
			if other, known := keys[string(key[:])]; known {
				t.Errorf("%s and %s have the same key", other, name+model)
			}
			keys[string(key[:])] = name + model
		}
	}
}

func TestRecordingConcurrently(t *testing.T) {
	var tape bytes.Buffer // not safe by itself
	m := NewRecorder(&tape, nil).Record("m", script(t, "default: {reply: $0}"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { _, _ = m.Generate(t.Context(), say(fmt.Sprint(i%10))) })
	}
	wg.Wait()
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		wg.Go(func() {
			if got, err := c.Generate(t.Context(), say(fmt.Sprint(i%10))); err != nil || got.Text != fmt.Sprint(i%10) {
				t.Errorf("got %q, %v", got.Text, err)
			}
		})
	}
	wg.Wait()
}

func TestCutCassette(t *testing.T) {
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("m", script(t, "default: {reply: $0}"))
	for _, text := range []string{"a", "b"} {
		if _, err := m.Generate(t.Context(), say(text)); err != nil {
			t.Fatal(err)
		}
	}
	whole := tape.Bytes()
	c, err := playBytes("tape", whole[:len(whole)-5]) // the program died while it wrote b
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Generate(t.Context(), say("a")); err != nil {
		t.Error(err)
	}
	if _, err := c.Generate(t.Context(), say("b")); err == nil {
		t.Error("half an exchange was played")
	}
	for name, data := range map[string]string{
		"tape:2:1: not a recorded exchange: invalid character 'o' in literal null (expecting 'u') (record the cassette again)": "\nno\n",
		"tape:1:1: not a recorded exchange: it needs a key and either a reply or an error (record the cassette again)":         "{}\n",
	} {
		_, err := playBytes("tape", []byte(data))
		diff(t, "error", name, fmt.Sprint(err))
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRecordingFails(t *testing.T) {
	_, err := NewRecorder(full{}, nil).Record("m", script(t, "default: {reply: x}")).Generate(t.Context(), say("a"))
	diff(t, "error",
		"m: the exchange could not be recorded: no space left on device (check the disk and the path of the cassette)",
		err.Error())
}
