package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

const (
	// MaxDeliveries is how often a job is delivered before it is given up.
	MaxDeliveries = 5
	// DefaultAckWait is the time after which a silent worker has lost its jobs, unless a server sets another.
	DefaultAckWait = 30 * time.Second

	jobStream = "rehearse-jobs"
	// The classes of jobs: a subject is rehearse.job.SCHEMA.CLASS.RUN.JOB.
	plain, commands = "plain", "commands"
	// maxRequests bounds the places of all workers that wait for a job.
	maxRequests = 16_384
	// maxListed bounds a list of dead letters, jobAge how long a job waits before it is dropped (its leader puts it in
	// again).
	maxListed = 1000
	jobAge    = 30 * 24 * time.Hour
)

// Options say how a JetStream queue is used.
type Options struct {
	// AckWait sets the time after which a silent worker has lost its jobs, for all workers; 0 leaves it as it is.
	AckWait time.Duration
	// Commands allows jobs that start programs.
	Commands bool
	// Worker names this process in the history of jobs.
	Worker string
}

// JetStream is a queue on NATS. Jobs outlive its process and NATS's own. It is safe for concurrent use. Use
// NewJetStream, and Close it.
type JetStream struct {
	Options
	conn    *natsconn.Conn
	puller  *puller
	turn    atomic.Uint64
	mu      sync.Mutex
	ackWait time.Duration
	checked time.Time // when ackWait was read
}

var _ orchestrator.Queue = (*JetStream)(nil)

// NewJetStream returns a queue on a connection, which stays the caller's. It makes what NATS lacks.
func NewJetStream(ctx context.Context, conn *natsconn.Conn, o Options) (*JetStream, error) {
	q := &JetStream{Options: o, conn: conn, puller: newPuller(conn.NATS())}
	if err := natsconn.Again(ctx, q.ensure); err != nil {
		return nil, fmt.Errorf("make the queue of NATS: %w", err)
	}
	return q, nil
}

// Close ends what the queue has at NATS. Jobs that are held are not given back.
func (q *JetStream) Close() { q.puller.close() }

// ensure makes the streams and the consumers that are missing, and sets AckWait.
func (q *JetStream) ensure(ctx context.Context) error {
	js := q.conn.JetStream()
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: jobStream, Subjects: []string{"rehearse.job.>"}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage,
		// One message for each job: a second push is dropped for as long as the first is queued or held.
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, AllowDirect: true,
		MaxAge: jobAge,
	})
	if err != nil {
		return err
	}
	for _, class := range []string{plain, commands} {
		if err := q.ensureConsumer(ctx, class); err != nil {
			return err
		}
	}
	return natsconn.EnsureDead(ctx, q.conn)
}

func (q *JetStream) ensureConsumer(ctx context.Context, class string) error {
	c, err := q.conn.JetStream().Consumer(ctx, jobStream, consumerName(class))
	known := cmp.Or(q.AckWait(), DefaultAckWait) // of a queue that NATS has lost
	switch {
	case err == nil:
		known = c.CachedInfo().Config.AckWait
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return err
	}
	wanted := q.Options.AckWait
	if wanted == 0 {
		wanted = known
	}
	q.mu.Lock()
	q.ackWait, q.checked = wanted, time.Now()
	q.mu.Unlock()
	if err == nil && wanted == known {
		return nil
	}
	_, err = q.conn.JetStream().CreateOrUpdateConsumer(ctx, jobStream, jetstream.ConsumerConfig{
		Durable: consumerName(class), FilterSubject: subjects(class),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: wanted,
		// Jobs are given up by who pulls them, with their history: NATS itself would only stop delivering them.
		MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: maxRequests,
	})
	return err
}

func consumerName(class string) string { return fmt.Sprintf("%s-%d", class, orchestrator.JobSchema) }

// AckWait is the time after which a silent worker has lost its jobs.
func (q *JetStream) AckWait() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ackWait
}

func subject(j orchestrator.Job) string {
	class := plain
	if j.Commands {
		class = commands
	}
	return "rehearse.job." + strconv.Itoa(j.Schema) + "." + class + "." + natsconn.Token(j.Run) + "." +
		natsconn.JobToken(j.Kind, j.Key)
}

// Push adds a job and returns when NATS has it on disk. It waits for NATS for as long as ctx lasts.
func (q *JetStream) Push(ctx context.Context, j orchestrator.Job) error {
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write a job: %w", err)
	}
	if _, err := q.conn.Publish(ctx, subject(j), data, q.ensure); err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	return nil
}

// Pull waits for a job. A job that was delivered MaxDeliveries times is given up, and the next one returned.
func (q *JetStream) Pull(ctx context.Context) (orchestrator.Delivery, error) {
	d, err := q.Next(ctx)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Next is Pull with the delivery as this queue knows it.
func (q *JetStream) Next(ctx context.Context) (*Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := q.pullOnce(ctx)
		switch {
		case err == nil && d != nil:
			return d, nil
		case errors.Is(err, errGone):
			if err := q.ensure(ctx); err != nil {
				_ = natsconn.Pause(ctx, time.Second)
			}
		case errors.Is(err, errBusy):
			_ = natsconn.Pause(ctx, 100*time.Millisecond)
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("take a job from the queue: %w", err)
		}
	}
}

// pullOnce asks once for a job. It returns neither a job nor an error when there was none in time.
func (q *JetStream) pullOnce(ctx context.Context) (*Delivery, error) {
	q.refresh(ctx)
	wait := longPull
	if q.Commands {
		// Both classes are asked in turn, and neither for long while the other may have a job.
		wait = shortPull
		if q.turn.Add(1)%2 == 0 {
			return q.deliver(ctx, commands, 0)
		}
	}
	return q.deliver(ctx, plain, wait)
}

// refresh reads AckWait again now and then: a server may have set another.
func (q *JetStream) refresh(ctx context.Context) {
	q.mu.Lock()
	due := q.Options.AckWait == 0 && time.Since(q.checked) > 10*time.Second
	if due {
		q.checked = time.Now()
	}
	q.mu.Unlock()
	if due {
		_ = q.ensureConsumer(ctx, plain) // the next pull says what is wrong
	}
}
