package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// A server that is killed takes turns with it, not sessions: what was saved is there when it is back, and every session
// goes on, without anything having been done on this side.
func TestRedisServerKilled(t *testing.T) {
	s := servertest.NewRedis(t)
	r := openRedis(t, s.URL(), store.RedisOptions{TTL: time.Hour})
	const sessions, turns = 50, 20
	var failed, saved atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			thread := fmt.Sprint("session ", i)
			for done := 0; done < turns && ctx.Err() == nil; {
				turn, err := nextTurn(ctx, r, thread)
				switch {
				case err != nil:
					failed.Add(1)
					time.Sleep(5 * time.Millisecond)
				case turn <= done:
					t.Errorf("%s: turn %d comes after turn %d", thread, turn, done)
					return
				default:
					done = turn
					saved.Add(1)
				}
			}
		})
	}
	eventually(t, "the sessions have begun", func() bool { return saved.Load() > sessions*turns/4 })
	s.Kill()
	eventually(t, "turns fail", func() bool { return failed.Load() > 0 })
	// A call that the server answered before may report that late.
	eventually(t, "Healthy tells of a server that was killed", func() bool { return r.Healthy() != nil })
	s.Start(t)
	wg.Wait()
	if err := r.Healthy(); err != nil {
		t.Errorf("Healthy after the server came back: %v", err)
	}
	for i := range sessions {
		wantTurns(t, r, fmt.Sprint("session ", i), turns)
	}
}

// nextTurn holds one turn as a flow does: load, go on, save.
func nextTurn(ctx context.Context, c graph.Checkpointer, thread string) (turn int, err error) {
	records, err := c.Load(ctx, thread, "")
	if err != nil {
		return 0, err
	}
	turn = len(records) + 1
	return turn, c.Save(ctx, thread, turnRecord(turn))
}

// wantTurns wants a session of that many turns, none missing and none twice.
func wantTurns(t *testing.T, c graph.Checkpointer, thread string, turns int) {
	t.Helper()
	records, err := c.Load(t.Context(), thread, "")
	if err != nil || len(records) != turns {
		t.Fatalf("%s: %d turns, %v; want %d", thread, len(records), err, turns)
	}
	for i, r := range records {
		if r.Turn != i+1 {
			t.Errorf("%s: turn %d is at place %d", thread, r.Turn, i+1)
		}
	}
}

// A thousand sessions at once (200 under the race detector) share the connections, of which there are few.
func TestThousandSessions(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { thousandSessions(t, newCheckpoints(t, time.Hour)) })
	t.Run("redis-server", func(t *testing.T) {
		thousandSessions(t, openRedis(t, servertest.Redis(t), store.RedisOptions{TTL: time.Hour}))
	})
}

func thousandSessions(t *testing.T, c graph.Checkpointer) {
	const turns = 3
	sessions := 1_000
	if race.Enabled {
		sessions = 200
	}
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			for range turns {
				if _, err := nextTurn(t.Context(), c, fmt.Sprint("session ", i)); err != nil {
					t.Errorf("session %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	for i := range sessions {
		wantTurns(t, c, fmt.Sprint("session ", i), turns)
	}
}
