package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"rehearse/internal/sitebot/limit"
)

// On a Redis server a bucket is one key, which expires when the bucket is full, and a day of a site is a hash that expires after some days.
var _ limit.Store = (*Redis)(nil)

// takeBucket takes a token: ARGV are now, the pace and the depth of the bucket in microseconds, and a mark. It returns how long to wait, 0 when there was
// a token. A retry whose first attempt succeeded without an answer finds its own mark and is done.
var takeBucket = redis.NewScript(1, `
local now, every, depth = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'until', 'mark')
if kept[2] == ARGV[4] then return 0 end
local full = math.max(tonumber(kept[1] or '0'), now) + every
if full - now > depth then return full - now - depth end
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', full), 'mark', ARGV[4])
redis.call('PEXPIRE', KEYS[1], math.ceil((full - now) / 1000) + 1000)
return 0`)

// giveBucket gives a token back.
var giveBucket = redis.NewScript(1, `
local kept = redis.call('HMGET', KEYS[1], 'until', 'mark')
if kept[1] and kept[2] ~= ARGV[2] then
	redis.call('HSET', KEYS[1], 'until', string.format('%.0f', tonumber(kept[1]) - tonumber(ARGV[1])), 'mark', ARGV[2])
end
return 0`)

// Take takes a token from each of the buckets, or gives back what it has taken: see limit.Store.
func (r *Redis) Take(ctx context.Context, now time.Time, buckets ...limit.Bucket) (empty int, wait time.Duration, err error) {
	for i, b := range buckets {
		every := b.Every.Microseconds()
		micros, err := redis.Int64(r.client.run(ctx, takeBucket, r.key("bucket", b.Name), now.UnixMicro(), every, int64(b.Burst)*every, rand.Text()))
		if err := r.explain(ctx, "count a visitor's message on", err); err != nil {
			return -1, 0, errors.Join(err, r.give(ctx, buckets[:i]))
		}
		if micros > 0 {
			return i, time.Duration(micros) * time.Microsecond, r.give(ctx, buckets[:i])
		}
	}
	return -1, 0, nil
}

// give gives back a token to each of the buckets, although the visitor may have gone.
func (r *Redis) give(ctx context.Context, buckets []limit.Bucket) (err error) {
	for _, b := range buckets {
		_, failed := r.client.run(context.WithoutCancel(ctx), giveBucket, r.key("bucket", b.Name), b.Every.Microseconds(), rand.Text())
		err = errors.Join(err, r.explain(ctx, "take back a count on", failed))
	}
	return err
}

// spend adds to a day, once for each mark: a command may be sent twice.
var spend = redis.NewScript(1, `
if redis.call('HSETNX', KEYS[1], 'mark:' .. ARGV[1], 1) == 0 then return 0 end
redis.call('HDEL', KEYS[1], 'mark:' .. (redis.call('HGET', KEYS[1], 'last') or ''))
redis.call('HSET', KEYS[1], 'last', ARGV[1])
redis.call('HINCRBY', KEYS[1], 'tokens', ARGV[2])
redis.call('HINCRBYFLOAT', KEYS[1], 'cost', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`)

// Spend adds to what a site has used on a day: see limit.Store.
func (r *Redis) Spend(ctx context.Context, site, day string, s limit.Spent) error {
	_, err := r.client.run(ctx, spend, r.spentKey(site, day), rand.Text(), s.Tokens, strconv.FormatFloat(s.CostUSD, 'f', 12, 64),
		limit.KeepSpent.Milliseconds())
	return r.explain(ctx, "count what a turn has used on", err)
}

// Spent returns what a site has used on a day.
func (r *Redis) Spent(ctx context.Context, site, day string) (s limit.Spent, err error) {
	found, err := redis.Strings(r.client.command(ctx, "HMGET", r.spentKey(site, day), "tokens", "cost"))
	if err := r.explain(ctx, "read what a site has used from", err); err != nil || len(found) != 2 || found[0] == "" {
		return s, err
	}
	tokens, err := strconv.ParseInt(found[0], 10, 64)
	if err != nil {
		return s, err
	}
	cost, err := strconv.ParseFloat(found[1], 64)
	return limit.Spent{Tokens: tokens, CostUSD: cost}, err
}

func (r *Redis) spentKey(site, day string) string { return r.key("spent", site+" "+day) }

// Salt returns the random text of the server; the first that asks makes it.
func (r *Redis) Salt(ctx context.Context) (string, error) {
	key := r.key("salt", "visitors")
	if _, err := r.client.command(ctx, "SETNX", key, rand.Text()); err != nil {
		return "", r.explain(ctx, "make the salt of", err)
	}
	salt, err := redis.String(r.client.command(ctx, "GET", key))
	return salt, r.explain(ctx, "read the salt of", err)
}
