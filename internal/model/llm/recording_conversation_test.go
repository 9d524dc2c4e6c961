package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// counting answers each request with the number of requests so far.
func counting() Model {
	n := 0
	return modelFunc(func(context.Context, Request) (chat.Reply, error) {
		n++
		return chat.Reply{Text: fmt.Sprint(n)}, nil
	})
}

// askIn asks a model in a conversation and returns the text, or the error's.
func askIn(t *testing.T, m Model, l Conversation, text string) string {
	t.Helper()
	reply, err := m.Generate(InConversation(t.Context(), l), say(text))
	if err != nil {
		return err.Error()
	}
	return reply.Text
}

// Equal requests of different conversations have different answers; those of one conversation have them in order.
func TestConversations(t *testing.T) {
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("m", counting())
	all := []Conversation{
		{"s", "a", "x", 0},
		{"s", "a", "y", 0},
		{"s", "b", "x", 0},
		{"r", "a", "x", 0},
		{"s", "a", "x", 1},
		{"s", "a", "x", 2},
		{},
	}
	for range 2 {
		for _, l := range all {
			askIn(t, m, l, "hello")
		}
	}
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range slices.Backward(all) {
		diff(t, "first", fmt.Sprint(i+1), askIn(t, c, a, "hello"))
		diff(t, "second", fmt.Sprint(i+1+len(all)), askIn(t, c, a, "hello"))
	}
	for l, want := range map[Conversation]string{
		{"s", "a", "x", 0}: `m at tape: the cassette holds this request 2 times, and all were played, with the user message "hello" (record it again: --record tape)`,
		{"s", "a", "x", 3}: `m at tape: the cassette does not hold this request, with the user message "hello" (it holds nothing of this conversation; record it again: --record tape)`,
		{"q", "a", "x", 0}: `m at tape: the cassette does not hold this request, with the user message "hello" (it was recorded with other suites than "q"; record it again: --record tape)`,
	} {
		diff(t, "error", want, askIn(t, c, l, "hello"))
	}
	// As a provider it may stand in any place: a conversation that it knows has its own answers, whatever its target is
	// called.
	anywhere, err := playAnywhere("tape", tape.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "its own", "3", askIn(t, anywhere, Conversation{"s", "b", "cassette:tape", 0}, "hello"))
	diff(t, "its own again", "10", askIn(t, anywhere, Conversation{"s", "b", "cassette:tape", 0}, "hello"))
	diff(t, "in their order", "1", askIn(t, anywhere, Conversation{"q", "z", "x", 0}, "hello"))
	diff(t, "in their order", "2", askIn(t, anywhere, Conversation{}, "hello"))
}

// A recording that goes on has another part. Of a conversation that was held anew, only the later part counts; others
// stay.
func TestCassetteParts(t *testing.T) {
	var tape bytes.Buffer
	model := counting()
	done, cut := Conversation{Test: "done"}, Conversation{Test: "cut"}
	m := NewRecorder(&tape, nil).Record("m", model)
	askIn(t, m, done, "hello")
	askIn(t, m, cut, "hello")
	askIn(t, m, cut, "and then")
	m = NewRecorder(&tape, nil).Record("m", model)
	askIn(t, m, cut, "hello")
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "kept", "1", askIn(t, c, done, "hello"))
	diff(t, "held anew", "4", askIn(t, c, cut, "hello"))
	if got := askIn(t, c, cut, "and then"); !strings.Contains(got, "does not hold this request") {
		t.Errorf("played %q from a conversation that was held anew", got)
	}
}

