package store_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// openRedis opens a Redis with keys of its own, which it deletes in the end; a server may be shared.
func openRedis(t testing.TB, url string, options store.RedisOptions) *store.Redis {
	t.Helper()
	if options.KeyPrefix == "" {
		options.KeyPrefix = fmt.Sprintf("test-%s:", rand.Text())
	}
	r, err := store.OpenRedis(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deleteKeys(t, url, options.KeyPrefix)
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func deleteKeys(t testing.TB, url, prefix string) {
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Error(err)
		return
	}
	client := redis.NewClient(options)
	defer client.Close()
	ctx := context.Background()
	for keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator(); keys.Next(ctx); {
		client.Unlink(ctx, keys.Val())
	}
}
