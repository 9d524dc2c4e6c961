package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

func putVerdict(t *testing.T, b Backend, key string, verdict []byte) {
	t.Helper()
	if err := b.PutVerdict(context.Background(), key, verdict); err != nil {
		t.Errorf("PutVerdict(%q): %v", key, err)
	}
}

func wantVerdict(t *testing.T, b Backend, key string, want []byte) {
	t.Helper()
	got, ok, err := b.Verdict(context.Background(), key)
	if err != nil || !ok || !bytes.Equal(got, want) {
		t.Errorf("Verdict(%q) = %q, %t, %v; want %q", key, got, ok, err, want)
	}
}

func verdictAtOnce(t *testing.T, open Open) {
	b := opened(t, open)
	if v, ok, err := b.Verdict(context.Background(), "k"); v != nil || ok || err != nil {
		t.Errorf("Verdict of nothing = %q, %t, %v", v, ok, err)
	}
	putVerdict(t, b, "k", []byte(`{"score":1}`))
	wantVerdict(t, b, "k", []byte(`{"score":1}`))
}

func verdictKept(t *testing.T, open Open) {
	place := t.TempDir()
	b := open(t, place)
	const n = 2_500
	for i := range n {
		putVerdict(t, b, fmt.Sprint("k", i), fmt.Append(nil, "v", i))
	}
	closed(t, b)
	b = open(t, place)
	defer closed(t, b)
	for i := range n {
		wantVerdict(t, b, fmt.Sprint("k", i), fmt.Append(nil, "v", i))
	}
}

func verdictReplaced(t *testing.T, open Open) {
	place := t.TempDir()
	b := open(t, place)
	putVerdict(t, b, "k", []byte("old"))
	putVerdict(t, b, "k", []byte("newer"))
	wantVerdict(t, b, "k", []byte("newer"))
	closed(t, b)
	b = open(t, place)
	putVerdict(t, b, "k", []byte("newest"))
	wantVerdict(t, b, "k", []byte("newest"))
	closed(t, b)
	b = open(t, place)
	defer closed(t, b)
	wantVerdict(t, b, "k", []byte("newest"))
}

func verdictCopied(t *testing.T, open Open) {
	b := opened(t, open)
	mine := []byte("mine")
	putVerdict(t, b, "k", mine)
	copy(mine, "THEY")
	got, _, _ := b.Verdict(context.Background(), "k")
	copy(got, "MORE")
	wantVerdict(t, b, "k", []byte("mine"))
}

func verdictBytes(t *testing.T, open Open) {
	place := t.TempDir()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	odd := map[string][]byte{"": []byte("empty key"), "empty": {}, "bytes": all, "ключ 'x'": bytes.Repeat(all, 4096)}
	b := open(t, place)
	putVerdict(t, b, "nil", nil)
	for key, verdict := range odd {
		putVerdict(t, b, key, verdict)
	}
	closed(t, b)
	b = open(t, place)
	defer closed(t, b)
	wantVerdict(t, b, "nil", nil)
	for key, verdict := range odd {
		wantVerdict(t, b, key, verdict)
	}
}

func manyAtOnce(t *testing.T, open Open) {
	b := opened(t, open)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				key := fmt.Sprintf("%d-%d", g, i)
				putVerdict(t, b, key, []byte(key))
				wantVerdict(t, b, key, []byte(key))
				wantVerdict(t, b, fmt.Sprintf("%d-%d", g, i/2), fmt.Appendf(nil, "%d-%d", g, i/2))
			}
		})
		wg.Go(func() {
			for i := range 10 {
				run := sampleRun(fmt.Sprintf("run-%d-%d", g, i), 1+i)
				if err := b.PutRun(context.Background(), run, "/x"); err != nil {
					t.Errorf("PutRun: %v", err)
				}
				wantRun(t, b, run.ID, run.ID)
			}
		})
	}
	wg.Wait()
	if runs, err := b.Runs(context.Background(), 0); err != nil || len(runs) != 80 {
		t.Errorf("Runs found %d, %v; want 80", len(runs), err)
	}
}

func twoHandles(t *testing.T, open Open) {
	place := t.TempDir()
	one, two := open(t, place), open(t, place)
	defer closed(t, two)
	put(t, one, sampleRun("r", 1), "/r")
	wantRun(t, two, "r", "r")
	putVerdict(t, one, "from one", []byte("1"))
	putVerdict(t, two, "from two", []byte("2"))
	closed(t, one)
	wantVerdict(t, two, "from one", []byte("1"))
	wantVerdict(t, two, "from two", []byte("2"))
}

func cancelled(t *testing.T, open Open) {
	b := opened(t, open)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.PutRun(ctx, sampleRun("r", 1), "/r"); !errors.Is(err, context.Canceled) {
		t.Errorf("PutRun with a cancelled context: %v", err)
	}
	if _, err := b.Run(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a cancelled context: %v", err)
	}
	if _, _, err := b.Verdict(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("Verdict with a cancelled context: %v", err)
	}
}

func closedStore(t *testing.T, open Open) {
	b := open(t, t.TempDir())
	closed(t, b)
	closed(t, b)
	if err := b.PutVerdict(context.Background(), "k", nil); err == nil {
		t.Error("PutVerdict after Close gave no error")
	}
	if err := b.PutRun(context.Background(), sampleRun("r", 1), "/r"); err == nil {
		t.Error("PutRun after Close gave no error")
	}
	if _, _, err := b.Verdict(context.Background(), "k"); err == nil {
		t.Error("Verdict after Close gave no error")
	}
}
