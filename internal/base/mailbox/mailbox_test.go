package mailbox

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestBox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(5)
		go func() {
			time.Sleep(time.Second)
			b.Put([]byte("ab"))
			b.Put([]byte("c"))
			time.Sleep(time.Second)
			b.Put([]byte("def"))
			b.Fail(io.EOF)
			b.Fail(io.ErrUnexpectedEOF)
		}()
		for _, want := range []string{"ab", "c", "def"} {
			if got, err := b.Next(t.Context()); string(got) != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		for range 2 {
			if _, err := b.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("the end: %v", err)
			}
		}
	})
}

func TestBounds(t *testing.T) {
	b := New(5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.Put([]byte("abc"))
	b.Put([]byte("def"))
	if got, err := b.Next(ctx); string(got) != "abc" || err != nil {
		t.Errorf("what came before: %q, %v", got, err)
	}
	if _, err := b.Next(t.Context()); !errors.Is(err, ErrTooLong) || err.Error() != "larger than 5 bytes" {
		t.Error(err)
	}
}

// Nothing is taken from behind a gap, and messages are bounded in their number, too.
func TestBoxAfterGap(t *testing.T) {
	b := New(5)
	if !b.Put([]byte("abcde")) || b.Put([]byte("f")) {
		t.Error("the bound is not that of the box")
	}
	if got, err := b.Next(t.Context()); string(got) != "abcde" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if b.Put([]byte("g")) {
		t.Error("what came behind the gap fits")
	}
	if got, err := b.Next(t.Context()); !errors.Is(err, ErrTooLong) {
		t.Errorf("%q, %v", got, err)
	}
	b = New(5)
	for range Most {
		b.Put(nil)
	}
	if b.Put(nil) || b.Len() != Most {
		t.Errorf("%d empty messages wait", b.Len())
	}
}