// Secrets are masked before a request is keyed and written, whatever they are at the time of the playback.
func TestCassetteMask(t *testing.T) {
	mask := func(secret string) Mask {
		return func(s string) string { return strings.ReplaceAll(s, secret, "[redacted TOKEN]") }
	}
	request := func(secret string) Request {
		r := say("token " + secret)
		r.Messages[0].ToolCalls = []chat.ToolCall{{
			ID: "1", Name: "f", Args: json.RawMessage(`{"` + secret + `": [12345678, "` + secret + `"]}`),
		}}
		r.Tools = []Tool{{Name: secret, Parameters: json.RawMessage(`{"const": "` + secret + `"}`)}}
		r.Seed = new(12345678)
		return r
	}
	var tape bytes.Buffer
	recorder := NewRecorder(&tape, mask("12345678"))
	m := recorder.Record("m", counting())
	held := Conversation{Suite: "12345678"}
	if _, err := m.Generate(InConversation(t.Context(), held), request("12345678")); err != nil {
		t.Fatal(err)
	}
	fails := &Error{Fault: Refused, Message: "no vectors for 12345678"}
	e := recorder.RecordEmbedder("e", embedFunc(func(context.Context, []string) ([][]float64, error) {
		return nil, fails
	}))
	if _, err := e.Embed(InConversation(t.Context(), held), []string{"12345678"}); !errors.Is(err, fails) {
		t.Fatal(err)
	}
	if rest := strings.ReplaceAll(strings.ReplaceAll(tape.String(), `"seed":12345678`, ""),
		`[12345678,`, ""); strings.Contains(rest, "12345678") {
		t.Errorf("the cassette has the secret: %s", rest)
	}
	c, err := Play("tape", bytes.NewReader(tape.Bytes()), int64(tape.Len()), mask("other one"))
	if err != nil {
		t.Fatal(err)
	}
	later := request("other one")
	later.Messages[0].ToolCalls[0].Args = json.RawMessage(`{"other one": [12345678, "other one"]}`)
	if got, err := c.As("m").Generate(InConversation(t.Context(), Conversation{Suite: "other one"}),
		later); err != nil || got.Text != "1" {
		t.Errorf("got %q, %v", got.Text, err)
	}
	if _, err := c.EmbedderAs("e").Embed(InConversation(t.Context(), Conversation{Suite: "other one"}),
		[]string{"other one"}); wantError(t, err).Fault != Refused {
		t.Error(err)
	}
}

