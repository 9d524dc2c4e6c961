package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// failures is a model that fails with each error in turn and then answers; it notes when it was asked.
type failures struct {
	mu              sync.Mutex
	errs            []error
	recordedRequest []time.Duration
	start           time.Time
}

func (f *failures) Generate(context.Context, Request) (chat.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		f.start = time.Now()
	}
	f.recordedRequest = append(f.recordedRequest, time.Since(f.start))
	if len(f.errs) == 0 {
		return chat.Reply{Text: "ok"}, nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return chat.Reply{}, err
}

func repeat(err error, n int) []error {
	var list []error
	for range n {
		list = append(list, err)
	}
	return list
}

func fails(f Fault) *Error { return &Error{Fault: f, Model: "m", Message: "failed"} }

func TestRetry(t *testing.T) {
	plain := errors.New("not ours")
	for _, tc := range []struct {
		name     string
		errs     []error
		retries  int
		attempts int
		fault    Fault // "" for a reply
	}{
		{"at once", nil, 2, 1, ""},
		{"unreachable", []error{fails(Unreachable)}, 2, 2, ""},
		{"rate limited", []error{fails(RateLimited), fails(Unavailable)}, 2, 3, ""},
		{"timed out", []error{fails(TimedOut)}, 1, 2, ""},
		{"wrapped", []error{fmt.Errorf("call: %w", fails(Unavailable))}, 1, 2, ""},
		{"too often", repeat(fails(Unavailable), 9), 3, 4, Unavailable},
		{"never", repeat(fails(Unavailable), 9), 0, 1, Unavailable},
		{"unauthorized", repeat(fails(Unauthorized), 9), 3, 1, Unauthorized},
		{"refused", repeat(fails(Refused), 9), 3, 1, Refused},
		{"malformed", repeat(fails(Malformed), 9), 3, 1, Malformed},
		{"unrecorded", repeat(fails(Unrecorded), 9), 3, 1, Unrecorded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failures{errs: tc.errs}
				got, err := Retry(f, Policy{Retries: tc.retries}).Generate(t.Context(), Request{})
				diff(t, "calls", tc.attempts, len(f.recordedRequest))
				if tc.fault == "" {
					if err != nil {
						t.Fatal(err)
					}
					diff(t, "Reply.Attempts", tc.attempts, got.Attempts)
					return
				}
				e := wantError(t, err)
				diff(t, "fault", tc.fault, e.Fault)
				diff(t, "Error.Attempts", tc.attempts, e.Attempts)
			})
		})
	}
	if _, err := Retry(&failures{errs: []error{plain}}, Policy{Retries: 3}).Generate(t.Context(), Request{}); err != plain { //nolint:errorlint // as it is
		t.Errorf("got %v, want the model's own error", err)
	}
}

func TestRetryLeavesTheErrorAlone(t *testing.T) {
	shared := fails(Refused)
	_, err := Retry(&failures{errs: []error{shared}}, Policy{}).Generate(t.Context(), Request{})
	if wantError(t, err) == shared || shared.Attempts != 0 {
		t.Errorf("the model's error was changed: %+v", shared)
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: repeat(fails(Unavailable), 8)}
		if _, err := Retry(f, Policy{Retries: 8}).Generate(t.Context(), Request{}); err != nil {
			t.Fatal(err)
		}
		const longest = 10 * time.Second
		most := 200 * time.Millisecond
		for i := 1; i < len(f.recordedRequest); i++ {
			if pause := f.recordedRequest[i] - f.recordedRequest[i-1]; pause < most/2 || pause > most {
				t.Errorf("pause %d took %v, want %v to %v", i, pause, most/2, most)
			}
			most = min(2*most, longest)
		}
		diff(t, "the last bound", longest, most)
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: []error{&Error{Fault: RateLimited, RetryAfter: 30 * time.Second}}}
		if _, err := Retry(f, Policy{Retries: 1}).Generate(t.Context(), Request{}); err != nil {
			t.Fatal(err)
		}
		if f.recordedRequest[1] < 30*time.Second || f.recordedRequest[1] > 33*time.Second {
			t.Errorf("asked again after %v, want 30 to 33 seconds", f.recordedRequest[1])
		}
	})
}

func TestRetryAfterTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: []error{&Error{
			Fault: RateLimited, Model: "m", Message: "slow down", RetryAfter: 2 * time.Hour,
		}}}
		start := time.Now()
		_, err := Retry(f, Policy{Retries: 5}).Generate(t.Context(), Request{})
		diff(t, "error",
			"m: slow down, and asks to wait 2h0m0s, longer than 1m0s (try again later, or send less at a time)",
			err.Error())
		diff(t, "waited", time.Duration(0), time.Since(start))
	})
}

func TestRetryEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		f := &failures{errs: []error{&Error{Fault: RateLimited, RetryAfter: time.Minute}}}
		start := time.Now()
		_, err := Retry(f, Policy{Retries: 5}).Generate(ctx, Request{})
		if err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("got %v, want the context's own error", err)
		}
		diff(t, "waited", 5*time.Second, time.Since(start))
		_, err = Retry(f, Policy{}).Generate(ctx, Request{})
		if err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("got %v, want the context's own error", err)
		}
		diff(t, "calls", 1, len(f.recordedRequest))
	})
}

