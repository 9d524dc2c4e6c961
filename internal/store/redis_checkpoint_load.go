package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"rehearse/internal/graph"
)

var _ graph.Checkpointer = (*Redis)(nil)

// loadRecords returns the values of a record, then of each record on the way from it to the first: id, meta, appended.
// A parent is always older than its child, so that the way ends.
var loadRecords = redis.NewScript(`
local key, id, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
if id == '' then id = redis.call('HGET', key, 'newest') end
if not id then return {} end
local found = {redis.call('HGET', key, id .. ':values') or ''}
while id and id ~= '' do
	local record = redis.call('HMGET', key, id .. ':meta', id .. ':appended')
	if not record[1] then return {} end
	table.insert(found, id)
	table.insert(found, record[1])
	table.insert(found, record[2] or '')
	id = cjson.decode(record[1]).parent
end
if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
return found`)

// listRecords returns of each record, oldest first: id, meta, nothing.
var listRecords = redis.NewScript(`
local key = KEYS[1]
local found = {}
for n = 1, tonumber(redis.call('HGET', key, 'count') or 0) do
	local id = redis.call('HGET', key, '#' .. n)
	table.insert(found, id)
	table.insert(found, redis.call('HGET', key, id .. ':meta'))
	table.insert(found, '')
end
return found`)

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the last.
// It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (r *Redis) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	refresh := int64(0)
	if r.onRead {
		refresh = r.ttl
	}
	found, err := r.read(ctx, loadRecords, thread, id, refresh)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && id != "":
		return nil, fmt.Errorf("session %q, checkpoint %q in Redis %s: %w", thread, id, r.place.url, graph.ErrNoCheckpoint)
	case len(found) == 0:
		return nil, nil
	}
	records, err := readRecords(found[1:])
	if err != nil {
		return nil, r.damaged(thread, err)
	}
	records[0].Values = raw(found[0])
	slices.Reverse(records)
	return records, nil
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (r *Redis) List(ctx context.Context, thread string) ([]graph.Record, error) {
	found, err := r.read(ctx, listRecords, thread)
	if err != nil {
		return nil, err
	}
	records, err := readRecords(found)
	if err != nil {
		return nil, r.damaged(thread, err)
	}
	return records, nil
}

func (r *Redis) read(ctx context.Context, script *redis.Script, thread string, args ...any) ([]string, error) {
	found, err := script.Run(ctx, r.client, []string{r.key("session", thread)}, args...).StringSlice()
	return found, r.explain(ctx, fmt.Sprintf("read session %q from", thread), err)
}

func (r *Redis) damaged(thread string, err error) error {
	return &RedisError{
		Op: fmt.Sprintf("read session %q from", thread), Server: r.place.url, Err: err,
		Problem: "it is damaged (" + err.Error() + ")", Hint: "delete the key " + r.key("session", thread),
	}
}

// readRecords makes records of triples of id, meta and what is appended.
func readRecords(found []string) ([]graph.Record, error) {
	var records []graph.Record
	for triple := range slices.Chunk(found, 3) {
		var meta recordMeta
		if len(triple) < 3 {
			return nil, errors.New("a part of a record is missing")
		}
		if err := json.Unmarshal([]byte(triple[1]), &meta); err != nil {
			return nil, fmt.Errorf("record %s: %w", triple[0], err)
		}
		record := meta.record(triple[0])
		record.Appended = raw(triple[2])
		records = append(records, record)
	}
	return records, nil
}

// raw is JSON that was kept; nothing was kept of nil.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
