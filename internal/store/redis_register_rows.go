package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"rehearse/internal/sitebot/register"
)

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
