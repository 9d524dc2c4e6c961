package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"rehearse/graph"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/register"
)

// The register on a Redis server. Its keys begin with the prefix and "register:". They are on the server of the sessions, as the script that saves a
// turn writes them too; a cluster of several nodes is not supported.
//
//	row:THREAD    a hash: the row of a session; its notes as turn:N, failure:N and feedback:N, with the rating as mark:N. It lives as long as the session
//	all, site:S   the sessions by their last message, all and those of a site
//	todo, idle    those with turns that are not logged, and those whose visitors may leave
//	stateless     those without an answer
//
// The sorted sets may name sessions that are gone; whoever finds such a name drops it.
var _ register.Keeper = (*Redis)(nil)

// register begins the keys of the register.
func (r *Redis) register() string { return r.prefix + "register:" }

// saveEntry is the part of the script that saves a turn which writes its entry. first is the first of its arguments, and ttl is in milliseconds.
const saveEntry = `
if ARGV[first] then
	local prefix, thread, site, session, at, turns, language, route, person, converted, email, turn, note, began = unpack(ARGV, first, first + 13)
	local row = prefix .. 'row:' .. thread
	local kept = redis.call('HMGET', row, 'turns', 'logged', 'answered', 'gone')
	if not kept[1] then
		redis.call('HSET', row, 'site', site, 'session', session, 'started', began, 'language', '', 'person', '', 'outcome', 'open', 'failed', 0, 'up', 0, 'down', 0)
	end
	local before, logged, answered, gone = tonumber(kept[1] or '-1'), kept[2] or '0', kept[3] or '0', kept[4] or '0'
	if turn == '0' then
		if before ~= tonumber(turns) then
			logged = turns
			for n = tonumber(turns) + 1, before do
				local mark = redis.call('HGET', row, 'mark:' .. n)
				if mark then redis.call('HINCRBY', row, mark, -1) end
				redis.call('HDEL', row, 'turn:' .. n, 'feedback:' .. n, 'mark:' .. n)
			end
		end
	else
		if not kept[1] then logged = tostring(tonumber(turns) - 1) end
		answered, gone = '1', '0'
		redis.call('HSET', row, 'outcome', 'open', 'turn:' .. turn, note)
	end
	for i = first + 14, #ARGV, 2 do redis.call('HSET', row, 'turn:' .. ARGV[i], ARGV[i + 1]) end
	redis.call('HSET', row, 'last', at, 'turns', turns, 'route', route, 'converted', converted, 'email', email, 'logged', logged, 'answered', answered,
		'gone', gone, 'stateless', 0)
	if language ~= '' then redis.call('HSET', row, 'language', language) end
	if person ~= '' then redis.call('HSET', row, 'person', person) end
	if ttl > 0 then redis.call('PEXPIRE', row, ttl) else redis.call('PERSIST', row) end
	redis.call('ZADD', prefix .. 'all', at, thread)
	redis.call('ZADD', prefix .. 'site:' .. site, at, thread)
	redis.call('ZREM', prefix .. 'stateless', thread)
	if tonumber(logged) < tonumber(turns) then redis.call('ZADD', prefix .. 'todo', at, thread) else redis.call('ZREM', prefix .. 'todo', thread) end
	if answered == '1' and converted == '0' and gone ~= turns then
		redis.call('ZADD', prefix .. 'idle', at, thread)
	else
		redis.call('ZREM', prefix .. 'idle', thread)
	end
end`

// SaveTurn saves a record with its leads and its entry: see register.Keeper.
func (r *Redis) SaveTurn(ctx context.Context, thread string, record graph.Record, rows []lead.Row, e register.Entry) error {
	number, note := 0, []byte{}
	if e.Turn != nil {
		var err error
		if note, err = json.Marshal(e.Turn); err != nil {
			return fmt.Errorf("note a turn: %w", err)
		}
		number = e.Turn.Number
	}
	args := append(r.rowArgs(rows), r.register(), thread, e.Site, e.Session, e.At.UnixMicro(), e.Turns, e.Language, e.Route, e.Person, e.Converted, e.Email, number, note, e.Began().UnixMicro())
	return r.sessions.SaveWith(ctx, thread, record, args...)
}

