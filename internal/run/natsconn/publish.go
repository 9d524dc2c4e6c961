package natsconn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// confirmTime bounds the wait for one confirmation, retryPause is between two tries.
	confirmTime = 5 * time.Second
	retryPause  = 100 * time.Millisecond
)

// Full is the error code of a stream that does not take a message: with DiscardNew, there is one for its subject
// already, or no room.
const full jetstream.ErrorCode = 10077

// perSubject is what a server says when a stream has as many messages of the subject as it may.
const perSubject = "maximum messages per subject exceeded"

// ErrFull says that NATS has no room.
var ErrFull = errors.New("NATS has no room for the message")

// Publish sends a message and waits until a stream has stored it. It tries again for as long as NATS cannot be reached
// and ctx lasts; ensure makes the stream when it has gone. added is false when the stream has a message of the subject
// and takes no second one.
func (c *Conn) Publish(ctx context.Context, subject string, data []byte,
	ensure func(context.Context) error) (added bool, err error) {
	for {
		err := c.publishOnce(ctx, subject, data)
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return true, nil
		case errors.As(err, &refused) && refused.ErrorCode == full && refused.Description == perSubject:
			return false, nil
		case errors.As(err, &refused) && refused.ErrorCode == full:
			return false, fmt.Errorf("%w: %s", ErrFull, refused.Description)
		case !IsUnavailable(err):
			return false, err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return false, err
		}
		if unstored(err) {
			if err := ensure(ctx); err != nil && !IsUnavailable(err) {
				return false, err
			}
		}
	}
}

func (c *Conn) publishOnce(ctx context.Context, subject string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	m, err := c.nats.RequestWithContext(ctx, subject, data)
	if err != nil {
		return err
	}
	return confirmed(m.Data)
}

// confirmed reads what NATS answers to a message, and returns nil when a stream has stored it. Only what may be a
// refusal is decoded: two answers come for every job.
func confirmed(answer []byte) error {
	if named, ok := bytes.CutPrefix(answer, []byte(`{"stream":"`)); ok && bytes.HasSuffix(named, []byte(`}`)) &&
		!bytes.HasPrefix(named, []byte(`"`)) && !bytes.Contains(named, []byte(`"error"`)) {
		return nil
	}
	var said struct {
		Error  *jetstream.APIError `json:"error"`
		Stream string              `json:"stream"`
	}
	switch err := json.Unmarshal(answer, &said); {
	case err == nil && said.Error != nil:
		return fmt.Errorf("nats: %w", said.Error)
	case err != nil || said.Stream == "":
		return jetstream.ErrInvalidJSAck
	}
	return nil
}

// unstored is true of the error of a message that no stream wanted.
func unstored(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders)
}

// IsUnavailable reports whether an error means that NATS cannot be reached for now, so that the same call may succeed
// later.
func IsUnavailable(err error) bool {
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
		return refused.Code == 503 && refused.ErrorCode != full
	}
	for _, gone := range []error{
		context.DeadlineExceeded, os.ErrDeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrNoServers, nats.ErrStaleConnection, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// Unwritten reports whether an error means that NATS could not write a stream or a consumer to its disk.
func Unwritten(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains([]jetstream.ErrorCode{notMade, notUpdated, consumerNotMade}, refused.ErrorCode)
}

// Again calls f until it succeeds, fails for good, or ctx ends. Errors of a NATS that cannot be reached are not for
// good.
func Again(ctx context.Context, f func(ctx context.Context) error) error {
	for {
		err := f(ctx)
		if err == nil || !IsUnavailable(err) || ctx.Err() != nil {
			return err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// Pause waits, or returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
