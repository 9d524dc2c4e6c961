package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
// A save is three steps: leads, state, index. A process that dies in between leaves a lead whose turn was not answered,
// or an answered turn that the index lacks; never an answered turn without its leads, or an indexed one that was not
// answered.
//
// It is safe for concurrent use. Close the server and the database, not it.
type RedisSessions struct {
	indexed
	*sessions
	*leases
	// unindexed is called with the error of a turn that was saved and is missing in the index.
	unindexed func(error)
}

// indexed is the index. Its name is not that of the embedded type, which others would see as a field.
type indexed = SessionIndex

// NewRedisSessions returns sessions on a server, whose index is in a database. Both have the same time to live.
func NewRedisSessions(server *Redis, index SessionIndex, unindexed func(error)) *RedisSessions {
	return &RedisSessions{index, server.sessions, server.leases, unindexed}
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

// SaveTurn stores rows, then the record, then the entry: see sessionindex.Index. A turn whose entry cannot be written
// is saved, and unindexed is called.
func (s *RedisSessions) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	if err := s.SaveWith(ctx, thread, r, rows); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), indexLimit) // the visitor may have left
	defer cancel()
	var err error
	if r.Parent == "" { // what the database has under this name has expired on Redis
		err = s.indexed.Delete(ctx, thread)
	}
	if err == nil {
		// A fork goes on from anything: the state, not this record, decides who was first.
		place := graph.Record{ID: r.ID, Turn: r.Turn, Source: graph.SourceFork, At: r.At, Values: elsewhere}
		err = s.indexed.SaveTurn(ctx, thread, place, nil, e)
	}
	if err != nil {
		s.unindexed(err)
	}
	return nil
}

// Delete deletes a thread with its row of the index.
func (s *RedisSessions) Delete(ctx context.Context, thread string) error {
	return errors.Join(s.sessions.Delete(ctx, thread), s.indexed.Delete(ctx, thread))
}

// Erase deletes a thread, its row of the index and the leads of its session.
func (s *RedisSessions) Erase(ctx context.Context, thread, site, session string) error {
	return errors.Join(s.sessions.Delete(ctx, thread), s.indexed.Erase(ctx, thread, site, session))
}
