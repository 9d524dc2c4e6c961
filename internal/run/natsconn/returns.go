package natsconn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	resultBucket = "rehearse-results"
	// resultAge bounds how long a result waits for the leader of its run.
	resultAge = 7 * 24 * time.Hour
	// inline is the largest record that goes in a message, if NATS takes such messages; the envelope has slack besides.
	inline, slack = 4 << 20, 64 << 10
	// returnWait is how long a leader may take to store a return before it gets it again.
	returnWait = 15 * time.Second
	// heartbeat is how often NATS says that it is there; two that are missed are one too many.
	heartbeat = time.Second
	// ahead and aheadBytes bound what a leader has received and not yet asked for.
	ahead, aheadBytes = 512, 32 << 20
	// notUnique is the error code for a second consumer of the same messages of a work queue.
	notUnique jetstream.ErrorCode = 10100
	// maxReason bounds a fault, in bytes.
	maxReason = 16 << 10
)

// Returns are what the leader of a run receives. Use Conn.Lead, and Close it. Next is for one goroutine.
type Returns struct {
	conn     *Conn
	run      string
	consumer string
	messages jetstream.MessagesContext
}

// ErrDisplaced says that another server has begun to receive the returns of the run.
var ErrDisplaced = errors.New("another server leads the run")

// Received is a return in the hands of the leader.
type Received struct {
	Return
	conn    *Conn
	message jetstream.Msg
}

// Lead begins to receive the returns of a run: all that were not settled, also those that an earlier leader received.
// Who led the run before receives no more.
func (c *Conn) Lead(ctx context.Context, run string) (*Returns, error) {
	o := &Returns{conn: c, run: run, consumer: leaderPrefix(run) + uuid.NewString()}
	err := Again(ctx, func(ctx context.Context) error {
		if err := c.displace(ctx, run); err != nil {
			return err
		}
		return o.open(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("lead a run: %w", err)
	}
	return o, nil
}

func leaderPrefix(run string) string { return "run-" + Token(run) + "-" }

// displace ends the receiving of leaders of the run. Returns that they have not settled are delivered again.
func (c *Conn) displace(ctx context.Context, run string) error {
	stream, err := c.js.Stream(ctx, returnStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if !strings.HasPrefix(name, leaderPrefix(run)) {
			continue
		}
		if err := stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	return names.Err()
}

func (o *Returns) open(ctx context.Context) error {
	if err := o.conn.ensureReturns(ctx); err != nil {
		return err
	}
	consumer, err := o.conn.js.CreateOrUpdateConsumer(ctx, returnStream, jetstream.ConsumerConfig{
		Durable: o.consumer, FilterSubject: "rehearse.return." + Token(o.run) + ".*",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: returnWait, MaxDeliver: -1, MaxAckPending: 4 * ahead,
		InactiveThreshold: resultAge,
	})
	var refused *jetstream.APIError
	if errors.As(err, &refused) && refused.ErrorCode == notUnique {
		return ErrDisplaced
	}
	if err != nil {
		return err
	}
	o.messages, err = consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(ahead, aheadBytes),
		jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(heartbeat))
	return err
}

// Next waits for a return, through failures of NATS. One that cannot be read is a fault: it is never passed over.
func (o *Returns) Next(ctx context.Context) (*Received, error) {
	for {
		m, err := o.messages.Next(jetstream.NextContext(ctx))
		switch {
		case err == nil:
			return o.receive(ctx, m)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, jetstream.ErrMsgIteratorClosed) && o.conn.nats.IsClosed():
			return nil, fmt.Errorf("receive a return: %w", err)
		default: // also without heartbeats: NATS may have lost who receives
			if err := o.reopen(ctx); err != nil {
				return nil, fmt.Errorf("receive a return: %w", err)
			}
		}
	}
}

func (o *Returns) reopen(ctx context.Context) error {
	o.messages.Stop()
	if err := Pause(ctx, retryPause); err != nil {
		return err
	}
	return Again(ctx, o.open)
}

func (o *Returns) receive(ctx context.Context, m jetstream.Msg) (*Received, error) {
	r := &Received{conn: o.conn, message: m}
	if err := json.Unmarshal(m.Data(), &r.Return); err != nil || returnSubject(r.Return) != m.Subject() {
		r.Return = Return{Run: o.run, Fault: "what a worker sent cannot be read"}
		return r, nil //nolint:nilerr // the fault says it
	}
	if r.Object == "" {
		return r, nil
	}
	record, err := o.conn.getResult(ctx, r.Object)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.Fault = "the large result of a worker cannot be read"
		return r, nil //nolint:nilerr // the fault says it
	}
	r.Record = record
	return r, nil
}

// Settle says that the return is stored: no leader gets it again.
func (r *Received) Settle(ctx context.Context) error {
	if err := r.message.Ack(); err != nil {
		return fmt.Errorf("settle a return: %w", err)
	}
	if r.Object != "" {
		r.conn.dropResult(ctx, r.Object)
	}
	return nil
}

// Close ends receiving. What was received and not settled goes to the next leader.
func (o *Returns) Close() { o.messages.Stop() }

// Forget drops what NATS keeps of a run that has ended: returns that nobody needs any more, and the place of its
// leader.
func (c *Conn) Forget(ctx context.Context, run string) error {
	stream, err := c.js.Stream(ctx, returnStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("rehearse.return."+Token(run)+".*"))
	}
	if err == nil {
		err = c.displace(ctx, run)
	}
	if err != nil {
		return fmt.Errorf("forget a run: %w", err)
	}
	return nil
}
