package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// TestThreadsEnding finds the sessions of an id, whatever stands before it and whatever it looks like.
func TestThreadsEnding(t *testing.T) {
	file, err := store.Open(t.Context(), newFile(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	server, err := store.OpenRedis(t.Context(), "redis://:pass@"+withPassword(t).Addr(),
		store.RedisOptions{KeyPrefix: "a[*]:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	for name, keeper := range map[string]interface {
		graph.Checkpointer
		ThreadsEnding(ctx context.Context, end string) ([]string, error)
	}{"file": file.Checkpoints(0), "Redis": server} {
		for _, thread := range []string{
			"b.example:v-7", "a.example:v-7", "a.example:v-8", "a.example:*", "é.example:v?7", "a.example:w-7x",
		} {
			if err := keeper.Save(t.Context(), thread, graph.Record{
				ID: "1", At: time.Now(), Values: []byte(`{}`),
			}); err != nil {
				t.Fatal(err)
			}
		}
		for end, want := range map[string][]string{
			":v-7": {"a.example:v-7", "b.example:v-7"}, ":*": {"a.example:*"}, ":v?7": {"é.example:v?7"}, ":v-9": nil,
			"[v]-7": nil, `\`: nil,
		} {
			got, err := keeper.ThreadsEnding(t.Context(), end)
			if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 || err != nil {
				t.Errorf("%s, %s: error %v, threads (-want +got):\n%s", name, end, err, d)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := keeper.ThreadsEnding(ctx, "x"); err == nil {
			t.Errorf("%s: no error after the end of its context", name)
		}
	}
	if said := server.String(); !strings.HasPrefix(said, "redis://127.0.0.1:") || strings.Contains(said, "pass") {
		t.Errorf("the server is called %s", said)
	}
}

func withPassword(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.RunT(t)
	m.RequireAuth("pass")
	return m
}
