package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"rehearse/internal/graph"
)

// A session is one key, so that it has one time to live and nothing of it can be left behind. The key is a hash:
//
//	newest      the id of the newest record
//	saved       the mark of the Save that brought it
//	count       how many records there are
//	#1, #2, …   their ids, as they came
//	ID:meta     of each record: turn, source, time and parent, as JSON
//	ID:appended and ID:values, of each record
//
// A Save adds its fields and rewrites none but the first three. Fields, unlike the entries of a list or a stream, can be
// picked: reading a session leaves the Values of all but the last record on the server.

// saveRecord checks the parent and adds a record. A repeated Save whose first try arrived, only its answer being lost, finds
// its own mark and is done.
var saveRecord = redis.NewScript(`
local key, id, parent, fork, mark, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local newest = redis.call('HGET', key, 'newest') or ''
if newest == id and redis.call('HGET', key, 'saved') == mark then return 'saved' end
if redis.call('HEXISTS', key, id .. ':meta') == 1 then return 'conflict' end
if newest ~= parent then
	if fork ~= '1' then return 'conflict' end
	if parent ~= '' and redis.call('HEXISTS', key, parent .. ':meta') == 0 then return 'unknown' end
end
local n = 1
local last = redis.call('HGET', key, 'count')
if last then n = tonumber(last) + 1 end
redis.call('HSET', key, 'newest', id, 'saved', mark, 'count', n, '#' .. n, id, id .. ':meta', ARGV[6])
if ARGV[7] ~= '' then redis.call('HSET', key, id .. ':values', ARGV[7]) end
if ARGV[8] ~= '' then redis.call('HSET', key, id .. ':appended', ARGV[8]) end
if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
return 'saved'`)

// Save adds a record, which becomes the newest of its thread, and lets the thread's time to live begin anew. Atomic.
// A record whose Parent is not the newest fails with a wrapped graph.ErrConflict, unless its Source is graph.SourceFork;
// a fork from what is not there fails with a wrapped graph.ErrNoCheckpoint.
func (r *Redis) Save(ctx context.Context, thread string, record graph.Record) error {
	meta, err := json.Marshal(recordMeta{
		Parent: record.Parent, Turn: record.Turn, Source: record.Source, At: record.At.UnixMicro(),
	})
	if err != nil {
		return fmt.Errorf("save session %q in Redis %s: %w", thread, r.place.url, err)
	}
	outcome, err := saveRecord.Run(ctx, r.client, []string{r.key("session", thread)},
		record.ID, record.Parent, record.Source == graph.SourceFork, rand.Text(), r.ttl,
		meta, []byte(record.Values), []byte(record.Appended)).Text()
	if err := r.explain(ctx, fmt.Sprintf("save session %q in", thread), err); err != nil {
		return err
	}
	switch outcome {
	case "conflict":
		err = graph.ErrConflict
	case "unknown":
		err = graph.ErrNoCheckpoint
	default:
		return nil
	}
	return fmt.Errorf("save session %q in Redis %s: %w", thread, r.place.url, err)
}

// recordMeta is what is kept of a record besides its state.
type recordMeta struct {
	Parent string `json:"parent,omitempty"`
	Turn   int    `json:"turn"`
	Source string `json:"source"`
	At     int64  `json:"at"` // microseconds since 1970
}

func (m recordMeta) record(id string) graph.Record {
	return graph.Record{ID: id, Parent: m.Parent, Turn: m.Turn, Source: m.Source, At: time.UnixMicro(m.At).UTC()}
}

// Delete forgets the thread; one that is unknown is no error.
func (r *Redis) Delete(ctx context.Context, thread string) error {
	err := r.client.Unlink(ctx, r.key("session", thread)).Err()
	return r.explain(ctx, fmt.Sprintf("delete session %q from", thread), err)
}
