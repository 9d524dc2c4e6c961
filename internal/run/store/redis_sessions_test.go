package store_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/rehearse-dev/rehearse/graph"
	leads "github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

// TestRedisSessions checks states on Redis with leads and index in a database: views of two processes each.
func TestRedisSessions(t *testing.T) {
	t.Parallel()
	u := newDatabase(t)
	indexes := map[string]func(t *testing.T) (one, two store.SessionIndex, redis string){
		"SQLite": func(t *testing.T) (one, two store.SessionIndex, redis string) {
			path := newFile(t)
			first, second := open(t, path), open(t, path)
			t.Cleanup(func() { first.Close(); second.Close() })
			return first.Checkpoints(2 * time.Hour), second.Checkpoints(0), "redis://" + miniredis.RunT(t).Addr()
		},
		"PostgreSQL": func(t *testing.T) (one, two store.SessionIndex, redis string) {
			empty(t, u)
			return openSessions(t, u, 2*time.Hour), openSessions(t, u, 0), servertest.Redis(t)
		},
	}
	for name, index := range indexes {
		opened := func(t *testing.T) (one, two *store.RedisSessions) {
			first, second, url := index(t)
			prefix := "test-" + rand.Text() + ":"
			view := func(index store.SessionIndex, ttl time.Duration) *store.RedisSessions {
				return store.NewRedisSessions(openRedis(t, url, store.RedisOptions{TTL: ttl, KeyPrefix: prefix}), index,
					func(err error) { t.Error(err) })
			}
			return view(first, 2*time.Hour), view(second, 0)
		}
		t.Run(name, func(t *testing.T) {
			leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) { return opened(t) })
			sessionindextest.Run(t, func(t *testing.T) (one, two sessionindextest.Store) { return opened(t) })
		})
	}
}

// failingIndex is an index whose parts fail, or do something else once they have succeeded.
type failingIndex struct {
	store.SessionIndex
	leads, entry error
	afterLeads   func()
}

func (f *failingIndex) AddLeads(ctx context.Context, rows []leads.Row) error {
	if f.leads != nil {
		return f.leads
	}
	defer f.afterLeads()
	return f.SessionIndex.AddLeads(ctx, rows)
}

func (f *failingIndex) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []leads.Row,
	e sessionindex.Entry) error {
	if f.entry != nil {
		return f.entry
	}
	return f.SessionIndex.SaveTurn(ctx, thread, r, rows, e)
}

