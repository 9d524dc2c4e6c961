package natsconn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

func returnSubject(o Return) string {
	return "rehearse.return." + Token(o.Run) + "." + JobToken(o.Kind, o.Key)
}

// Send sends a return to the leader of its run and returns when NATS has it on disk. While one of the same job waits
// for the leader, the second is dropped. A record of more than MaxResult bytes is ErrTooLarge; nothing is sent then.
func (c *Conn) Send(ctx context.Context, o Return) error {
	if len(o.Record) > MaxResult {
		return fmt.Errorf("send a result of %d bytes: %w", len(o.Record), ErrTooLarge)
	}
	o.Fault = o.Fault[:min(len(o.Fault), maxReason)]
	if limit := min(int(c.nats.MaxPayload()), inline) - slack; len(o.Record) > limit {
		name, err := c.putResult(ctx, o.Record)
		if err != nil {
			return fmt.Errorf("send a result: %w", err)
		}
		o.Object, o.Record = name, nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("write a return: %w", err)
	}
	added, err := c.Publish(ctx, returnSubject(o), data, c.ensureReturns)
	if o.Object != "" && !added {
		c.dropResult(context.WithoutCancel(ctx), o.Object)
	}
	if err != nil {
		return fmt.Errorf("send a return: %w", err)
	}
	return nil
}

func (c *Conn) results(ctx context.Context) (jetstream.ObjectStore, error) {
	return c.objects(ctx, jetstream.ObjectStoreConfig{Bucket: resultBucket, TTL: resultAge})
}

// objects returns a bucket of objects, and makes it when it is missing.
func (c *Conn) objects(ctx context.Context,
	config jetstream.ObjectStoreConfig) (store jetstream.ObjectStore, err error) {
	err = Again(ctx, func(ctx context.Context) error {
		store, err = c.js.ObjectStore(ctx, config.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			store, err = c.js.CreateOrUpdateObjectStore(ctx, config)
		}
		return err
	})
	return store, err
}

func (c *Conn) putResult(ctx context.Context, record []byte) (name string, err error) {
	store, err := c.results(ctx)
	if err != nil {
		return "", err
	}
	name = uuid.NewString()
	return name, Again(ctx, func(ctx context.Context) error {
		_, err := store.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(record))
		return err
	})
}

func (c *Conn) getResult(ctx context.Context, name string) (record []byte, err error) {
	store, err := c.results(ctx)
	if err != nil {
		return nil, err
	}
	info, err := store.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > MaxResult {
		return nil, ErrTooLarge
	}
	return store.GetBytes(ctx, name)
}

// dropResult deletes a large result. What is left behind ends with resultAge.
func (c *Conn) dropResult(ctx context.Context, name string) {
	if store, err := c.js.ObjectStore(ctx, resultBucket); err == nil {
		_ = store.Delete(ctx, name)
	}
}

// ReturnsOf lists the subjects of the returns of a run that its leader has not settled. Each ends with the job's token.
func (c *Conn) ReturnsOf(ctx context.Context, run string) ([]string, error) {
	subjects, err := c.Subjects(ctx, returnStream, "rehearse.return."+Token(run)+".*")
	if err != nil {
		return nil, fmt.Errorf("list the returns of a run: %w", err)
	}
	return subjects, nil
}
