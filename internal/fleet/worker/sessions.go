package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// replayedSessions is a run of which logged sessions are replayed here.
type replayedSessions struct {
	opened   *Opened
	sessions *replayrun.Sessions
	conn     *natsconn.Conn
}

// openSessions opens what the sessions of a run are replayed against: the variants that came with the job, and the
// files of the bundle.
func openSessions(
	ctx context.Context, conn *natsconn.Conn, dir string, options wire.Options, spec runspec.Spec,
	definitions *replayrun.Definitions,
) (h *replayedSessions, err error) {
	if definitions == nil {
		return nil, errors.New("the job does not say what its session is replayed against")
	}
	o, err := Unpack(ctx, dir, spec, nil, options)
	if err != nil {
		return nil, err
	}
	h = &replayedSessions{opened: o, conn: conn}
	c, err := replayrun.Submitted(o.Setup, withoutFiles(spec))
	if err == nil {
		c.Variants = definitions
		h.sessions, err = replayrun.NewSessions(ctx, c)
	}
	if refused := o.Setup.Refused(); refused != nil {
		err = refused
	}
	if err != nil {
		return nil, o.Masked(errors.Join(err, o.Close()))
	}
	return h, nil
}

// Run replays the session of a job.
func (h *replayedSessions) Run(ctx context.Context, j orchestrator.Job) (held Completed, err error) {
	var p Payload
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return held, fmt.Errorf("the job does not say which session is replayed: %w", err)
	}
	s, err := h.session(ctx, &p)
	if err != nil {
		return held, err
	}
	if s.ID != j.Key.TestID {
		return held, fmt.Errorf("the job has the session %q and not its own", s.ID)
	}
	o, err := h.sessions.Run(trace.Remote(ctx, p.Traceparent), s)
	if err != nil {
		return held, h.opened.Masked(err)
	}
	data, err := json.Marshal(o)
	held.Body = h.opened.Setup.Secrets().Bytes(data)
	return held, err
}

// session returns the logged session of a job.
func (h *replayedSessions) session(ctx context.Context, p *Payload) (*replay.Session, error) {
	data := []byte(p.Session)
	if p.SessionAt != "" {
		var whole bytes.Buffer
		err := natsconn.Again(ctx, func(ctx context.Context) error { // a NATS that goes away comes back
			whole.Reset()
			return h.conn.GetBundle(ctx, p.SessionAt, &whole)
		})
		if err != nil {
			return nil, fmt.Errorf("get the session: %w", err)
		}
		data = whole.Bytes()
	}
	s := &replay.Session{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	return s, nil
}

func (h *replayedSessions) Close() error {
	h.sessions.Close()
	return h.opened.Close()
}