// TestRedisSessionsInSteps checks what is left of a turn when one of its steps fails: the lead of an answered turn
// always, and never an indexed turn that was not answered.
func TestRedisSessionsInSteps(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		breaks                      func(m *miniredis.Miniredis, f *failingIndex)
		failed, lead, state, inside bool
	}{
		"nothing fails": {
			breaks: func(*miniredis.Miniredis, *failingIndex) {}, lead: true, state: true, inside: true,
		},
		"leads fail": {
			breaks: func(_ *miniredis.Miniredis, f *failingIndex) { f.leads = broken }, failed: true,
		},
		"Redis is away": {
			breaks: func(m *miniredis.Miniredis, _ *failingIndex) { m.SetError("away") }, failed: true,
		},
		"Redis goes after the leads": {
			breaks: func(m *miniredis.Miniredis, f *failingIndex) { f.afterLeads = func() { m.SetError("away") } },
			failed: true, lead: true,
		},
		"the index fails": {
			breaks: func(_ *miniredis.Miniredis, f *failingIndex) { f.entry = broken }, lead: true, state: true,
		},
		"another turn has come first": {breaks: func(m *miniredis.Miniredis, _ *failingIndex) {
			m.HSet("t:session:{tea.example:s}", "newest", "other")
		}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := miniredis.RunT(t)
			f := &failingIndex{SessionIndex: newCheckpoints(t, time.Hour), afterLeads: func() {}}
			var unindexed error
			s := store.NewRedisSessions(openRedis(t, "redis://"+m.Addr(), store.RedisOptions{
				TTL: time.Hour, KeyPrefix: "t:",
			}), f, func(err error) { unindexed = err })
			c.breaks(m, f)
			e := sessionindex.Entry{
				Site: "tea.example", Session: "s", At: time.Now(), Turns: 1, Turn: &sessionindex.Turn{Number: 1},
			}
			rows := []leads.Row{{
				ID: "l", Site: "tea.example", Session: "s", Event: leads.EmailCaptured, Receiver: leads.WebhookName,
				Created: time.Now(), Body: []byte(`{}`),
			}}
			err := s.SaveTurn(t.Context(), "tea.example:s", graph.Record{
				ID: "1", Turn: 1, Source: graph.SourceTurn, At: time.Now(), Values: []byte(`{}`),
			}, rows, e)
			if (err != nil) != c.failed || (unindexed != nil) != (c.state && !c.inside) {
				t.Errorf("saved with %v, unindexed %v", err, unindexed)
			}
			m.SetError("")
			if sent, err := s.Leads(t.Context(), leads.Filter{}); len(sent) == 1 != c.lead || err != nil {
				t.Errorf("%d leads, %v", len(sent), err)
			}
			if saved := m.HGet("t:session:{tea.example:s}", "count") != ""; saved != c.state {
				t.Errorf("state: %t, want %t", saved, c.state)
			}
			if kept, err := s.Session(t.Context(), "tea.example", "s"); kept != nil != c.inside || err != nil {
				t.Errorf("index: %+v, %v", kept, err)
			}
			f.entry = nil // the index has what it lacked once it works
			kept, err := s.Sessions(t.Context(), sessionindex.Query{Limit: 9})
			if len(kept) == 1 != c.state || err != nil || m.Exists("t:unindexed") {
				t.Errorf("index later: %+v, %v", kept, err)
			}
		})
	}
}

