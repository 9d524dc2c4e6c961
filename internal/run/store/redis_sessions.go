package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// SessionIndex is the part of a database that stores what belongs to sessions besides their states: leads, the session
// index and limits. *Checkpoints and *PostgresSessions implement it.
type SessionIndex interface {
	lead.Outbox
	lead.Ledger
	sessionindex.Index
	limit.Store
	// AddLeads stores rows by themselves. A row that is there already stays as it is.
	AddLeads(ctx context.Context, rows []lead.Row) error
	// Newest returns the id of the newest record of a thread; "" for an unknown one.
	Newest(ctx context.Context, thread string) (string, error)
	// Extend lets a thread that has not expired live for a time at least.
	Extend(ctx context.Context, thread string, d time.Duration) error
	// Delete deletes a thread with its row of the index.
	Delete(ctx context.Context, thread string) error
	// Erase deletes a thread, its row of the index and the leads of its session.
	Erase(ctx context.Context, thread, site, session string) error
}

var (
	_ SessionIndex = (*Checkpoints)(nil)
	_ SessionIndex = (*PostgresSessions)(nil)
)

// RedisSessions stores the states and locks of sessions on a Redis server, and all else of them in a database.
//
// A save is four steps: a note of the entry on Redis, leads, state, index; then the note is deleted. A process that
// dies in between, or a database that is away, leaves a lead whose turn was not answered, or a note. The entry of a
// note is indexed with the session's next turn, or before the index is read. So no answered turn is lost for the index
// or for its leads, and no turn is indexed that was not answered.
//
// It is safe for concurrent use. Close the server and the database, not it.
type RedisSessions struct {
	indexed
	*sessions
	*leases
	server *Redis
	// unindexed is called with the error of a turn that was saved and is not in the index yet, without its session.
	unindexed func(error)
}

// indexed is the index. Its name is not that of the embedded type, which others would see as a field.
type indexed = SessionIndex

// NewRedisSessions returns sessions on a server, whose index is in a database. Both have the same time to live. A
// session that is locked lives on both.
func NewRedisSessions(server *Redis, index SessionIndex, unindexed func(error)) *RedisSessions {
	server.leases.extend = func(ctx context.Context, thread string, d time.Duration) error {
		_ = index.Extend(ctx, thread, d) // sessions are there without their index
		return server.extend(ctx, thread, d)
	}
	return &RedisSessions{index, server.sessions, server.leases, server, unindexed}
}

// elsewhere is the state that the database stores for a session whose state is on Redis: its row of the index lives as
// long as this. It cannot be read as a state, so nothing takes the session for an empty one.
var elsewhere = json.RawMessage(`"on Redis"`)

// indexLimit bounds the write to the index after a state was saved.
const indexLimit = 5 * time.Second

// SaveWith stores rows, then the record. It stores no rows for a record that Redis would refuse now.
func (s *RedisSessions) SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error {
	if len(rows) > 0 {
		newest, err := s.Newest(ctx, thread)
		if err == nil && newest != r.Parent && r.Source != graph.SourceFork {
			err = fmt.Errorf("save session %q: %w", thread, graph.ErrConflict)
		}
		if err == nil {
			err = s.AddLeads(ctx, rows)
		}
		if err != nil {
			return err
		}
	}
	return s.sessions.Save(ctx, thread, r)
}

// noted is the entry of a record, without what it stores, which the index may lack.
type noted struct {
	Record graph.Record
	Entry  sessionindex.Entry
}

// noteEntry adds an entry to the session and the session to the set of those with entries. It returns all entries. When
// the script is sent again, since its answer was lost, the entry is there twice.
var noteEntry = redis.NewScript(`
local key, ttl = KEYS[1], tonumber(ARGV[3])
local entries = (redis.call('HGET', key, 'entries') or '') .. ARGV[1] .. '\n'
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('HSET', key, 'entries', entries)
if ttl > 0 and redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
return entries`)

// SaveTurn stores rows, then the record, then the entry: see sessionindex.Index. A turn whose entry cannot be written
// now is saved, and unindexed is called.
func (s *RedisSessions) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	const op = "note the turn of a session on"
	one := noted{graph.Record{ID: r.ID, Parent: r.Parent, Turn: r.Turn, Source: r.Source, At: r.At}, e}
	data, err := json.Marshal(one)
	if err != nil {
		return err
	}
	entries, err := noteEntry.Run(ctx, s.server.client, []string{s.server.key("session", thread), s.noted()}, data,
		thread, s.server.ttl.Milliseconds()).Text()
	if err := s.server.explain(ctx, op, err); err != nil {
		return err
	}
	if err := s.SaveWith(ctx, thread, r, rows); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), indexLimit) // the visitor may have left
	defer cancel()
	if err := s.settle(ctx, thread, entries, r.ID); err != nil {
		s.unindexed(errors.New(sessionindex.Anonymous(err, e.Session)))
	}
	return nil
}