// noteOne notes something: ARGV are a mark, the kind and its arguments. A retry whose first attempt succeeded without an answer finds its own mark and
// is done.
var noteOne = redis.NewScript(1, `
local row, prefix, thread, mark, kind, at, note = KEYS[1], unpack(ARGV, 1, 6)
if redis.call('HGET', row, 'noted') == mark then return 1 end
local site = redis.call('HGET', row, 'site')
if not site then
	if kind ~= 'failure' then return 0 end
	local session, language, keep, most
	site, session, language, keep, most = unpack(ARGV, 7, 11)
	redis.call('HSET', row, 'site', site, 'session', session, 'started', at, 'turns', 0, 'language', language, 'route', '', 'person', '', 'converted', 0,
		'email', 0, 'failed', 0, 'up', 0, 'down', 0, 'logged', 0, 'answered', 0, 'gone', 0)
	redis.call('PEXPIRE', row, keep)
	redis.call('ZADD', prefix .. 'stateless', at, thread)
	for _, old in ipairs(redis.call('ZRANGE', prefix .. 'stateless', 0, -1 - tonumber(most))) do
		local of = redis.call('HGET', prefix .. 'row:' .. old, 'site')
		redis.call('ZREM', prefix .. 'all', old)
		if of then redis.call('ZREM', prefix .. 'site:' .. of, old) end
		redis.call('DEL', prefix .. 'row:' .. old)
		redis.call('ZREM', prefix .. 'stateless', old)
	end
end
redis.call('HSET', row, 'noted', mark)
if kind == 'feedback' then
	local turn, rating = ARGV[7], ARGV[8]
	local before = redis.call('HGET', row, 'mark:' .. turn)
	if before then redis.call('HINCRBY', row, before, -1) end
	redis.call('HINCRBY', row, rating, 1)
	redis.call('HSET', row, 'feedback:' .. turn, note, 'mark:' .. turn, rating)
	return 1
end
redis.call('HSET', row, 'last', at, 'outcome', kind == 'failure' and 'failed' or 'blocked')
redis.call('ZADD', prefix .. 'all', at, thread)
redis.call('ZADD', prefix .. 'site:' .. site, at, thread)
for _, set in ipairs({'todo', 'idle'}) do redis.call('ZADD', prefix .. set, 'XX', at, thread) end
if kind == 'failure' then
	local n = redis.call('HINCRBY', row, 'failed', 1)
	redis.call('HSET', row, 'failure:' .. n, note)
	redis.call('HDEL', row, 'failure:' .. (n - tonumber(ARGV[12])))
end
return 1`)

// Note notes something that changed nothing of a state: see register.Keeper.
func (r *Redis) Note(ctx context.Context, site, session string, n register.Note) (there bool, err error) {
	thread := register.Thread(site, session)
	args := []any{r.register(), thread, rand.Text()}
	note := func(v any) []byte {
		data, failed := json.Marshal(v)
		err = errors.Join(err, failed)
		return data
	}
	switch {
	case n.Failure != nil:
		args = append(args, noteFailure, n.Failure.At.UnixMicro(), note(n.Failure), site, session, n.Language, r.keepStateless().Milliseconds(),
			register.MaxStateless, register.MaxFailures)
	case n.Blocked != nil:
		args = append(args, "blocked", n.Blocked.UnixMicro(), "")
	default:
		args = append(args, noteFeedback, n.Feedback.At.UnixMicro(), note(n.Feedback), n.Feedback.Turn, n.Feedback.Rating)
	}
	if err != nil {
		return false, err
	}
	there, err = redis.Bool(r.client.run(ctx, noteOne, r.sessionKey(thread), args...))
	return there, r.explain(ctx, "note what happened to a session on", err)
}

// keepStateless is how long a session without an answer is kept.
func (r *Redis) keepStateless() time.Duration {
	if r.ttl > 0 {
		return min(r.ttl, register.KeepStateless)
	}
	return register.KeepStateless
}

// Pending returns sessions that are to be logged: see register.Keeper.
func (r *Redis) Pending(ctx context.Context, idle time.Time, limit int) ([]register.Row, error) {
	var rows []register.Row
	seen := map[string]bool{}
	for _, set := range []struct {
		name string
		to   any
	}{{"todo", "+inf"}, {"idle", idle.UnixMicro()}} {
		names, err := r.named(ctx, set.name, set.to, "-inf", true, limit)
		if err != nil {
			return nil, r.explain(ctx, "look for turns to log on", err)
		}
		for _, n := range names {
			if n.row != nil && !seen[n.place.Thread] {
				seen[n.place.Thread] = true
				rows = append(rows, *n.row)
			}
		}
	}
	slices.SortFunc(rows, func(a, b register.Row) int { return cmp.Compare(a.Last.UnixMicro(), b.Last.UnixMicro()) })
	return rows[:min(len(rows), limit)], nil
}

// logOne says what of a session is logged.
var logOne = redis.NewScript(1, `
local row, prefix, thread, turn, left = KEYS[1], unpack(ARGV)
local kept = redis.call('HMGET', row, 'turns', 'logged')
if not kept[1] then return 0 end
local logged = math.max(tonumber(kept[2]), tonumber(turn))
redis.call('HSET', row, 'logged', logged)
if logged >= tonumber(kept[1]) then redis.call('ZREM', prefix .. 'todo', thread) end
if left == '1' then
	redis.call('HSET', row, 'gone', turn)
	if turn == kept[1] then redis.call('ZREM', prefix .. 'idle', thread) end
end
return 1`)

// Logged says what of a session is logged: see register.Keeper.
func (r *Redis) Logged(ctx context.Context, site, session string, turn int, left bool) (there bool, err error) {
	thread := register.Thread(site, session)
	there, err = redis.Bool(r.client.run(ctx, logOne, r.sessionKey(thread), r.register(), thread, turn, left))
	return there, r.explain(ctx, "note what was logged on", err)
}

// eraseSession deletes a row with all that names it.
var eraseSession = redis.NewScript(1, `
local prefix, thread, site = unpack(ARGV)
for _, set in ipairs({'all', 'site:' .. site, 'todo', 'idle', 'stateless'}) do redis.call('ZREM', prefix .. set, thread) end
return redis.call('DEL', KEYS[1])`)

// Delete forgets a thread and its row.
func (r *Redis) Delete(ctx context.Context, thread string) error {
	site, _, _ := strings.Cut(thread, ":")
	_, err := r.client.run(ctx, eraseSession, r.sessionKey(thread), r.register(), thread, site)
	if err := r.explain(ctx, fmt.Sprintf("delete session %q from", thread), err); err != nil {
		return err
	}
	return r.sessions.Delete(ctx, thread)
}
