package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	for i := range e.Copied {
		copied, err := json.Marshal(&e.Copied[i])
		if err != nil {
			return fmt.Errorf("note a turn: %w", err)
		}
		args = append(args, e.Copied[i].Number, copied)
	}
	return r.sessions.SaveWith(ctx, thread, record, args...)
}

// readSession is a function for scripts: a row of the register, or only its name where it is gone.
const readSession = `
local function session(prefix, thread)
	local found = {thread}
	local f = redis.call('HMGET', prefix .. 'row:' .. thread, 'site', 'session', 'started', 'last', 'turns', 'language', 'outcome', 'route', 'person',
		'converted', 'email', 'failed', 'logged', 'up', 'down')
	if f[1] then
		for _, value in ipairs(f) do table.insert(found, value) end
	end
	return found
end
`

// listed is how many names a script looks at before it serves others.
const listed = 500

// listSessions returns sessions by their last message: from ARGV[2] back to ARGV[3], or with ARGV[4] the other way round.
var listSessions = redis.NewScript(1, readSession+`
local found = {}
local names
if ARGV[4] == '1' then
	names = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[3], ARGV[2], 'LIMIT', 0, ARGV[5])
else
	names = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[5])
end
for _, thread in ipairs(names) do
	local one = session(ARGV[1], thread)
	table.insert(one, redis.call('ZSCORE', KEYS[1], thread))
	table.insert(found, one)
end
return found`)

// sessionNamed is a session as a sorted set names it; row is nil where it is gone.
type sessionNamed struct {
	place register.Place
	row   *register.Row
}

// named reads names of a sorted set with their rows. The names of those that are gone are dropped from it.
func (r *Redis) named(ctx context.Context, set string, from, to any, oldestFirst bool, limit int) (all []sessionNamed, err error) {
	found, err := redis.Values(r.client.run(ctx, listSessions, r.register()+set, r.register(), from, to, oldestFirst, limit))
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		fields, err := redis.Strings(one, nil)
		if err != nil || len(fields) < 2 {
			return nil, errDamagedSession
		}
		n := sessionNamed{}
		if n.place, err = placeOf(fields[0], fields[len(fields)-1]); err != nil {
			return nil, err
		}
		if len(fields) == 2 {
			if _, err := r.client.command(ctx, "ZREM", r.register()+set, fields[0]); err != nil {
				return nil, err
			}
		} else if n.row, err = sessionOf(fields[1 : len(fields)-1]); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func placeOf(thread, score string) (register.Place, error) {
	micros, err := strconv.ParseFloat(score, 64) // as Redis writes scores
	if err != nil {
		return register.Place{}, errDamagedSession
	}
	return register.Place{Last: time.UnixMicro(int64(micros)).UTC(), Thread: thread}, nil
}

// Sessions lists sessions: see register.Keeper.
func (r *Redis) Sessions(ctx context.Context, q register.Query) ([]register.Row, error) {
	rows, err := r.list(ctx, q)
	return rows, r.explain(ctx, "list the sessions of", err)
}

func (r *Redis) list(ctx context.Context, q register.Query) ([]register.Row, error) {
	set, from, to := "all", any("+inf"), any("-inf")
	if q.Site != "" {
		set = "site:" + q.Site
	}
	if !q.Since.IsZero() {
		to = boundMicro(q.Since)
	}
	if !q.Until.IsZero() {
		from = "(" + strconv.FormatInt(boundMicro(q.Until), 10)
	}
	after := q.After
	rows := []register.Row{}
	for {
		if after.Thread != "" && (q.Until.IsZero() || after.Last.UnixMicro() < boundMicro(q.Until)) {
			from = after.Last.UnixMicro()
		}
		names, err := r.named(ctx, set, from, to, false, listed)
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(slices.Clone(names), func(n sessionNamed) bool { return after.Thread != "" && !before(n.place, after) })
		for _, n := range fresh {
			if n.row != nil && (q.Outcome == "" || n.row.Outcome == q.Outcome) {
				rows = append(rows, *n.row)
			}
			if len(rows) == q.Limit {
				return rows, nil
			}
			after = n.place
		}
		if len(names) < listed || len(fresh) == 0 {
			return rows, nil
		}
	}
}

// before reports whether a place stands behind another one in the list, which begins with the newest.
func before(a, b register.Place) bool {
	return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Thread, b.Thread)) < 0
}

// Session returns what is kept of a session: see register.Keeper.
func (r *Redis) Session(ctx context.Context, site, session string) (*register.Kept, error) {
	k, err := r.session(ctx, register.Thread(site, session))
	return k, r.explain(ctx, "read a session of", err)
}

var readOneSession = redis.NewScript(1, readSession+`
local one = session(ARGV[1], ARGV[2])
if #one == 1 then return {} end
table.remove(one, 1)
return {one, redis.call('HGETALL', KEYS[1])}`)

func (r *Redis) session(ctx context.Context, thread string) (*register.Kept, error) {
	found, err := redis.Values(r.client.run(ctx, readOneSession, r.sessionKey(thread), r.register(), thread))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	fields, err := redis.Strings(found[0], err)
	if err != nil {
		return nil, err
	}
	row, err := sessionOf(fields)
	if err != nil {
		return nil, err
	}
	k := &register.Kept{Row: *row}
	notes, err := redis.StringMap(found[1], nil)
	if err != nil {
		return nil, err
	}
	for name, note := range notes {
		if kind, _, numbered := strings.Cut(name, ":"); numbered {
			if err := addNote(k, kind, []byte(note)); err != nil {
				return nil, errDamagedSession
			}
		}
	}
	slices.SortFunc(k.Turns, func(a, b register.Turn) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(k.Feedback, func(a, b register.Feedback) int { return cmp.Compare(a.Turn, b.Turn) })
	slices.SortStableFunc(k.Failures, func(a, b register.Failure) int { return a.At.Compare(b.At) })
	return k, nil
}

func (r *Redis) sessionKey(thread string) string { return r.register() + "row:" + thread }

// errDamagedSession says that a row of the register is not as this program writes them.
var errDamagedSession = errors.New("a row of a session is damaged")

// sessionOf makes a row of the fields that readSession returns.
func sessionOf(f []string) (*register.Row, error) {
	if len(f) != 15 {
		return nil, errDamagedSession
	}
	var numbers [9]int64
	for i, text := range []string{f[2], f[3], f[4], f[9], f[10], f[11], f[12], f[13], f[14]} {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errDamagedSession
		}
		numbers[i] = n
	}
	row := &register.Row{
		Site: f[0], Session: f[1], Started: time.UnixMicro(numbers[0]).UTC(), Last: time.UnixMicro(numbers[1]).UTC(), Turns: int(numbers[2]),
		Language: f[5], Outcome: register.Outcome(f[6]), Route: f[7], Person: f[8], Email: numbers[4] == 1, Failed: int(numbers[5]),
		Logged: int(numbers[6]), Feedback: register.Thumbs{Up: int(numbers[7]), Down: int(numbers[8])},
	}
	if numbers[3] == 1 {
		row.Outcome = register.Converted
	}
	return row, nil
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
