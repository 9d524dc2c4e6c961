package natsconn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	verdictStream = "rehearse-verdicts"
	// verdictAge and verdictBytes bound the verdicts that are kept; the oldest go first.
	verdictAge   = 30 * 24 * time.Hour
	verdictBytes = 256 << 20
	// verdictTime bounds the wait for a verdict: a judge is asked again rather than waited for.
	verdictTime = 2 * time.Second
)

// Verdicts are those of judges, shared by all workers: a judge.Cache. It is safe for concurrent use.
type Verdicts struct{ conn *Conn }

// Verdicts returns the shared verdicts.
func (c *Conn) Verdicts() Verdicts { return Verdicts{c} }

func verdictSubject(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "rehearse.verdict." + hex.EncodeToString(sum[:])
}

// Verdict returns the verdict under key, and whether there is one.
func (v Verdicts) Verdict(ctx context.Context, key string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, verdictTime)
	defer cancel()
	m, err := v.last(ctx, key)
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read a shared verdict: %w", err)
	}
	return m.Data, true, nil
}

func (v Verdicts) last(ctx context.Context, key string) (*jetstream.RawStreamMsg, error) {
	stream, err := v.conn.js.Stream(ctx, verdictStream)
	if err != nil {
		return nil, err
	}
	return stream.GetLastMsgForSubject(ctx, verdictSubject(key))
}

// PutVerdict keeps a verdict under key, in place of an earlier one.
func (v Verdicts) PutVerdict(ctx context.Context, key string, verdict []byte) error {
	ctx, cancel := context.WithTimeout(ctx, verdictTime)
	defer cancel()
	if _, err := v.conn.Publish(ctx, verdictSubject(key), verdict, v.ensure); err != nil {
		return fmt.Errorf("keep a shared verdict: %w", err)
	}
	return nil
}

func (v Verdicts) ensure(ctx context.Context) error {
	_, err := v.conn.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: verdictStream, Subjects: []string{"rehearse.verdict.*"}, Storage: jetstream.FileStorage,
		AllowDirect: true, MaxMsgsPerSubject: 1, MaxAge: verdictAge, MaxBytes: verdictBytes,
		Discard: jetstream.DiscardOld,
	})
	return err
}