// A reply that came while the caller left was paid for.
func TestRetryKeepsALateReply(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := modelFunc(func(context.Context, Request) (chat.Reply, error) {
		cancel()
		return chat.Reply{Text: "late"}, nil
	})
	got, err := Retry(m, Policy{}).Generate(ctx, Request{})
	if err != nil || got.Text != "late" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: repeat(fails(Unreachable), 100)}
		m := Retry(f, Policy{Model: "openai:agent", At: "http://here", Retries: 1})
		call := func() error { _, err := m.Generate(t.Context(), Request{}); return err }
		for range 5 {
			diff(t, "attempts", 2, wantError(t, call()).Attempts)
		}
		start := time.Now()
		err := call()
		diff(t, "error", "openai:agent at http://here: was unreachable 5 times in a row, so it is not asked for now "+
			"(is the server running? the next try is possible in 10s)", err.Error())
		diff(t, "fault", Unreachable, wantError(t, err).Fault)
		diff(t, "waited", time.Duration(0), time.Since(start))
		diff(t, "calls", 10, len(f.recordedRequest))

		time.Sleep(breakFor) // one call may try; it fails, and the next ones don't ask
		_, _ = call(), call()
		diff(t, "calls after 10 s", 12, len(f.recordedRequest))

		time.Sleep(breakFor)
		f.errs = nil
		for range 3 {
			if err := call(); err != nil {
				t.Errorf("the target is back, but: %v", err)
			}
		}
	})
}

func TestBreakerCountsOnlyInARow(t *testing.T) {
	for name, between := range map[string]error{"a reply": nil, "a refusal": fails(Refused)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var next error
				m := Retry(modelFunc(func(context.Context, Request) (chat.Reply, error) { return chat.Reply{}, next }),
					Policy{})
				for range 20 {
					for range 4 {
						next = fails(Unreachable)
						_, err := m.Generate(t.Context(), Request{})
						if strings.Contains(err.Error(), "in a row") {
							t.Fatal(err)
						}
					}
					next = between
					_, _ = m.Generate(t.Context(), Request{})
				}
			})
		})
	}
}

// A connection that broke shows that somebody is there: conversations that it hits do not end others.
func TestBreakerIgnoresBrokenConnections(t *testing.T) {
	var next error
	m := Retry(modelFunc(func(context.Context, Request) (chat.Reply, error) { return chat.Reply{}, next }), Policy{})
	for _, cause := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		next = &Error{Fault: Unreachable, Err: fmt.Errorf("read: %w", cause)}
		for range 6 {
			if _, err := m.Generate(t.Context(), Request{}); strings.Contains(err.Error(), "in a row") {
				t.Fatal(err)
			}
		}
	}
}

// A hiccup that the retry of every call survives must not end them, however many are under way.
func TestBreakerForgivesAHiccup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: repeat(fails(Unreachable), 50)}
		m := Retry(f, Policy{Retries: 2})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := m.Generate(t.Context(), Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// A trial call that its caller gives up must not leave the breaker waiting for its outcome.
func TestBreakerTrialGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failures{errs: repeat(fails(Unreachable), 5)}
		hang := false
		m := Retry(modelFunc(func(ctx context.Context, r Request) (chat.Reply, error) {
			if hang {
				<-ctx.Done()
				return chat.Reply{}, ctx.Err()
			}
			return f.Generate(ctx, r)
		}), Policy{})
		for range 5 {
			_, _ = m.Generate(t.Context(), Request{})
		}
		time.Sleep(breakFor)
		hang = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = m.Generate(ctx, Request{})
		hang = false
		time.Sleep(breakFor)
		if _, err := m.Generate(t.Context(), Request{}); err != nil {
			t.Error(err)
		}
	})
}

func TestTimeout(t *testing.T) {
	hang := modelFunc(func(ctx context.Context, _ Request) (chat.Reply, error) {
		<-ctx.Done()
		return chat.Reply{}, ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := Retry(Timeout(hang, 3*time.Second, "openai:agent", "here"), Policy{Retries: 1})
		_, err := m.Generate(t.Context(), Request{})
		e := wantError(t, err)
		diff(t, "error",
			"openai:agent at here: no answer within 3s, after 2 attempts (raise timeout if it needs longer)",
			err.Error())
		diff(t, "fault", TimedOut, e.Fault)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error("a timeout is not context.DeadlineExceeded")
		}
		if took := time.Since(start); took < 6*time.Second || took > 7*time.Second {
			t.Errorf("took %v", took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(ctx, Request{}); err != context.DeadlineExceeded { //nolint:errorlint // as it is
			t.Errorf("got %v, want the caller's own error", err)
		}
	})
	if m := Timeout(hang, 0, "", ""); m.(modelFunc) == nil {
		t.Error("no timeout should change nothing")
	}
	diff(t, "the default", 2*time.Minute, callTimeoutOf(config.Model{}, "").after)
	diff(t, "as configured", time.Second, callTimeoutOf(config.Model{Timeout: time.Second}, "").after)
}
