//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared returns a program that conversations share. A line belongs to what stands before its colon.
func shared(t *testing.T, script string) *Shared {
	t.Helper()
	s := &Shared{Command: shell(script), Most: 1 << 10, Owner: func(line []byte) (string, error) {
		id, _, ok := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.HasPrefix(line, []byte("#")):
			return "", nil
		case !ok:
			return "", errors.New("whose is it?")
		}
		return string(id), nil
	}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func say(t *testing.T, l *Client, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := l.Send(ctx, []byte(line+"\n")); err != nil {
		return err.Error()
	}
	answer, err := l.Line(ctx)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}

// Many conversations speak with one program, whose answers come in any order, and none gets the answer of another.
func TestSharedNeverMixes(t *testing.T) {
	// Every other line is answered later than those that come behind it.
	s := shared(t, "echo '# up'; while read a; do echo nobody:x; case $a in *[02]) (sleep 0.02; echo $a) & ;; *) "+
		"echo $a;; esac; done")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			lane := s.Join(fmt.Sprint("c", i))
			defer lane.Leave()
			for turn := range 4 {
				want := fmt.Sprintf("c%d:%d", i, turn)
				if got := say(t, lane, want); got != want {
					t.Errorf("%s was answered with %s", want, got)
				}
			}
		})
	}
	all.Wait()
}

// When the program ends, those that have spoken with it fail, and the next conversation starts a new one.
func TestSharedStartsAgain(t *testing.T) {
	s := shared(t, "while read a; do case $a in *die) echo oops >&2; exit 5;; esac; echo $a $$; done")
	one, two, three := s.Join("1"), s.Join("2"), s.Join("3")
	first := say(t, one, "1:a")
	if again := say(t, one, "1:a"); again != first {
		t.Errorf("one program for all: %q and %q", first, again)
	}
	if got, want := say(t, two, "2:die"), "the program exited with status 5, and it says: oops"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := say(t, one, "1:b"); !strings.Contains(got, "exited with status 5") {
		t.Errorf("a conversation goes on with another program: %q", got)
	}
	if got := say(t, three, "3:c"); !strings.HasPrefix(got, "3:c ") ||
		strings.HasSuffix(got, strings.TrimPrefix(first, "1:a")) {
		t.Errorf("the next conversation: %q after %q", got, first)
	}
}

func TestSharedFaults(t *testing.T) {
	for script, want := range map[string]string{
		"read a; echo stray; sleep 1000":                    "whose is it?",
		"read a; cat /dev/zero":                             "larger than 1024 bytes",
		"read a; while :; do echo 1:0123456789012345; done": "1:0123456789012345",
		"exec >&-; sleep 1000":                              "the program closed its output, broke off",
		"echo why >&2; kill -9 $$":                          "the program exited by signal: killed, and it says: why",
	} {
		if got := say(t, shared(t, script).Join("1"), "1:x"); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	gone := &Shared{Command: Command{Words: []string{"./nosuch"}}}
	if got := say(t, gone.Join("1"), "1:x"); !strings.Contains(got, "cannot be started") {
		t.Error(got)
	}
}

// One conversation that floods fails alone, as does one that gets no answer; a program that does not read holds nobody
// for longer than its time.
func TestSharedFloodAndSilence(t *testing.T) {
	s := shared(t,
		"read a; i=0; while [ $i -lt 200 ]; do echo 1:0123456789; i=$((i+1)); done; read b; echo $b; exec sleep 1000")
	flooded, calm := s.Join("1"), s.Join("2")
	if err := flooded.Send(t.Context(), []byte("1:a\n")); err != nil {
		t.Fatal(err)
	}
	if got := say(t, calm, "2:b"); got != "2:b" {
		t.Errorf("the other one: %q", got)
	}
	var err error
	for err == nil {
		_, err = flooded.Line(t.Context())
	}
	if !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	silent := s.Join("3")
	for err = nil; err == nil; {
		err = silent.Send(ctx, bytes.Repeat([]byte("x"), 1<<17))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
