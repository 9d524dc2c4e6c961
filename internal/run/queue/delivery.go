package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// ErrLapsed says that a job was held in silence for longer than the queue waits: it may be another worker's by now.
var ErrLapsed = errors.New("the job was lost to another worker")

// Delivery is a job of a JetStream queue in the hands of this process.
type Delivery struct {
	queue   *JetStream
	job     orchestrator.Job
	message *nats.Msg
	attempt int
	seq     uint64
	tries   []natsconn.Try
	ackWait time.Duration
	born    time.Time
	heard   atomic.Int64 // when NATS last heard of it, in nanoseconds after born
}

var _ orchestrator.Delivery = (*Delivery)(nil)

// deliver asks one class of jobs once, and gives up jobs that were delivered too often.
func (q *JetStream) deliver(ctx context.Context, class string, wait time.Duration) (*Delivery, error) {
	m, err := q.puller.next(ctx, consumerName(class), wait)
	if m == nil || err != nil {
		return nil, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	d := &Delivery{
		queue: q, message: m, attempt: int(meta.NumDelivered), seq: meta.Sequence.Stream, ackWait: q.AckWait(),
		born: time.Now(),
	}
	if err := json.Unmarshal(m.Data, &d.job); err != nil || subject(d.job) != m.Subject {
		// Nobody can tell whose it is. Its leader misses it, and puts it in again.
		_, err := q.conn.Bury(ctx, natsconn.DeadLetter{Subject: m.Subject, Why: "the job cannot be read"})
		return nil, errors.Join(err, d.end("+TERM"))
	}
	if d.attempt == 1 {
		return d, nil
	}
	if err := d.recall(ctx); err != nil {
		giveBack(q.conn.NATS(), m)
		return nil, err
	}
	if d.attempt > MaxDeliveries {
		return nil, d.reject(ctx, fmt.Sprintf("given up after %d deliveries", MaxDeliveries))
	}
	return d, nil
}

// recall reads what became of earlier deliveries and notes this one.
func (d *Delivery) recall(ctx context.Context) error {
	run := d.job.Run
	known, err := d.queue.conn.Tries(ctx, run, d.seq)
	if err != nil {
		return err
	}
	d.tries = make([]natsconn.Try, 0, d.attempt)
	for n := 1; n < d.attempt; n++ {
		try := natsconn.Try{Delivery: n, Lost: true}
		for _, k := range known {
			if k.Delivery == n {
				try.Worker, try.At, try.Why, try.Lost = k.Worker, k.At, k.Why, k.Why == ""
			}
		}
		d.tries = append(d.tries, try)
	}
	return d.note(ctx, "")
}

// note keeps the history of the job; why is empty for as long as this one is held.
func (d *Delivery) note(ctx context.Context, why string) error {
	now := natsconn.Try{Delivery: d.attempt, Worker: d.queue.Worker, At: time.Now().UTC(), Why: why}
	return d.queue.conn.PutTries(ctx, d.job.Run, d.seq, append(slices.Clip(d.tries), now))
}

// Job returns the job.
func (d *Delivery) Job() orchestrator.Job { return d.job }

// Attempt counts the deliveries, from 1.
func (d *Delivery) Attempt() int { return d.attempt }

// Tries are the earlier deliveries, which came to nothing, in order.
func (d *Delivery) Tries() []natsconn.Try { return d.tries }

// Ack says that the job is done. It does not wait for NATS: when the word is lost, the job is delivered again and its
// second result changes nothing.
func (d *Delivery) Ack(context.Context) error { return d.end("+ACK") }

// Extend says that the job is still worked on. It returns ErrLapsed when that comes too late.
func (d *Delivery) Extend(context.Context) error {
	if d.lapsed() {
		return fmt.Errorf("go on with a job: %w", ErrLapsed)
	}
	if err := d.end("+WPI"); err != nil {
		return err
	}
	if d.queue.conn.NATS().IsConnected() {
		d.heard.Store(int64(time.Since(d.born)))
	}
	return nil
}

// Retry gives the job back. It returns ErrLapsed, and changes nothing, when another worker may have it.
func (d *Delivery) Retry(ctx context.Context, after time.Duration) error {
	if d.lapsed() {
		return fmt.Errorf("give a job back: %w", ErrLapsed)
	}
	if err := d.note(ctx, "given back"); err != nil {
		return err
	}
	return d.end(fmt.Sprintf(`-NAK {"delay":%d}`, max(after, 0)))
}

// Reject gives the job up. The leader of its run gets the reason, which is also kept (natsconn.Conn.Dead). It returns
// ErrLapsed, and changes nothing, when another worker may have the job.
func (d *Delivery) Reject(ctx context.Context, why string) error {
	if d.lapsed() {
		return fmt.Errorf("reject a job: %w", ErrLapsed)
	}
	return d.reject(ctx, why)
}

func (d *Delivery) reject(ctx context.Context, why string) error {
	letter := natsconn.DeadLetter{Subject: d.message.Subject, Job: d.message.Data, Why: why, Tries: d.tries}
	if _, err := d.queue.conn.Bury(ctx, letter); err != nil {
		return err
	}
	err := d.queue.conn.Send(ctx, natsconn.Return{
		Run: d.job.Run, Kind: d.job.Kind, Key: d.job.Key, Attempt: min(d.attempt, MaxDeliveries),
		Worker: d.queue.Worker, Fault: why, Tries: d.tries,
	})
	if err != nil {
		return err
	}
	return d.end("+TERM")
}

// lapsed reports whether NATS may have given the job to another worker.
func (d *Delivery) lapsed() bool {
	return time.Since(d.born)-time.Duration(d.heard.Load()) >= d.ackWait
}

// end tells NATS what becomes of the delivery.
func (d *Delivery) end(word string) error {
	if err := d.queue.conn.NATS().Publish(d.message.Reply, []byte(word)); err != nil {
		return fmt.Errorf("tell NATS of a job: %w", err)
	}
	return nil
}

// Reasons puts the history of a job into words, one clause for each delivery.
func Reasons(tries []natsconn.Try) string {
	var clauses []string
	for _, t := range tries {
		who, why := "its worker", t.Why
		if t.Worker != "" {
			who = t.Worker
		}
		if t.Lost {
			clauses = append(clauses, fmt.Sprintf("delivery %d: %s was lost", t.Delivery, who))
		} else {
			clauses = append(clauses, fmt.Sprintf("delivery %d: %s by %s", t.Delivery, why, who))
		}
	}
	return strings.Join(clauses, "; ")
}
