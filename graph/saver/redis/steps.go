package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/graph"
)

// saveStep adds a step. A retry whose first attempt succeeded without an answer finds its own mark and is done, unless
// another step came between them; then the step is there twice, which says no more than once.
var saveStep = redis.NewScript(`
local key, mark, step, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('HGET', key, 'stepped') == mark then return 'saved' end
local n = redis.call('HINCRBY', key, 'steps', 1)
redis.call('HSET', key, 'step:' .. n, step, 'stepped', mark)
if ttl > 0 and redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
return 'saved'`)

var readSteps = redis.NewScript(`
local found = {}
for n = 1, tonumber(redis.call('HGET', KEYS[1], 'steps') or 0) do
	local step = redis.call('HGET', KEYS[1], 'step:' .. n)
	if step then table.insert(found, step) end
end
return found`)

var dropSteps = redis.NewScript(`
for n = 1, tonumber(redis.call('HGET', KEYS[1], 'steps') or 0) do
	redis.call('HDEL', KEYS[1], 'step:' .. n)
end
return redis.call('HDEL', KEYS[1], 'steps', 'stepped')`)

// compactRecords replaces all records by one. The script is sent again when its answer was lost, and does the same
// then.
var compactRecords = redis.NewScript(`
local key, id = KEYS[1], ARGV[1]
if redis.call('HGET', key, 'newest') ~= id then return 'conflict' end
for n = 1, tonumber(redis.call('HGET', key, 'count') or 0) do
	local old = redis.call('HGET', key, '#' .. n)
	redis.call('HDEL', key, '#' .. n)
	if old then redis.call('HDEL', key, old .. ':meta', old .. ':values', old .. ':appended') end
end
redis.call('HSET', key, 'count', 1, '#1', id, id .. ':meta', ARGV[2])
if ARGV[3] ~= '' then redis.call('HSET', key, id .. ':values', ARGV[3]) end
if ARGV[4] ~= '' then redis.call('HSET', key, id .. ':appended', ARGV[4]) end
return 'saved'`)

// claimThread returns who has the claim on a thread then. A retry finds its own claim and does the same.
var claimThread = redis.NewScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return owner end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`)

var releaseThread = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'released'`)

// storedStep is a step as it is kept. The turn is first: a script looks at it.
type storedStep struct {
	Turn   int    `json:"turn"`
	Node   string `json:"node"`
	Item   int    `json:"item"`
	At     int64  `json:"at"` // microseconds since 1970
	Writes string `json:"writes"`
}

// SaveStep adds a step of the unfinished turn, and lets the time to live of the thread begin anew.
func (s *Saver) SaveStep(ctx context.Context, thread string, step graph.Step) error {
	op := fmt.Sprintf("save a step of session %q in", thread)
	data, err := json.Marshal(storedStep{step.Turn, step.Node, step.Item, step.At.UnixMicro(), string(step.Writes)})
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, s.options.Server, err)
	}
	return s.saved(ctx, op, s.run(ctx, saveStep, thread, rand.Text(), data, s.ttl))
}

// Steps returns the steps of the unfinished turn in the order in which they were saved; none for an unknown thread.
func (s *Saver) Steps(ctx context.Context, thread string) ([]graph.Step, error) {
	found, err := s.read(ctx, readSteps, thread)
	if err != nil {
		return nil, err
	}
	var steps []graph.Step
	for _, text := range found {
		var kept storedStep
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return nil, s.damaged(thread, err)
		}
		steps = append(steps, graph.Step{
			Turn: kept.Turn, Node: kept.Node, Item: kept.Item, At: time.UnixMicro(kept.At).UTC(),
			Writes: json.RawMessage(kept.Writes),
		})
	}
	return steps, nil
}

// DropSteps forgets the steps of a thread; none is no error.
func (s *Saver) DropSteps(ctx context.Context, thread string) error {
	return s.options.Explain(ctx, fmt.Sprintf("drop the steps of session %q in", thread),
		s.run(ctx, dropSteps, thread).Err())
}

// Compact makes a record, whose ID is that of the newest, the only one of its thread; with any other ID it fails with a
// wrapped graph.ErrConflict.
func (s *Saver) Compact(ctx context.Context, thread string, r graph.Record) error {
	op := fmt.Sprintf("compact session %q in", thread)
	meta, err := json.Marshal(recordMeta{Turn: r.Turn, Source: r.Source, At: r.At.UnixMicro()})
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, s.options.Server, err)
	}
	return s.saved(ctx, op, s.run(ctx, compactRecords, thread, r.ID, meta, []byte(r.Values), []byte(r.Appended)))
}

// ClaimTurn lets only the caller continue the unfinished turn of a thread for a time, by the clock of the server.
// While another caller has the claim it returns its name and a wrapped graph.ErrBusy.
func (s *Saver) ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (other string, err error) {
	op := fmt.Sprintf("claim session %q in", thread)
	owner, err := claimThread.Run(ctx, s.client, []string{s.claimKey(thread)}, by, max(lasts.Milliseconds(), 1)).Text()
	if err == nil && owner != by {
		return owner, fmt.Errorf("%s %s: %w", op, s.options.Server, graph.ErrBusy)
	}
	return "", s.options.Explain(ctx, op, err)
}

// ReleaseTurn ends the claim of the caller, if there is one.
func (s *Saver) ReleaseTurn(ctx context.Context, thread, by string) error {
	return s.options.Explain(ctx, fmt.Sprintf("release session %q in", thread),
		releaseThread.Run(ctx, s.client, []string{s.claimKey(thread)}, by).Err())
}
