package retry

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errBusy  = errors.New("busy")
	errFinal = errors.New("refused")
)

// asks is an error that asks to wait.
type asks time.Duration

func (a asks) Error() string { return "wait" }

func asked(err error) time.Duration {
	a, _ := errors.AsType[asks](err)
	return time.Duration(a)
}

// operation fails with each of its errors in turn and then succeeds. It notes when it was called.
type operation struct {
	errs   []error
	start  time.Time
	called []time.Duration
}

func (o *operation) do(context.Context) (string, error) {
	o.called = append(o.called, time.Since(o.start))
	if n := len(o.called); n <= len(o.errs) {
		return "", o.errs[n-1]
	}
	return "done", nil
}

func times(err error, n int) []error {
	list := make([]error, n)
	for i := range list {
		list[i] = err
	}
	return list
}

func TestDo(t *testing.T) {
	transient := func(err error) bool { return !errors.Is(err, errFinal) }
	for _, tc := range []struct {
		name     string
		policy   Policy
		errs     []error
		attempts int
		err      error
		// waited is the time until the last attempt, at least and at most.
		least, most time.Duration
	}{
		{"success", Policy{Retries: 2}, nil, 1, nil, 0, 0},
		{"the zero policy", Policy{}, times(errBusy, 1), 1, errBusy, 0, 0},
		{"a number below Unlimited", Policy{Retries: -5}, times(errBusy, 3), 4, nil, 0, time.Minute},
		{"one retry", Policy{Retries: 2}, times(errBusy, 1), 2, nil, 100 * time.Millisecond, 200 * time.Millisecond},
		{"two retries", Policy{Retries: 2}, times(errBusy, 2), 3, nil, 300 * time.Millisecond, 600 * time.Millisecond},
		{
			"too many failures", Policy{Retries: 2}, times(errBusy, 3), 3, errBusy, 300 * time.Millisecond,
			600 * time.Millisecond,
		},
		{"a final error", Policy{Retries: 2, Transient: transient}, []error{errFinal}, 1, errFinal, 0, 0},
		{
			"a final error later", Policy{Retries: 5, Transient: transient}, []error{errBusy, errFinal}, 2, errFinal, 0,
			time.Second,
		},
		{
			"its own waits", Policy{Retries: 9, First: time.Second, Longest: 3 * time.Second}, times(errBusy, 4), 5,
			nil, 4500 * time.Millisecond, 9 * time.Second,
		},
		{
			"the longest wait", Policy{Retries: Unlimited}, times(errBusy, 26), 27, nil, 106 * time.Second,
			213 * time.Second,
		},
		{
			"a first wait beyond the longest", Policy{Retries: 1, First: time.Hour, Longest: time.Second},
			times(errBusy, 1), 2, nil, 500 * time.Millisecond, time.Second,
		},
		{
			"asked to wait", Policy{Retries: 1, After: asked}, []error{asks(30 * time.Second)}, 2, nil,
			30 * time.Second, 33 * time.Second,
		},
		{
			"asked for nothing", Policy{Retries: 1, After: asked}, times(errBusy, 1), 2, nil, 100 * time.Millisecond,
			200 * time.Millisecond,
		},
		{
			"asked to wait too long", Policy{Retries: 1, After: asked}, []error{asks(61 * time.Second)}, 1,
			asks(61 * time.Second), 0, 0,
		},
		{
			"allowed to ask for more", Policy{Retries: 1, After: asked, MaxAfter: time.Hour}, []error{asks(time.Hour)},
			2, nil, time.Hour, 66 * time.Minute,
		},
		{
			"for a time", Policy{Retries: Unlimited, For: 30 * time.Second, Longest: time.Second}, times(errBusy, 99),
			0, errBusy, 28 * time.Second, 30 * time.Second,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &operation{errs: tc.errs, start: time.Now()}
				value, attempts, err := Do(t.Context(), tc.policy, o.do)
				if !errors.Is(err, tc.err) || (err == nil) != (value == "done") {
					t.Errorf("got %q, %v, want the error %v", value, err, tc.err)
				}
				if attempts != len(o.called) || tc.attempts != 0 && attempts != tc.attempts {
					t.Errorf("%d attempts of %d calls, want %d", attempts, len(o.called), tc.attempts)
				}
				if waited := o.called[len(o.called)-1]; waited < tc.least || waited > tc.most {
					t.Errorf("waited %v, want %v to %v", waited, tc.least, tc.most)
				}
			})
		})
	}
}

// TestContextEnds ends the caller's context before, within and between attempts.
func TestContextEnds(t *testing.T) {
	hang := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", errBusy
	}
	for name, tc := range map[string]struct {
		after    time.Duration
		op       func(context.Context) (string, error)
		attempts int
	}{
		"before":            {0, hang, 0},
		"within an attempt": {time.Second, hang, 1},
		"between attempts": {
			time.Second, func(context.Context) (string, error) { return "", asks(30 * time.Second) }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.after)
				defer cancel()
				start := time.Now()
				_, attempts, err := Do(ctx, Policy{Retries: 9, After: asked, For: time.Hour}, tc.op)
				if err != context.DeadlineExceeded { //nolint:errorlint // as it is
					t.Errorf("got %v, want the context's own error", err)
				}
				if attempts != tc.attempts || time.Since(start) != tc.after {
					t.Errorf("%d attempts in %v", attempts, time.Since(start))
				}
			})
		})
	}
}

// TestLateSuccess keeps what an attempt returned while the caller left: it may have cost something.
func TestLateSuccess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	value, attempts, err := Do(ctx, Policy{}, func(context.Context) (string, error) {
		cancel()
		return "late", nil
	})
	if value != "late" || attempts != 1 || err != nil {
		t.Errorf("got %q, %d, %v", value, attempts, err)
	}
}

// TestForBoundsAnAttempt proves that an attempt which hangs ends with the time for all, and that the error then says
// what went wrong before.
func TestForBoundsAnAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		first error
		want  error
	}{
		"after a failure": {errBusy, errBusy},
		"at once":         {nil, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, failed := time.Now(), tc.first == nil
				_, _, err := Do(t.Context(), Policy{
					Retries: Unlimited, For: 30 * time.Second,
				}, func(ctx context.Context) (int, error) {
					if !failed {
						failed = true
						return 0, tc.first
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
				if !errors.Is(err, tc.want) || time.Since(start) != 30*time.Second {
					t.Errorf("got %v after %v", err, time.Since(start))
				}
			})
		})
	}
}

func TestAfter(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0.5": 500 * time.Millisecond, " 2 ": 2 * time.Second, "0": 0, "-1": 0, "": 0, "soon": 0,
		"NaN": 0, "Wed, 01 May 2024 12:01:30 GMT": 90 * time.Second, "Wed, 01 May 2024 11:00:00 GMT": 0,
		"Wed, 01 May 2124 11:00:00 GMT": maxAsked, "1e300": maxAsked, "inf": maxAsked,
	} {
		if d := cmp.Diff(want, After(http.Header{"Retry-After": {value}}, now)); d != "" {
			t.Errorf("Retry-After: %s: %s", value, d)
		}
	}
	for milliseconds, want := range map[string]time.Duration{
		"20": 20 * time.Millisecond, "0": 0, "soon": 9 * time.Second, "inf": maxAsked,
	} {
		if d := cmp.Diff(want,
			After(http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {milliseconds}}, now)); d != "" {
			t.Errorf("Retry-After-Ms: %s: %s", milliseconds, d)
		}
	}
}