// Models write arguments that are no JSON. They are recorded to the byte, in replies and in what is sent back.
func TestCassetteBrokenArguments(t *testing.T) {
	const broken = `{"a": 1,`
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("m", modelFunc(func(context.Context, Request) (chat.Reply, error) {
		return chat.Reply{ToolCalls: []chat.ToolCall{{Name: "f", Args: json.RawMessage(broken)}}}, nil
	}))
	q := say("x")
	q.Messages[0].ToolCalls = []chat.ToolCall{{Name: "f", Args: json.RawMessage(broken)}}
	want, err := m.Generate(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Generate(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "reply", want, got)
}

// A call that a time limit of its caller ended is played as one: the limit ends it again. One that was given up with
// its whole conversation is not recorded.
func TestAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tape bytes.Buffer
		m := NewRecorder(&tape, nil).Record("m", modelFunc(func(ctx context.Context, _ Request) (chat.Reply, error) {
			<-ctx.Done()
			return chat.Reply{}, ctx.Err()
		}))
		within := func(m Model, limit time.Duration) error {
			ctx, cancel := context.WithTimeout(InConversation(t.Context(), Conversation{Test: "a"}), limit)
			defer cancel()
			_, err := m.Generate(ctx, say("x"))
			return err
		}
		if err := within(m, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		whole, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(InConversation(whole, Conversation{Test: "b"}),
			say("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		diff(t, "lines", 2, strings.Count(tape.String(), "\n"))
		for _, tc := range []struct {
			limit, waits time.Duration
			ended        bool
		}{{3 * time.Second, 3 * time.Second, true}, {time.Hour, 13 * time.Second, false}} {
			c, err := playBytes("tape", tape.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			err = within(c, tc.limit)
			diff(t, "waited", tc.waits, time.Since(started))
			diff(t, "ended by the limit", tc.ended, errors.Is(err, context.DeadlineExceeded))
			if !tc.ended {
				diff(t, "error", `m at tape: the recorded call was given up after 3s without an answer (play it with the time limits of the recording, or record it again)`, err.Error())
			}
		}
	})
}

// What a cassette lacks is known to whoever waits for the agent, also when the agent gets over it. A caller that gave
// up when a recorded answer came plays it as it was recorded, whichever is faster now. Only with its whole conversation
// is a call given up.
func TestAnswerForACallerThatGaveUp(t *testing.T) {
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("m", modelFunc(func(ctx context.Context, _ Request) (chat.Reply, error) {
		return chat.Reply{Text: "known"}, ctx.Err()
	}))
	held := InConversation(t.Context(), Conversation{Test: "a"})
	gone, cancel := context.WithCancel(held)
	cancel()
	if _, err := m.Generate(held, say("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(gone, say("y")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c, err := playBytes("tape", tape.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	whole, cancelWhole := context.WithCancel(t.Context())
	cancelWhole()
	if _, err := c.Generate(InConversation(whole, Conversation{Test: "a"}),
		say("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("a conversation that was given up: %v", err)
	}
	if reply, err := c.Generate(gone, say("x")); err != nil || reply.Text != "known" {
		t.Errorf("%q, %v", reply.Text, err)
	}
	if _, err := c.Generate(gone, say("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
}

func TestNoteLack(t *testing.T) {
	c, err := playBytes("tape", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(ctx context.Context) error{
		"played": func(ctx context.Context) error { _, err := c.As("m").Generate(ctx, say("x")); return err },
		"embedded": func(ctx context.Context) error {
			_, err := c.EmbedderAs("m").Embed(ctx, []string{"x"})
			return err
		},
		"recorded": func(ctx context.Context) error {
			_, err := NewRecorder(full{}, nil).Record("m", counting()).Generate(ctx, say("x"))
			return err
		},
	} {
		ctx, lacks := NoteLack(t.Context())
		if err := lacks(); err != nil {
			t.Errorf("%s: %v before anything was asked", name, err)
		}
		want := ask(ctx)
		if err := lacks(); want == nil || !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

// A recorder writes nothing behind half a line.
func TestRecorderAfterHalfALine(t *testing.T) {
	w := &short{left: 300}
	m := NewRecorder(w, nil).Record("m", counting())
	for range 5 {
		askIn(t, m, Conversation{}, "hello")
	}
	w.left = 1 << 20 // somebody made room
	if got := askIn(t, m, Conversation{}, "hello"); !strings.Contains(got,
		"the exchange could not be recorded: no space left on device") {
		t.Errorf("got %q", got)
	}
	c, err := playBytes("tape", w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	whole, unended := c.Size()
	if rest := w.Len() - int(whole); rest == 0 || unended {
		t.Errorf("%d bytes of half a line, unended %v", rest, unended)
	}
}

// short is a disk with so much room left.
type short struct {
	bytes.Buffer
	left int
}

func (s *short) Write(p []byte) (int, error) {
	n := min(s.left, len(p))
	s.left -= n
	s.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func TestCassetteFaults(t *testing.T) {
	var b bytes.Buffer
	m := NewRecorder(&b, nil).Record("m", counting())
	askIn(t, m, Conversation{}, "x")
	askIn(t, m, Conversation{}, "y")
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	head, x, y := lines[0], lines[1], lines[2]
	for name, tc := range map[string]struct{ tape, want string }{
		"a newer format": {
			strings.Replace(head, "2", "3", 1) + `{"kind":"hologram"}` + "\n",
			"tape:1:1: the recording has the format version 3, and this program knows 2 (play it with the program " +
				"that recorded it, or record it again)",
		},
		"an older one": {
			x,
			"tape:1:1: the recording has an older format, which does not say to which conversation an exchange " +
				"belongs (record the cassette again)",
		},
		"a line twice": {
			head + x + x + y,
			"tape:3:1: exchange 1 stands behind exchange 1: lines were repeated or moved (record the cassette again)",
		},
		"lines moved": {
			head + y + "\n" + x,
			"tape:3:1: exchange 1 stands behind exchange 2: lines were repeated or moved (record the cassette again)",
		},
		"half a line in the middle": {
			head + x[:len(x)-9] + "\n" + y,
			"tape:2:1: not a recorded exchange: invalid character '\\n' in string literal (record the cassette again)",
		},
		"no key": {
			head + `{"n":1,"model":"m","reply":{"text":"x"}}` + "\n",
			"tape:2:1: not a recorded exchange: it needs a key and either a reply or an error (record the " +
				"cassette again)",
		},
		"another kind": {
			head + `{"kind":"video"}` + "\n",
			`tape:2:1: not a recorded exchange: unknown kind "video" (record the cassette again)`,
		},
		"no answer": {
			head + `{"kind":"embedding","n":1,"key":"` + strings.Repeat("0", 64) + `","texts":["a"]}` + "\n",
			"tape:2:1: not a recorded exchange: it needs a key and either a reply or an error (record the " +
				"cassette again)",
		},
	} {
		_, err := playBytes("tape", []byte(tc.tape))
		diff(t, name, tc.want, fmt.Sprint(err))
	}
	// Lines may be missing, at the end and in between: requests that need them fail. The last line needs no end.
	for tape, want := range map[string]string{
		head + y: "2", head + y + "\n" + x[:20]: "2", b.String() + b.String(): "2",
		head + "\n" + x + y[:len(y)-1]: "does not hold",
	} {
		c, err := playBytes("tape", []byte(tape))
		if err != nil {
			t.Fatal(err)
		}
		if got := askIn(t, c, Conversation{}, "y"); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", tape, got, want)
		}
	}
}

func BenchmarkPlay(b *testing.B) {
	var tape bytes.Buffer
	m := NewRecorder(&tape, nil).Record("m", modelFunc(func(context.Context, Request) (chat.Reply, error) {
		return chat.Reply{Text: strings.Repeat("word ", 200)}, nil
	}))
	for i := range 10_000 {
		if _, err := m.Generate(InConversation(b.Context(), Conversation{Test: fmt.Sprint(i / 4)}),
			say(strings.Repeat("word ", 200))); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(tape.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := playBytes("tape", tape.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
