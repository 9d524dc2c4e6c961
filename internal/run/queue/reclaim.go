package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// reclaimTime bounds a Reclaim. What it does not come to is given back by AckWait.
const reclaimTime = 30 * time.Second

// Reclaim gives back all jobs that are held, without waiting for AckWait, and returns how many. Each counts as
// delivered in vain. Whoever calls it must know that nobody is alive who holds one, and that nobody pulls meanwhile: it
// would be held twice.
func (q *JetStream) Reclaim(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, reclaimTime)
	defer cancel()
	for _, class := range []string{plain, commands} {
		some, err := q.reclaim(ctx, class)
		n += some
		if err != nil {
			return n, fmt.Errorf("give back the jobs of the dead: %w", err)
		}
	}
	return n, nil
}

// reclaim gives back the jobs of one class. The queue has a job for as long as it has not ended, so that all up to the
// last one that was delivered are held.
func (q *JetStream) reclaim(ctx context.Context, class string) (n int, err error) {
	c, err := q.conn.JetStream().Consumer(ctx, jobStream, consumerName(class))
	if err != nil {
		return 0, err
	}
	delivered := c.CachedInfo().Delivered
	if c.CachedInfo().NumAckPending == 0 {
		return 0, nil
	}
	s, err := q.conn.JetStream().Stream(ctx, jobStream)
	if err != nil {
		return 0, err
	}
	for seq := uint64(1); ; {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subjects(class))) // or the next one
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Sequence > delivered.Stream:
			return n, nil
		case err != nil:
			return n, err
		}
		// The name of a delivery is that under which it is answered. NATS asks which message it was, and only that the
		// delivery is one of those under way.
		name := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.%d.0", jobStream, consumerName(class), m.Sequence,
			delivered.Consumer, time.Now().UnixNano())
		if _, err := q.conn.NATS().RequestWithContext(ctx, name, []byte("-NAK")); err != nil {
			return n, err
		}
		n, seq = n+1, m.Sequence+1
	}
}

// subjects are those of the jobs of a class.
func subjects(class string) string {
	return fmt.Sprintf("rehearse.job.%d.%s.>", orchestrator.JobSchema, class)
}
