package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"rehearse/graph"
	"rehearse/internal/sitebot/lead"
)

// The rows of leads on a Redis server. Their keys begin with the prefix and "outbox:". They are on the server of the sessions, as the script
// that saves a turn writes them too; a cluster of several nodes is not supported.
//
//	row:ID              a hash: the row without its body
//	body:ID             what the receiver is told
//	due:RECEIVER SITE   the pending rows of an address, sorted by when they are due, or by the end of the lease of whoever holds them
//	all, count          all rows, in the order in which they were added, and how many there have been
//
// Rows that have ended expire by themselves; "all" may name some that are gone.
var (
	_ lead.Outbox = (*Redis)(nil)
	_ lead.Ledger = (*Redis)(nil)
)

// outbox begins the keys of the outbox.
func (r *Redis) outbox() string { return r.prefix + "outbox:" }

// readRow is a function for scripts: the fields of a row, then when it is due, and its body.
const readRow = `
local function row(prefix, id)
	local f = redis.call('HMGET', prefix .. 'row:' .. id, 'receiver', 'site', 'session', 'event', 'state', 'attempts', 'tries', 'created', 'since', 'ended', 'error', 'token')
	if not f[1] then return false end
	local due = redis.call('ZSCORE', prefix .. 'due:' .. f[1] .. ' ' .. f[2], id)
	return {id, f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12], due or '0', redis.call('GET', prefix .. 'body:' .. id) or ''}
end
`

// rowFields is how many values readRow returns.
const rowFields = 15

// saveRows is the part of the script that saves a turn which adds its rows, ARGV[11] in number. What it leaves behind them is for saveEntry.
const saveRows = `
local prefix = ARGV[10]
local first = 12 + 7 * tonumber(ARGV[11] or '0')
for i = 12, first - 1, 7 do
	local id, receiver, site, session, event, at, body = unpack(ARGV, i, i + 6)
	local row, place = prefix .. 'row:' .. id, receiver .. ' ' .. site
	if redis.call('EXISTS', row) == 0 then
		redis.call('HSET', row, 'receiver', receiver, 'site', site, 'session', session, 'event', event, 'state', 'pending', 'attempts', 0, 'tries', 0,
			'created', at, 'since', at, 'token', '', 'ended', 0, 'error', '')
		redis.call('SET', prefix .. 'body:' .. id, body)
		redis.call('ZADD', prefix .. 'due:' .. place, at, id)
		redis.call('ZADD', prefix .. 'all', redis.call('INCR', prefix .. 'count'), id)
	end
end`

// SaveWith is Save, and adds rows to the outbox in the same step.
func (r *Redis) SaveWith(ctx context.Context, thread string, record graph.Record, rows []lead.Row) error {
	return r.sessions.SaveWith(ctx, thread, record, r.rowArgs(rows)...)
}

// rowArgs are the arguments for saveRows.
func (r *Redis) rowArgs(rows []lead.Row) []any {
	args := []any{r.outbox(), len(rows)}
	for _, row := range rows {
		args = append(args, row.ID, row.Receiver, row.Site, row.Session, row.Event, row.Created.UnixMicro(), []byte(row.Body))
	}
	return args
}

// claimRows takes rows of one address.
var claimRows = redis.NewScript(1, readRow+`
local due, prefix, receiver, site, now, until_, most, token = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local claimed = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)) do
	local key = prefix .. 'row:' .. id
	if redis.call('HGET', key, 'state') == 'pending' then
		redis.call('HINCRBY', key, 'attempts', 1)
		redis.call('HINCRBY', key, 'tries', 1)
		redis.call('HSET', key, 'token', token)
		redis.call('ZADD', due, until_, id)
		for _, value in ipairs(row(prefix, id)) do table.insert(claimed, value) end
	else
		redis.call('ZREM', due, id)
	end
end
return claimed`)

// Claim takes rows that are due: see lead.Outbox.
func (r *Redis) Claim(ctx context.Context, now time.Time, wants []lead.Want) (claims []lead.Claim, err error) {
	for _, w := range wants {
		token := rand.Text()
		found, err := redis.Strings(r.client.run(ctx, claimRows, r.due(w.Address),
			r.outbox(), w.Receiver, w.Site, now.UnixMicro(), now.Add(lead.Lease).UnixMicro(), w.Most, token))
		if err == nil {
			var rows []lead.Row
			rows, err = outboxRows(found)
			for _, row := range rows {
				claims = append(claims, lead.Claim{Row: row, Token: token})
			}
		}
		if err := r.explain(ctx, "claim leads on", err); err != nil {
			return claims, err // those that were claimed are held
		}
	}
	return claims, nil
}

