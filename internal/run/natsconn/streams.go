package natsconn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	returnStream = "rehearse-returns"
	deadStream   = "rehearse-dead"
	triesBucket  = "rehearse-tries"
	// deadAge and deadCount bound the dead letters that are kept, triesAge how long the history of a job is.
	deadAge   = 30 * 24 * time.Hour
	deadCount = 100_000
	triesAge  = 7 * 24 * time.Hour
)

// DeadLetter is a job that was given up.
type DeadLetter struct {
	// Subject is what the job was published under.
	Subject string `json:"subject"`
	// Job is the job as JSON, empty where it cannot be read.
	Job json.RawMessage `json:"job,omitempty"`
	Why string          `json:"why"`
	// Tries are its deliveries that came to nothing, in order.
	Tries []Try     `json:"tries,omitempty"`
	At    time.Time `json:"at"`
}

// EnsureDead makes the streams of returns and of dead letters, and the bucket of bundles.
func EnsureDead(ctx context.Context, c *Conn) error {
	if err := c.ensureReturns(ctx); err != nil {
		return err
	}
	if _, err := c.js.CreateOrUpdateObjectStore(ctx, bundleConfig()); err != nil {
		return err
	}
	return c.ensureDead(ctx)
}

func (c *Conn) ensureReturns(ctx context.Context) error {
	_, err := c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: returnStream, Subjects: []string{"rehearse.return.>"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage,
		// The first return of a job stands until the leader has stored it.
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, AllowDirect: true,
		MaxAge: resultAge,
	})
	return err
}

func (c *Conn) ensureDead(ctx context.Context) error {
	_, err := c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: deadStream, Subjects: []string{"rehearse.dead.>"}, Retention: jetstream.LimitsPolicy,
		Storage: jetstream.FileStorage, MaxAge: deadAge, MaxMsgs: deadCount, Discard: jetstream.DiscardOld,
		AllowDirect: true,
	})
	return err
}

// Bury keeps a dead letter.
func (c *Conn) Bury(ctx context.Context, d DeadLetter) (added bool, err error) {
	d.At = time.Now().UTC()
	data, err := json.Marshal(d)
	if err != nil {
		return false, fmt.Errorf("write a dead letter: %w", err)
	}
	return c.Publish(ctx, "rehearse.dead."+d.Subject, data, c.ensureDead)
}

// Dead lists the dead letters of all runs, the oldest first, at most limit of them.
func (c *Conn) Dead(ctx context.Context, limit int) ([]DeadLetter, error) {
	stream, err := c.js.Stream(ctx, deadStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	var letters []DeadLetter
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; state.Msgs > 0 && seq <= state.LastSeq && len(letters) < limit; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list dead letters: %w", err)
		}
		var d DeadLetter
		if err := json.Unmarshal(m.Data, &d); err != nil {
			d = DeadLetter{Subject: m.Subject, Why: "the dead letter cannot be read"}
		}
		letters = append(letters, d)
	}
	return letters, nil
}

// Subjects lists the subjects of the messages of a stream, of those that match filter.
func (c *Conn) Subjects(ctx context.Context, stream, filter string) ([]string, error) {
	s, err := c.js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	subjects := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

// bucket returns a bucket of keys and values, and makes it when it is missing.
func (c *Conn) bucket(ctx context.Context, config jetstream.KeyValueConfig) (kv jetstream.KeyValue, err error) {
	err = Again(ctx, func(ctx context.Context) error {
		kv, err = c.js.KeyValue(ctx, config.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			kv, err = c.js.CreateOrUpdateKeyValue(ctx, config)
		}
		return err
	})
	return kv, err
}

// keys lists the keys of a bucket, also of deleted entries. There are none in a bucket that does not exist.
func (c *Conn) keys(ctx context.Context, bucket string) ([]string, error) {
	prefix := "$KV." + bucket + "."
	keys, err := c.Subjects(ctx, "KV_"+bucket, prefix+">")
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], prefix)
	}
	return keys, err
}

func (c *Conn) triesKV(ctx context.Context) (jetstream.KeyValue, error) {
	return c.bucket(ctx, jetstream.KeyValueConfig{Bucket: triesBucket, TTL: triesAge})
}

func triesKey(run string, seq uint64) string { return Token(run) + "." + strconv.FormatUint(seq, 10) }

// Tries reads the history of the job with the sequence number in its queue. There is none before a second delivery.
func (c *Conn) Tries(ctx context.Context, run string, seq uint64) ([]Try, error) {
	var tries []Try
	err := Again(ctx, func(ctx context.Context) error {
		kv, err := c.triesKV(ctx)
		if err != nil {
			return err
		}
		entry, err := kv.Get(ctx, triesKey(run, seq))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			_ = json.Unmarshal(entry.Value(), &tries) // what cannot be read is not known
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of a job: %w", err)
	}
	return tries, nil
}

// PutTries keeps the history of a job.
func (c *Conn) PutTries(ctx context.Context, run string, seq uint64, tries []Try) error {
	data, err := json.Marshal(tries)
	if err == nil {
		err = Again(ctx, func(ctx context.Context) error {
			kv, err := c.triesKV(ctx)
			if err == nil {
				_, err = kv.Put(ctx, triesKey(run, seq), data)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write the history of a job: %w", err)
	}
	return nil
}
