package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisCache keeps bytes for a time on a Redis server. It is safe for concurrent use; Redis.Cache gives it.
type RedisCache struct{ r *Redis }

// Cache returns a cache on the server, shared with other processes. It ends with the Redis; closing it is not needed.
func (r *Redis) Cache() *RedisCache { return &RedisCache{r} }

// Get returns the bytes that were set under the key, and whether there are any that have not expired.
func (c *RedisCache) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, err := c.r.client.Get(ctx, c.r.key("cache", key)).Bytes()
	err = c.r.explain(ctx, "read the cache on", err)
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// Set keeps the bytes under the key for the ttl, which is at least a millisecond, in place of earlier ones.
func (c *RedisCache) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	err := c.r.client.Set(ctx, c.r.key("cache", key), value, max(ttl, time.Millisecond)).Err()
	return c.r.explain(ctx, "write the cache on", err)
}
