package natsconn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	workerBucket = "rehearse-workers"
	// Beat is the time between two heartbeats of a worker. Who misses three is gone.
	Beat = 2 * time.Second
	// maxWorkers bounds the list of workers.
	maxWorkers = 10_000
)

// Worker is a process that holds conversations.
type Worker struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Workers is how many conversations it can hold at once, Busy how many it holds, Done how many it has held.
	Workers int `json:"workers"`
	Busy    int `json:"busy"`
	Done    int `json:"done"`
	// LastSeen is the time of its last heartbeat, by the clock of NATS.
	LastSeen time.Time `json:"last_seen"`
}

func (c *Conn) workers(ctx context.Context) (jetstream.KeyValue, error) {
	return c.bucket(ctx, jetstream.KeyValueConfig{
		Bucket: workerBucket, TTL: 3 * Beat, Storage: jetstream.MemoryStorage,
	})
}

// Heartbeat tells of a worker until ctx ends; then the worker is gone at once. It calls state for each beat. A beat
// that does not get through is left out.
func (c *Conn) Heartbeat(ctx context.Context, state func() Worker) {
	ticks := time.NewTicker(Beat)
	defer ticks.Stop()
	for {
		w := state()
		_ = c.beat(ctx, w)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), Beat)
			defer cancel()
			if kv, err := c.js.KeyValue(leaving, workerBucket); err == nil {
				_ = kv.Delete(leaving, Token(w.Name))
			}
			return
		}
	}
}

func (c *Conn) beat(ctx context.Context, w Worker) error {
	ctx, cancel := context.WithTimeout(ctx, Beat)
	defer cancel()
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	kv, err := c.workers(ctx)
	if err == nil {
		_, err = kv.Put(ctx, Token(w.Name), data)
	}
	return err
}

// Workers lists the workers that were heard of lately, by name.
func (c *Conn) Workers(ctx context.Context) ([]Worker, error) {
	found, err := c.listWorkers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	slices.SortFunc(found, func(a, b Worker) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// listWorkers asks for each worker by its key. A watcher that lists the bucket waits for ever when the last entry
// expires before it is delivered.
func (c *Conn) listWorkers(ctx context.Context) ([]Worker, error) {
	kv, err := c.workers(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	keys, err := c.keys(ctx, workerBucket)
	if err != nil {
		return nil, err
	}
	var found []Worker
	for _, key := range keys[:min(len(keys), maxWorkers)] {
		entry, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) { // it has left or fallen silent
			continue
		}
		if err != nil {
			return nil, err
		}
		var w Worker
		if json.Unmarshal(entry.Value(), &w) == nil {
			w.LastSeen = entry.Created().UTC()
			found = append(found, w)
		}
	}
	return found, nil
}
