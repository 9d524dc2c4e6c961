package natsconn_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestWorkersWhileTheLastExpires: a list of workers does not wait for one that falls silent while it is made.
func TestWorkersWhileTheLastExpires(t *testing.T) {
	c := embedded(t)
	js, err := jetstream.New(c.NATS())
	if err != nil {
		t.Fatal(err)
	}
	const life = 100 * time.Millisecond // a worker's is six seconds
	kv, err := js.CreateKeyValue(soon(t), jetstream.KeyValueConfig{
		Bucket: "rehearse-workers", TTL: life, Storage: jetstream.MemoryStorage,
	})
	if err != nil {
		t.Fatal(err)
	}
	seen, gone := 0, 0
	for i := range 30 {
		if _, err := kv.PutString(soon(t), strconv.Itoa(i), `{"name":"w"}`); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; {
			all, err := c.Workers(soon(t))
			if err != nil {
				t.Fatalf("after %d workers, %v old: %v", i, time.Since(begun), err)
			}
			if len(all) == 0 {
				gone++
				break
			}
			seen++
		}
	}
	if seen == 0 || gone != 30 {
		t.Errorf("seen %d times, gone %d times", seen, gone)
	}
}