func (r *Redis) due(a lead.Address) string { return r.outbox() + "due:" + a.Receiver + " " + a.Site }

// finishRow writes down what became of an attempt of whoever still holds the row. A retry whose first attempt succeeded without an answer
// changes nothing.
var finishRow = redis.NewScript(1, `
local key, prefix, id, token, state, at, next, failure = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if redis.call('HGET', key, 'token') ~= token then return 0 end
local due = prefix .. 'due:' .. redis.call('HGET', key, 'receiver') .. ' ' .. redis.call('HGET', key, 'site')
redis.call('HSET', key, 'token', '', 'state', state, 'error', failure)
if state == 'pending' then
	redis.call('ZADD', due, next, id)
	return 1
end
redis.call('ZREM', due, id)
redis.call('HSET', key, 'ended', at)
redis.call('PEXPIRE', key, ARGV[8])
redis.call('PEXPIRE', prefix .. 'body:' .. id, state == 'delivered' and ARGV[9] or ARGV[8])
return 1`)

// Finish writes down what became of an attempt: see lead.Outbox.
func (r *Redis) Finish(ctx context.Context, c lead.Claim, result lead.Result) error {
	_, err := r.client.run(ctx, finishRow, r.outbox()+"row:"+c.ID, r.outbox(), c.ID, c.Token, string(result.State), result.At.UnixMicro(),
		result.Next.UnixMicro(), result.Error, lead.KeepRow.Milliseconds(), lead.KeepBody.Milliseconds())
	return r.explain(ctx, "write down a lead on", err)
}

// reviveRows makes the rows of an address that nobody holds due.
var reviveRows = redis.NewScript(1, `
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[2], '+inf')) do
	if redis.call('HGET', ARGV[1] .. 'row:' .. id, 'token') == '' then redis.call('ZADD', KEYS[1], ARGV[2], id) end
end
return 1`)

// tidyRows drops the names of rows that are gone, and has rows fail that nobody delivers. It looks at some of the names and returns where to go on.
var tidyRows = redis.NewScript(1, `
local all, prefix, now, forgotten, failure, keep = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local found = redis.call('ZSCAN', all, ARGV[6], 'COUNT', 500)
for i = 1, #found[2], 2 do
	local id = found[2][i]
	local key = prefix .. 'row:' .. id
	local f = redis.call('HMGET', key, 'state', 'receiver', 'site')
	if not f[1] then
		redis.call('ZREM', all, id)
	elseif f[1] == 'pending' then
		local due = prefix .. 'due:' .. f[2] .. ' ' .. f[3]
		local at = redis.call('ZSCORE', due, id)
		if at and tonumber(at) <= forgotten then
			redis.call('ZREM', due, id)
			redis.call('HSET', key, 'state', 'failed', 'ended', now, 'error', failure, 'token', '')
			redis.call('PEXPIRE', key, keep)
			redis.call('PEXPIRE', prefix .. 'body:' .. id, keep)
		end
	end
end
return found[1]`)

// Tend revives, drops and gives up rows: see lead.Outbox.
func (r *Redis) Tend(ctx context.Context, now time.Time, revive []lead.Address) error {
	for _, a := range revive {
		if _, err := r.client.run(ctx, reviveRows, r.due(a), r.outbox(), now.UnixMicro()); err != nil {
			return r.explain(ctx, "revive leads on", err)
		}
	}
	for cursor := "0"; ; {
		next, err := redis.String(r.client.run(ctx, tidyRows, r.outbox()+"all", r.outbox(), now.UnixMicro(), now.Add(-lead.GiveUp).UnixMicro(),
			lead.Unclaimed, lead.KeepRow.Milliseconds(), cursor))
		if err != nil || next == "0" {
			return r.explain(ctx, "tidy the leads of", err)
		}
		cursor = next
	}
}

// listRows returns some rows, in the order in which they were added.
var listRows = redis.NewScript(1, readRow+`
local listed = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3])) do
	local f = row(ARGV[1], id)
	if f then for _, value in ipairs(f) do table.insert(listed, value) end end
end
return listed`)

// Leads returns rows without their bodies, the oldest first.
func (r *Redis) Leads(ctx context.Context, f lead.Filter) ([]lead.Row, error) {
	rows := []lead.Row{}
	err := r.eachLead(ctx, func(row lead.Row) {
		if (f.Site == "" || f.Site == row.Site) && (f.Session == "" || f.Session == row.Session) && (f.State == "" || f.State == row.State) {
			row.Body = nil
			rows = append(rows, row)
		}
	})
	return rows, r.explain(ctx, "list the leads of", err)
}