// TestRedisSessionBeginsAgain checks that a session that has gone on Redis begins with nothing in the index, and that
// the database alone does not pass for its state.
func TestRedisSessionBeginsAgain(t *testing.T) {
	m, index := miniredis.RunT(t), newCheckpoints(t, time.Hour)
	s := store.NewRedisSessions(openRedis(t, "redis://"+m.Addr(), store.RedisOptions{TTL: time.Hour}), index,
		func(err error) { t.Error(err) })
	save := func(id, parent string, turn int) {
		t.Helper()
		r := graph.Record{
			ID: id, Parent: parent, Turn: turn, Source: graph.SourceTurn, At: time.Now(), Values: []byte(`{}`),
		}
		e := sessionindex.Entry{
			Site: "tea.example", Session: "s", At: time.Now(), Turns: turn, Turn: &sessionindex.Turn{Number: turn},
		}
		if err := s.SaveTurn(t.Context(), "tea.example:s", r, nil, e); err != nil {
			t.Fatal(err)
		}
	}
	save("1", "", 1)
	save("2", "1", 2)
	chain, err := index.Load(t.Context(), "tea.example:s", "")
	var state struct{}
	if err != nil || len(chain) == 0 || json.Unmarshal(chain[len(chain)-1].Values, &state) == nil {
		t.Errorf("the database has a state: %v, %v", chain, err)
	}
	m.FlushAll()
	save("3", "", 1)
	kept, err := s.Session(t.Context(), "tea.example", "s")
	if err != nil || kept == nil || kept.Row.Turns != 1 || len(kept.Turns) != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
	if err := s.Erase(t.Context(), "tea.example:s", "tea.example", "s"); err != nil || len(m.Keys()) != 0 {
		t.Errorf("erased: %v, left %q", err, m.Keys())
	}
	if kept, err := s.Session(t.Context(), "tea.example", "s"); kept != nil || err != nil {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestRedisSessionsCatchUp checks that turns answered while the database was away are in the index afterwards, in their
// order, and also when the process has died before it wrote to the index.
func TestRedisSessionsCatchUp(t *testing.T) {
	t.Parallel()
	f := &failingIndex{SessionIndex: openSessions(t, newDatabase(t), time.Hour), afterLeads: func() {}}
	missing := 0
	s := store.NewRedisSessions(openRedis(t, servertest.Redis(t), store.RedisOptions{
		TTL: time.Hour, KeyPrefix: "test-" + rand.Text() + ":",
	}), f, func(error) { missing++ })
	save := func(id, parent string, turn int) {
		t.Helper()
		r := graph.Record{
			ID: id, Parent: parent, Turn: turn, Source: graph.SourceTurn, At: time.Now(), Values: []byte(`{}`),
		}
		e := sessionindex.Entry{
			Site: "tea.example", Session: "s", At: time.Now(), Turns: turn, Route: id,
			Turn: &sessionindex.Turn{Number: turn, Checkpoint: id},
		}
		if err := s.SaveTurn(t.Context(), "tea.example:s", r, nil, e); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(turns int, route string) {
		t.Helper()
		k, err := s.Session(t.Context(), "tea.example", "s")
		if err != nil || k == nil || k.Row.Turns != turns || len(k.Turns) != turns || k.Row.Route != route {
			t.Fatalf("%+v, %v", k, err)
		}
	}
	save("1", "", 1)
	f.entry = errors.New("away")
	save("2", "1", 2)
	save("3", "2", 3)
	f.entry = nil
	wants(3, "3")
	f.entry = errors.New("away")
	save("4", "3", 4)
	unlock, ok, err := s.Lock(t.Context(), "tea.example:s", time.Minute)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	f.entry = nil
	wants(3, "3") // a turn is under way, which writes all that the index lacks
	save("5", "4", 5)
	unlock()
	wants(5, "5")
	if missing != 3 {
		t.Errorf("%d turns were reported", missing)
	}
}

// TestLockedSessionsLive checks that a session does not expire while it is locked, however long a turn takes.
func TestLockedSessionsLive(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	type sessions interface {
		sessionindextest.Store
		storetest.Locker
	}
	u := newDatabase(t)
	file := open(t, newFile(t))
	t.Cleanup(func() { file.Close() })
	for name, s := range map[string]sessions{
		"SQLite": file.Checkpoints(ttl), "PostgreSQL": openSessions(t, u, ttl),
		"Redis": store.NewRedisSessions(openRedis(t, servertest.Redis(t), store.RedisOptions{
			TTL: ttl, KeyPrefix: "test-" + rand.Text() + ":",
		}), openSessions(t, newDatabase(t), ttl), func(err error) { t.Error(err) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := "tea.example:s"
			save := func(id, parent string, turn int) {
				t.Helper()
				if err := s.SaveTurn(t.Context(), thread, graph.Record{
					ID: id, Parent: parent, Turn: turn, Source: graph.SourceTurn, At: time.Now(), Values: []byte(`{}`),
				}, nil, sessionindex.Entry{
					Site: "tea.example", Session: "s", At: time.Now(), Turns: turn,
					Turn: &sessionindex.Turn{Number: turn},
				}); err != nil {
					t.Fatal(err)
				}
			}
			save("1", "", 1)
			unlock, ok, err := s.Lock(t.Context(), thread, time.Minute)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(2 * ttl)
			if k, err := s.Session(t.Context(), "tea.example", "s"); k == nil || err != nil {
				t.Errorf("%+v, %v", k, err)
			}
			save("2", "1", 2)
			if k, err := s.Session(t.Context(), "tea.example", "s"); err != nil || k == nil || len(k.Turns) != 2 {
				t.Errorf("%+v, %v", k, err)
			}
			unlock()
			time.Sleep(2 * ttl)
			if records, err := s.Load(t.Context(), thread, ""); len(records) != 0 || err != nil {
				t.Errorf("a session that expired has %d records, %v", len(records), err)
			}
		})
	}
}
