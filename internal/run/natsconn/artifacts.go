package natsconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

const artifactBucket = "rehearse-artifacts"

// Artifacts is a bucket of artifacts, each under the SHA-256 of its bytes. It is safe for concurrent use.
type Artifacts struct {
	conn   *Conn
	config jetstream.ObjectStoreConfig
}

// Artifacts returns the bucket in which artifacts are kept for good.
func (c *Conn) Artifacts() *Artifacts {
	return &Artifacts{c, jetstream.ObjectStoreConfig{Bucket: artifactBucket}}
}

// RunArtifacts returns the bucket in which workers give artifacts of a run to its leader. Drop it when the run has
// ended.
func (c *Conn) RunArtifacts(run string) *Artifacts {
	return &Artifacts{c, jetstream.ObjectStoreConfig{Bucket: artifactBucket + "-" + Token(run), TTL: resultAge}}
}

// ErrNoArtifact says that NATS does not have an artifact.
var ErrNoArtifact = errors.New("the artifact is not there")

// notMade and notUpdated are the codes of NATS for a stream whose files it could not make or change: while the bucket
// is dropped by another, or on a full disk. consumerNotMade is that for a consumer.
const (
	notMade         jetstream.ErrorCode = 10049
	notUpdated      jetstream.ErrorCode = 10069
	consumerNotMade jetstream.ErrorCode = 10104
)

// madeTries is how often a bucket that could not be made is tried again.
const madeTries = 5

func (a *Artifacts) bucket(ctx context.Context) (jetstream.ObjectStore, error) {
	return a.conn.objects(ctx, a.config)
}

// with calls f with the bucket, again while NATS cannot be reached. The bucket is looked for each time: it may have
// been dropped meanwhile.
func (a *Artifacts) with(ctx context.Context, f func(context.Context, jetstream.ObjectStore) error) error {
	return a.made(ctx, func(ctx context.Context) error {
		return Again(ctx, func(ctx context.Context) error {
			store, err := a.bucket(ctx)
			if err != nil {
				return err
			}
			return f(ctx, store)
		})
	})
}

// made calls f, again when the bucket could not be made.
func (a *Artifacts) made(ctx context.Context, f func(context.Context) error) error {
	for try := 1; ; try++ {
		err := f(ctx)
		if !Unwritten(err) || try == madeTries {
			return err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// Put keeps an artifact. One that is there already is not sent.
func (a *Artifacts) Put(ctx context.Context, sha256 string, data []byte) error {
	err := a.made(ctx, func(ctx context.Context) error {
		return a.conn.putOnce(ctx, sha256, a.bucket, func() (io.Reader, error) { return bytes.NewReader(data), nil })
	})
	if err != nil {
		return fmt.Errorf("keep an artifact in NATS: %w", err)
	}
	return nil
}

// Get returns the bytes of an artifact, or ErrNoArtifact.
func (a *Artifacts) Get(ctx context.Context, sha256 string) (data []byte, err error) {
	err = a.with(ctx, func(ctx context.Context, store jetstream.ObjectStore) error {
		within, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		object, err := store.Get(within, sha256)
		if err != nil {
			return err
		}
		defer func() { _ = object.Close() }()
		if data, err = io.ReadAll(object); err == nil {
			return nil
		}
		if info, unknown := object.Info(); unknown == nil && a.conn.lacks(ctx, store, info, err) {
			return jetstream.ErrObjectNotFound
		}
		return err
	})
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNoArtifact
	}
	if err != nil {
		return nil, fmt.Errorf("read an artifact from NATS: %w", err)
	}
	return data, nil
}

// Delete deletes an artifact. One that is not there is no error.
func (a *Artifacts) Delete(ctx context.Context, sha256 string) error {
	err := a.with(ctx, func(ctx context.Context, store jetstream.ObjectStore) error {
		return store.Delete(ctx, sha256)
	})
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete an artifact in NATS: %w", err)
	}
	return nil
}

// Drop deletes the bucket.
func (a *Artifacts) Drop(ctx context.Context) error {
	err := a.conn.js.DeleteObjectStore(ctx, a.config.Bucket)
	if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete the artifacts of a run in NATS: %w", err)
	}
	return nil
}
