package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// collect streams a reply and returns it with what was given out.
func collect(ctx context.Context, m Model, r Request) (tokens []string, reply chat.Reply, err error) {
	reply, err = Stream(ctx, m, r, func(token string) { tokens = append(tokens, token) })
	return tokens, reply, err
}

// Whatever wraps a model, a streamed reply is the one that Generate returns, and its pieces are its text.
func TestStreamConformance(t *testing.T) {
	const text = "  two\twords \n and é more. "
	scripted := script(t, "rules: [{when: {user: call}, tool_calls: [{name: f}]}, {when: {user: both}, reply: so, "+
		"tool_calls: [{name: f}]}]\n"+
		`default: {reply: "  two\twords \n and é more. "}`)
	plain := modelFunc(scripted.Generate)
	var tape strings.Builder
	recorder := NewRecorder(&tape, nil)
	for name, tc := range map[string]struct {
		model  Model
		pieces int
	}{
		"scripted":         {scripted, 6},
		"scripted as":      {scripted.As("x"), 6},
		"without a stream": {plain, 1},
		"retried":          {Retry(scripted, Policy{}), 6},
		"limited":          {NewLimits().Limit(scripted, config.Model{Concurrency: 1}, ""), 6},
		"timed":            {Timeout(scripted, time.Minute, "m", ""), 6},
		"priced":           {&priced{scripted, config.Model{}}, 6},
		"recorded":         {recorder.Record("m", scripted), 6},
		"all": {Retry(NewLimits().Limit(Timeout(&priced{
			recorder.Record("n", scripted), config.Model{},
		}, time.Minute, "", ""), config.Model{}, ""), Policy{}), 6},
		"all, around one without a stream": {
			Retry(NewLimits().Limit(Timeout(plain, time.Minute, "", ""), config.Model{}, ""), Policy{}), 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for user, pieces := range map[string]int{"x": tc.pieces, "call": 0, "both": 1} {
				want, err := tc.model.Generate(t.Context(), say(user))
				if err != nil {
					t.Fatal(err)
				}
				tokens, got, err := collect(t.Context(), tc.model, say(user))
				if err != nil {
					t.Fatal(err)
				}
				diff(t, user, want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency"))
				diff(t, user+" in pieces", want.Text, strings.Join(tokens, ""))
				diff(t, user+" number of pieces", pieces, len(tokens))
				if user == "x" {
					diff(t, "text", text, got.Text)
				}
			}
		})
	}
	cassette, err := playBytes("tape", []byte(tape.String()))
	if err != nil {
		t.Fatal(err)
	}
	tokens, _, err := collect(t.Context(), cassette.As("m"), say("x"))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "a cassette plays in one piece", []string{text}, tokens)
	tokens, _, err = collect(t.Context(), Lexical{}, step(triage(), "", "my parcel", nextStep))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "lexical", []string{"Which ", "order?"}, tokens)
}

// flaky gives out a part of its text and fails, as often as it says.
type flaky struct {
	Model
	failures, calls int
	part            string
	err             error
}

func (f *flaky) Stream(_ context.Context, _ Request, token func(string)) (chat.Reply, error) {
	f.calls++
	if f.part != "" {
		token(f.part)
	}
	if f.calls <= f.failures {
		return chat.Reply{}, f.err
	}
	token("done")
	return chat.Reply{Text: f.part + "done"}, nil
}

// A call is tried again only as long as nobody has seen anything of its reply.
func TestStreamRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &Error{Fault: Unreachable, Message: brokenOff}
		early := &flaky{failures: 2, err: broken}
		tokens, got, err := collect(t.Context(), Retry(early, Policy{Retries: 2}), say("x"))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "tokens", []string{"done"}, tokens)
		diff(t, "attempts", 3, got.Attempts)

		late := &flaky{failures: 2, err: broken, part: "half "}
		tokens, _, err = collect(t.Context(), Retry(late, Policy{Retries: 2}), say("x"))
		e := wantError(t, err)
		diff(t, "tokens", []string{"half "}, tokens)
		diff(t, "calls", 1, late.calls)
		diff(t, "error", Error{Fault: Unreachable, Message: brokenOff, Attempts: 1}, *e)

		foreign := &flaky{failures: 1, err: context.Canceled, part: "half "}
		if _, _, err = collect(t.Context(), Retry(foreign, Policy{Retries: 2}), say("x")); err != context.Canceled { //nolint:errorlint // as it is
			t.Errorf("got %v", err)
		}
	})
}

// Streams that break count for the breaker as other calls do.
func TestStreamBreaker(t *testing.T) {
	m := Retry(&flaky{failures: 100, err: &Error{Fault: Unreachable}, part: "x"}, Policy{})
	for range breakAfter {
		_, _, _ = collect(t.Context(), m, say("x"))
	}
	tokens, _, err := collect(t.Context(), m, say("x"))
	if len(tokens) > 0 || !strings.Contains(err.Error(), "not asked for now") {
		t.Errorf("got %v, %v", tokens, err)
	}
}

func TestScriptedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script(t, "rules: [{when: {user: cut}, fault: cut_stream, delay: 1s}, {when: {user: hang}, fault: "+
			"timeout}]\ndefault: {reply: one two three, delay: 2s}")
		start := time.Now()
		var first time.Duration
		reply, err := s.Stream(t.Context(), say("x"), func(string) { first = time.Since(start) })
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "the delay goes before the first word", 2*time.Second, first)
		diff(t, "latency", 2*time.Second, reply.Latency)

		tokens, _, err := collect(t.Context(), s, say("cut"))
		diff(t, "cut", "This answer breaks off before its end, because ", strings.Join(tokens, ""))
		var injected *Injected
		if e := wantError(t, err); e.Fault != Unreachable || !errors.As(err, &injected) || injected.Kind != InjectCut {
			t.Errorf("got %v", err)
		}

		_, _, err = collect(t.Context(), Timeout(s, time.Second, "m", ""), say("hang"))
		diff(t, "fault", TimedOut, wantError(t, err).Fault)

		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		if _, err := s.Stream(ctx, say("x"), func(string) { calls++; cancel() }); err != context.Canceled || calls != 1 { //nolint:errorlint // as it is
			t.Errorf("got %v after %d words", err, calls)
		}
	})
}

// sse answers with events as they are written.
func writeSSE(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, body)
}
