package graph

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Record is one checkpoint as it is stored: what is in it once, and what it adds to what came before.
type Record struct {
	ID     string // sorts by time within its thread
	Parent string // the record that this one goes on from; empty for the first
	Turn   int    // turns completed
	Source string // turn, update or fork
	At     time.Time

	Values   json.RawMessage // every field that is not appended to, as one JSON object
	Appended json.RawMessage // what this record adds to appended fields, one JSON object of arrays; nil when nothing
}

// Checkpointer keeps the records of threads. Implementations are safe for concurrent use.
type Checkpointer interface {
	// Load returns the chain of records that leads to the one called id, oldest first; id "" means the newest. Values
	// of all but the last may be left out. An unknown thread gives no records and no error; an unknown id is
	// ErrNoCheckpoint.
	Load(ctx context.Context, thread, id string) ([]Record, error)
	// Save adds a record, which becomes the newest. A record whose Parent is not the newest fails with ErrConflict
	// unless its Source is fork. Atomic.
	Save(ctx context.Context, thread string, r Record) error
	// List returns every record of the thread without Values and Appended, oldest first.
	List(ctx context.Context, thread string) ([]Record, error)
	// Delete forgets the thread.
	Delete(ctx context.Context, thread string) error
}

// Peeker is what a Checkpointer may offer besides: to say which record of a thread is the newest, without reading any.
// A graph then reads again only what it has not written itself.
type Peeker interface {
	// Newest returns the id of the last record that Load would return for the id ""; "" when it would return none.
	Newest(ctx context.Context, thread string) (id string, err error)
}

// What a record came from.
const (
	SourceTurn   = "turn"
	SourceUpdate = "update"
	SourceFork   = "fork"
)

var (
	// ErrConflict says that a thread has moved on since it was read. Nothing was saved: read it again and repeat.
	ErrConflict = errors.New("the thread has moved on since it was read")
	// ErrNoCheckpoint says that a thread has no record of that id.
	ErrNoCheckpoint = errors.New("no such checkpoint")
)