// scanned is the number of rows that the server reads before it serves others.
const scanned = 1000

// eachLead reads every row, some at a time.
func (r *Redis) eachLead(ctx context.Context, take func(lead.Row)) error {
	count, err := redis.Int(r.client.command(ctx, "ZCARD", r.outbox()+"all"))
	for from := 0; err == nil && from < count; from += scanned {
		var found []string
		if found, err = redis.Strings(r.client.run(ctx, listRows, r.outbox()+"all", r.outbox(), from, from+scanned-1)); err != nil {
			break
		}
		var rows []lead.Row
		rows, err = outboxRows(found)
		for _, row := range rows {
			take(row)
		}
	}
	return err
}

// resendRow makes a row pending and due, unless somebody holds it.
var resendRow = redis.NewScript(1, `
local key, prefix, id, now = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local f = redis.call('HMGET', key, 'receiver', 'site', 'state', 'token')
if not f[1] or redis.call('EXISTS', prefix .. 'body:' .. id) == 0 then return 0 end
local due = prefix .. 'due:' .. f[1] .. ' ' .. f[2]
if f[3] == 'pending' and f[4] ~= '' and tonumber(redis.call('ZSCORE', due, id)) > tonumber(now) then return 1 end
redis.call('HSET', key, 'state', 'pending', 'since', now, 'tries', 0, 'token', '', 'ended', 0)
redis.call('PERSIST', key)
redis.call('PERSIST', prefix .. 'body:' .. id)
redis.call('ZADD', due, now, id)
return 1`)

// Resend makes rows pending and due: see lead.Ledger.
func (r *Redis) Resend(ctx context.Context, now time.Time, ids ...string) (resent []string, err error) {
	if len(ids) == 0 {
		if err := r.eachLead(ctx, func(row lead.Row) { ids = append(ids, row.ID) }); err != nil {
			return nil, r.explain(ctx, "resend leads of", err)
		}
	}
	for _, id := range ids {
		done, err := redis.Bool(r.client.run(ctx, resendRow, r.outbox()+"row:"+id, r.outbox(), id, now.UnixMicro()))
		if err != nil {
			return resent, r.explain(ctx, "resend leads of", err)
		}
		if done {
			resent = append(resent, id)
		}
	}
	return resent, nil
}

// eraseRow deletes a row with all that names it.
var eraseRow = redis.NewScript(1, `
local key, prefix, id = KEYS[1], ARGV[1], ARGV[2]
local f = redis.call('HMGET', key, 'receiver', 'site')
if f[1] then redis.call('ZREM', prefix .. 'due:' .. f[1] .. ' ' .. f[2], id) end
redis.call('ZREM', prefix .. 'all', id)
return redis.call('DEL', key, prefix .. 'body:' .. id)`)

// Erase forgets a thread, the leads of its session and what the register has of it.
func (r *Redis) Erase(ctx context.Context, thread, site, session string) error {
	rows, err := r.Leads(ctx, lead.Filter{Site: site, Session: session})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err = r.client.run(ctx, eraseRow, r.outbox()+"row:"+row.ID, r.outbox(), row.ID); err != nil {
			break
		}
	}
	if err == nil {
		err = r.Delete(ctx, thread)
	}
	return r.explain(ctx, fmt.Sprintf("erase session %q from", thread), err)
}

// errDamagedLead says that a row of the outbox is not as this program writes them.
var errDamagedLead = errors.New("a lead is damaged")

// outboxRows makes rows of what readRow returns.
func outboxRows(found []string) ([]lead.Row, error) {
	if len(found)%rowFields != 0 {
		return nil, errDamagedLead
	}
	rows := make([]lead.Row, 0, len(found)/rowFields)
	for ; len(found) > 0; found = found[rowFields:] {
		row := lead.Row{ID: found[0], Receiver: found[1], Site: found[2], Session: found[3], Event: found[4], State: lead.State(found[5])}
		var numbers [5]int64
		for i, text := range []string{found[6], found[7], found[8], found[9], found[10]} {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errDamagedLead
			}
			numbers[i] = n
		}
		due, err := strconv.ParseFloat(found[13], 64) // as Redis writes scores
		if err != nil {
			return nil, errDamagedLead
		}
		row.Attempts, row.Tries = int(numbers[0]), int(numbers[1])
		row.Body = []byte(found[14])
		rows = append(rows, rowOf(row, numbers[2], numbers[3], int64(due), numbers[4], found[11]))
	}
	return rows, nil
}
