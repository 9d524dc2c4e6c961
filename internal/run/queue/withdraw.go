package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// Withdraw takes back those of a run's jobs that were never delivered, and returns them. A job that a worker gets at
// the same moment stays the worker's, and is in neither.
func (q *JetStream) Withdraw(ctx context.Context, jobs []orchestrator.Job) (withdrawn []orchestrator.Job, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take jobs back from the queue: %w", err)
		}
	}()
	s, err := q.conn.JetStream().Stream(ctx, jobStream)
	if err != nil {
		return nil, err
	}
	before, err := q.delivered(ctx)
	if err != nil {
		return nil, err
	}
	deleted := map[uint64]orchestrator.Job{}
	for _, j := range jobs {
		m, err := s.GetLastMsgForSubject(ctx, subject(j))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			continue
		case err != nil:
			return nil, err
		case m.Sequence <= before[j.Commands]:
			continue
		}
		switch err := s.DeleteMsg(ctx, m.Sequence); {
		case err == nil:
			deleted[m.Sequence] = j
		case !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful):
			return nil, err
		}
	}
	after, err := q.delivered(ctx)
	if err != nil {
		return nil, err
	}
	for seq, j := range deleted {
		if seq > after[j.Commands] {
			withdrawn = append(withdrawn, j)
		}
	}
	return withdrawn, nil
}

// delivered returns for jobs without and with commands up to which message they were delivered.
func (q *JetStream) delivered(ctx context.Context) (map[bool]uint64, error) {
	last := map[bool]uint64{}
	for needs, class := range map[bool]string{false: plain, true: commands} {
		c, err := q.conn.JetStream().Consumer(ctx, jobStream, consumerName(class))
		if err != nil {
			return nil, err
		}
		last[needs] = c.CachedInfo().Delivered.Stream
	}
	return last, nil
}
