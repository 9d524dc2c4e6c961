package process

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pieces is an output that comes piece by piece; a piece of digits is a pause of so many seconds.
func pieces(most int, output ...string) *Reader {
	return &Reader{Most: most, From: func(ctx context.Context, into []byte) (int, error) {
		for len(output) > 0 && strings.Trim(output[0], "0123456789") == "" {
			pause, err := time.ParseDuration(output[0] + "s")
			if err != nil {
				return 0, err
			}
			started := time.Now()
			select {
			case <-ctx.Done():
				if left := pause - time.Since(started); left > 0 {
					output[0] = strings.TrimSuffix(left.Round(time.Second).String(), "s")
				}
				return 0, ctx.Err()
			case <-time.After(pause):
				output = output[1:]
			}
		}
		if len(output) == 0 {
			return 0, io.EOF
		}
		n := copy(into, output[0])
		if output[0] = output[0][n:]; output[0] == "" {
			output = output[1:]
		}
		return n, nil
	}}
}

func TestReader(t *testing.T) {
	line := (*Reader).Line
	before := func(text string) func(*Reader, context.Context) ([]byte, error) {
		return func(r *Reader, ctx context.Context) ([]byte, error) { return r.Before(ctx, text) }
	}
	until := func(text string) func(*Reader, context.Context) ([]byte, error) {
		return func(r *Reader, ctx context.Context) ([]byte, error) { return r.BeforeLine(ctx, text) }
	}
	quiet := func(r *Reader, ctx context.Context) ([]byte, error) { return r.BeforeQuiet(ctx, 2*time.Second) }
	for name, tc := range map[string]struct {
		read   func(*Reader, context.Context) ([]byte, error)
		output []string
		want   []string
	}{
		"lines": {line, []string{"a\r\n\nb", "c\nd", "e"}, []string{"a", "", "bc", "de EOF", " EOF"}},
		"a prompt": {
			before("> "), []string{"Welcome\n>", " one\ntwo\n> thr", "ee\n", "> x"},
			[]string{"Welcome", "one\ntwo", "three", "x EOF"},
		},
		"a last line": {
			until("END"), []string{"one\ntwo END\nEND\r\n", "END\nthree"}, []string{"one\ntwo END", "", "three EOF"},
		},
		"an unended last": {until("END"), []string{"one\nEND"}, []string{"one"}},
		"quiet": {
			quiet, []string{"9", "one\n", "1", "two\n", "3", "three\n"}, []string{"one\ntwo", "three EOF"},
		},
		"too long": {line, []string{strings.Repeat("x", 100), "\n"}, []string{"larger than 32 bytes"}},
		"too long lines": {
			until("END"), []string{strings.Repeat("0123456789\n", 10), "END\n"}, []string{"larger than 32 bytes"},
		},
		"too long talk":   {quiet, []string{strings.Repeat("x", 30), "1", "yyy"}, []string{"larger than 32 bytes"}},
		"too long before": {before("> "), []string{strings.Repeat("x", 33) + "> "}, []string{"larger than 32 bytes"}},
		"just not":        {line, []string{strings.Repeat("x", 32) + "\n"}, []string{strings.Repeat("x", 32)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := pieces(32, tc.output...)
			for _, want := range tc.want {
				got, err := tc.read(r, t.Context())
				said := string(got)
				switch {
				case errors.Is(err, ErrTooLong):
					said = err.Error()
				case err != nil:
					said += " " + err.Error()
				}
				if said != want {
					t.Errorf("%s: %q, want %q", name, said, want)
				}
			}
		})
	}
}

// A line that is split over many reads is searched once, and a reader ends with its context.
func TestReaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := pieces(32, "a", "9", "b\n")
		if _, err := r.Line(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if line, err := r.Line(t.Context()); string(line) != "ab" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := pieces(32, "a", "9").BeforeQuiet(ctx, 2*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("quiet: %v", err)
		}
	})
}
