package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/graph"
)

// A session is one key, so that it has one time to live and nothing of it can be left behind; the claim on its
// unfinished turn is a second one for seconds. The key is a hash:
//
//	newest      the id of the newest record
//	saved       the mark of the Save that brought it
//	count       how many records there are
//	#1, #2, …   their ids, as they came
//	ID:meta     of each record: turn, source, time and parent, as JSON
//	ID:appended and ID:values, of each record
//	steps       the number of the last step
//	step:1, …   the steps of the unfinished turn, as JSON
//	stepped     the mark of the SaveStep that brought the last one
//
// A Save adds its fields, rewrites none but the first three, and drops the steps of its turn. Fields, unlike the
// entries of a list or a stream, can be picked: reading a session leaves the Values of all but the last record on the
// server.

// saveRecord checks the parent and adds a record. A retry whose first attempt succeeded without an answer finds its own
// mark and is done.
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
local steps = redis.call('HGET', key, 'steps')
if steps then
	local left = 0
	for i = 1, tonumber(steps) do
		local step = redis.call('HGET', key, 'step:' .. i)
		if step and tonumber(string.match(step, '^{"turn":(%-?%d+),')) <= tonumber(ARGV[9]) then
			redis.call('HDEL', key, 'step:' .. i)
		elseif step then
			left = left + 1
		end
	end
	if left == 0 then redis.call('HDEL', key, 'steps', 'stepped') end
end
return 'saved'`)

// Save adds a record, which becomes the newest of its thread, and lets the thread's time to live begin anew. Atomic. A
// record whose Parent is not the newest fails with a wrapped graph.ErrConflict, unless its Source is graph.SourceFork;
// a fork from what is not there fails with a wrapped graph.ErrNoCheckpoint.
func (s *Saver) Save(ctx context.Context, thread string, record graph.Record) error {
	op := fmt.Sprintf("save session %q in", thread)
	meta, err := json.Marshal(recordMeta{
		Parent: record.Parent, Turn: record.Turn, Source: record.Source, At: record.At.UnixMicro(),
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, s.options.Server, err)
	}
	return s.saved(ctx, op, s.run(ctx, saveRecord, thread,
		record.ID, record.Parent, record.Source == graph.SourceFork, rand.Text(), s.ttl,
		meta, []byte(record.Values), []byte(record.Appended), record.Turn))
}

// saved returns nil if a script has saved something, else why it has not.
func (s *Saver) saved(ctx context.Context, op string, reply *redis.Cmd) error {
	outcome, err := reply.Text()
	if err := s.options.Explain(ctx, op, err); err != nil {
		return err
	}
	switch outcome {
	case "saved":
		return nil
	case "conflict":
		err = graph.ErrConflict
	case "unknown":
		err = graph.ErrNoCheckpoint
	default:
		err = fmt.Errorf("unexpected reply %q", outcome)
	}
	return fmt.Errorf("%s %s: %w", op, s.options.Server, err)
}

// recordMeta is a record without its state.
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
func (s *Saver) Delete(ctx context.Context, thread string) error {
	return s.options.Explain(ctx, fmt.Sprintf("delete session %q from", thread),
		s.client.Unlink(ctx, s.key(thread)).Err())
}

// loadRecords returns the values of a record, then id, meta and appended of each record on the way from it to the
// first. A parent is always older than its child, so the way ends.
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

// listRecords returns three values for each record, oldest first: id, meta, and an empty one.
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

// newestRecord returns the id of the newest record.
var newestRecord = redis.NewScript(`
local key, ttl = KEYS[1], tonumber(ARGV[1])
if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
return redis.call('HGET', key, 'newest') or ''`)

// Newest returns the id of the newest record; "" for an unknown thread.
func (s *Saver) Newest(ctx context.Context, thread string) (string, error) {
	id, err := s.run(ctx, newestRecord, thread, s.refresh()).Text()
	return id, s.options.Explain(ctx, fmt.Sprintf("read session %q from", thread), err)
}

// refresh is the time to live that reading gives a session; 0 leaves it as it is.
func (s *Saver) refresh() int64 {
	if s.options.RefreshOnRead {
		return s.ttl
	}
	return 0
}

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the
// last. It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (s *Saver) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	found, err := s.read(ctx, loadRecords, thread, id, s.refresh())
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && id != "":
		return nil, fmt.Errorf("session %q, checkpoint %q in %s: %w", thread, id, s.options.Server,
			graph.ErrNoCheckpoint)
	case len(found) == 0:
		return nil, nil
	}
	records, err := readRecords(found[1:])
	if err != nil {
		return nil, s.damaged(thread, err)
	}
	records[0].Values = raw(found[0])
	slices.Reverse(records)
	return records, nil
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (s *Saver) List(ctx context.Context, thread string) ([]graph.Record, error) {
	found, err := s.read(ctx, listRecords, thread)
	if err != nil {
		return nil, err
	}
	records, err := readRecords(found)
	if err != nil {
		return nil, s.damaged(thread, err)
	}
	return records, nil
}

func (s *Saver) read(ctx context.Context, script *redis.Script, thread string, args ...any) ([]string, error) {
	parts, err := s.run(ctx, script, thread, args...).Slice()
	found := make([]string, len(parts))
	for i, part := range parts {
		found[i], _ = part.(string) // nil, a missing part, becomes "", which is not JSON
	}
	return found, s.options.Explain(ctx, fmt.Sprintf("read session %q from", thread), err)
}

func (s *Saver) damaged(thread string, err error) error {
	return fmt.Errorf("read session %q from %s: it is damaged (%w); delete the key %s", thread, s.options.Server, err,
		s.key(thread))
}

// readRecords makes records of triples of id, meta and appended.
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

// raw returns stored JSON; "" was stored for nil.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// scanned is the number of keys that the server reads before it serves others.
const scanned = 1000

// ThreadsEnding returns the threads whose names have the given end, in order of name. It reads every key of the server,
// some at a time.
func (s *Saver) ThreadsEnding(ctx context.Context, end string) ([]string, error) {
	before, after, _ := strings.Cut(s.key("\x00"), "\x00")
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	keys := s.client.Scan(ctx, 0, escape.Replace(before)+"*"+escape.Replace(end+after), scanned).Iterator()
	var names []string
	for keys.Next(ctx) {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(keys.Val(), before), after))
	}
	if err := s.options.Explain(ctx, fmt.Sprintf("look for sessions that end with %q in", end),
		keys.Err()); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil // a key may come twice
}
