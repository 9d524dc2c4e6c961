package queue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// Missing returns the jobs that NATS does not have: neither queued nor held, nor is what became of them on its way to
// the leader. A job that ends meanwhile may be missing once its return was settled: the caller must compare with what
// it has stored.
func (q *JetStream) Missing(ctx context.Context, run string, jobs []orchestrator.Job) ([]orchestrator.Job, error) {
	// The queue is read first: a worker sends the return before the job leaves the queue.
	known, err := q.conn.Subjects(ctx, jobStream, "rehearse.job.*.*."+natsconn.Token(run)+".*")
	if err != nil {
		return nil, fmt.Errorf("list the jobs of a run: %w", err)
	}
	returned, err := q.conn.ReturnsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, s := range append(known, returned...) {
		have[s[strings.LastIndexByte(s, '.')+1:]] = true
	}
	var missing []orchestrator.Job
	for _, j := range jobs {
		if !have[natsconn.JobToken(j.Kind, j.Key)] {
			missing = append(missing, j)
		}
	}
	return missing, nil
}

// Purge drops the jobs of a run, those that are held too.
func (q *JetStream) Purge(ctx context.Context, run string) error {
	s, err := q.conn.JetStream().Stream(ctx, jobStream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject("rehearse.job.*.*."+natsconn.Token(run)+".*"))
	}
	if err != nil {
		return fmt.Errorf("drop the jobs of a run: %w", err)
	}
	return nil
}

// Counts are the jobs of a queue.
type Counts struct {
	// Waiting are queued, Running are held by workers.
	Waiting, Running int
	// OtherVersions are of other versions of this program, which this one leaves alone.
	OtherVersions int
}

// Depth returns how many jobs of all runs wait, and how many workers hold. It asks NATS twice, however many jobs there
// are.
func (q *JetStream) Depth(ctx context.Context) (waiting, running int, err error) {
	for _, class := range []string{plain, commands} {
		c, err := q.conn.JetStream().Consumer(ctx, jobStream, consumerName(class))
		if err != nil {
			return 0, 0, fmt.Errorf("count the jobs of the queue: %w", err)
		}
		waiting += int(c.CachedInfo().NumPending)
		running += c.CachedInfo().NumAckPending
	}
	return waiting, running, nil
}

// Count counts the jobs of all runs.
func (q *JetStream) Count(ctx context.Context) (n Counts, err error) {
	if n.Waiting, n.Running, err = q.Depth(ctx); err != nil {
		return Counts{}, err
	}
	s, err := q.conn.JetStream().Stream(ctx, jobStream)
	if err != nil {
		return Counts{}, fmt.Errorf("count the jobs of the queue: %w", err)
	}
	if int(s.CachedInfo().State.Msgs) <= n.Waiting+n.Running {
		return n, nil
	}
	subjects, err := q.conn.Subjects(ctx, jobStream, "rehearse.job.>")
	if err != nil {
		return Counts{}, fmt.Errorf("count the jobs of the queue: %w", err)
	}
	own := fmt.Sprintf("rehearse.job.%d.", orchestrator.JobSchema)
	for _, s := range subjects {
		if !strings.HasPrefix(s, own) {
			n.OtherVersions++
		}
	}
	return n, nil
}

// Dead lists the jobs that were given up, of all runs, the oldest first.
func (q *JetStream) Dead(ctx context.Context) ([]natsconn.DeadLetter, error) {
	return q.conn.Dead(ctx, maxListed)
}

// pushers is how many jobs PushAll has on their way at once.
const pushers = 32

// PushAll adds jobs, nearly in their order, and returns when NATS has all of them on disk. It is much faster than one
// Push after the other.
func (q *JetStream) PushAll(ctx context.Context, jobs []orchestrator.Job) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(pushers, len(jobs)) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				if err := q.Push(ctx, jobs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