// noted is the key of the set of sessions with entries that the index may lack.
func (s *RedisSessions) noted() string { return s.server.prefix + "unindexed" }

// settle writes the entries of a session that were answered to the index, in their order, and forgets them. Saved is
// the record that was just saved; it may be empty. The caller has the session's lock.
func (s *RedisSessions) settle(ctx context.Context, thread, entries, saved string) error {
	var all []noted
	for line := range strings.Lines(entries) {
		var one noted
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return fmt.Errorf("read the turns of session %q that are not in the index: %w", thread, err)
		}
		all = append(all, one)
	}
	if len(all) > 1 || len(all) == 1 && all[0].Record.ID != saved { // others may be indexed, or not answered
		newest, err := s.indexed.Newest(ctx, thread)
		if err != nil {
			return err
		}
		records, err := s.List(ctx, thread)
		if err != nil {
			return err
		}
		all = all[1+slices.IndexFunc(all, func(one noted) bool { return one.Record.ID == newest }):]
		all = slices.DeleteFunc(all, func(one noted) bool {
			return !slices.ContainsFunc(records, func(r graph.Record) bool { return r.ID == one.Record.ID })
		})
	}
	for _, one := range all {
		if one.Record.Parent == "" { // what the database has under this name has expired on Redis
			if err := s.indexed.Delete(ctx, thread); err != nil {
				return err
			}
		}
		// A fork goes on from anything: the state, not this record, decides who was first.
		place := one.Record
		place.Parent, place.Source, place.Values = "", graph.SourceFork, elsewhere
		if err := s.indexed.SaveTurn(ctx, thread, place, nil, one.Entry); err != nil {
			return err
		}
	}
	_, err := s.server.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HDel(ctx, s.server.key("session", thread), "entries")
		p.SRem(ctx, s.noted(), thread)
		return nil
	})
	return s.server.explain(ctx, "forget the turn of a session on", err)
}

// reindexLimit bounds how long reading the index waits for entries that it lacks, lockedFor a lock without a process.
const (
	reindexLimit = 5 * time.Second
	lockedFor    = 15 * time.Second
)

// reindex writes the entries that the index lacks, but for those of turns under way. It reports no error: what fails is
// tried again the next time.
func (s *RedisSessions) reindex(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reindexLimit)
	defer cancel()
	threads := s.server.client.SScan(ctx, s.noted(), 0, "", 100).Iterator()
	for threads.Next(ctx) {
		thread := threads.Val()
		unlock, ok, err := s.Lock(ctx, thread, lockedFor)
		if ok {
			var entries string
			entries, err = s.server.client.HGet(ctx, s.server.key("session", thread), "entries").Result()
			if err == nil || errors.Is(err, redis.Nil) {
				err = s.settle(ctx, thread, entries, "")
			}
		}
		if unlock(); err != nil {
			return
		}
	}
}

// Sessions lists sessions: see sessionindex.Index.
func (s *RedisSessions) Sessions(ctx context.Context, q sessionindex.Query) ([]sessionindex.Row, error) {
	s.reindex(ctx)
	return s.indexed.Sessions(ctx, q)
}

// Session returns what is stored of a session: see sessionindex.Index.
func (s *RedisSessions) Session(ctx context.Context, site, session string) (*sessionindex.Stored, error) {
	s.reindex(ctx)
	return s.indexed.Session(ctx, site, session)
}

// Pending returns sessions that are to be logged: see sessionindex.Index.
func (s *RedisSessions) Pending(ctx context.Context, idle time.Time, limit int) ([]sessionindex.Row, error) {
	s.reindex(ctx)
	return s.indexed.Pending(ctx, idle, limit)
}

// Newest returns the id of the newest record of a thread; "" for an unknown one.
func (s *RedisSessions) Newest(ctx context.Context, thread string) (string, error) {
	return s.sessions.Newest(ctx, thread)
}

// Delete deletes a thread with its row of the index.
func (s *RedisSessions) Delete(ctx context.Context, thread string) error {
	return errors.Join(s.forget(ctx, thread), s.indexed.Delete(ctx, thread))
}

// Erase deletes a thread, its row of the index and the leads of its session.
func (s *RedisSessions) Erase(ctx context.Context, thread, site, session string) error {
	return errors.Join(s.forget(ctx, thread), s.indexed.Erase(ctx, thread, site, session))
}

// forget deletes what Redis has of a thread.
func (s *RedisSessions) forget(ctx context.Context, thread string) error {
	err := s.server.client.SRem(ctx, s.noted(), thread).Err()
	return errors.Join(s.sessions.Delete(ctx, thread), s.server.explain(ctx, "delete a session from", err))
}
