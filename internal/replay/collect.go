package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// collect takes the jobs in the order of their sessions and tells of them.
func (e *Evaluation) collect(ctx context.Context, ordered <-chan *job, tally *Tally) error {
	done := 0
	for {
		j, err := nextJob(ctx, ordered)
		if err != nil || j == nil {
			return err
		}
		tally.Add(j.pair)
		if e.Each != nil {
			if err := e.Each(j.pair); err != nil {
				return err
			}
		}
		if done++; e.Progress != nil {
			e.Progress(done)
		}
	}
}

// nextJob waits until the next job is done; nil is the end.
func nextJob(ctx context.Context, ordered <-chan *job) (*job, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case j, more := <-ordered:
		if !more {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-j.done:
			return j, nil
		}
	}
}

const (
	// outcomesPerBatch, bytesPerBatch and batchEvery bound what a killed program loses: a batch is written when any is reached.
	outcomesPerBatch = 200
	bytesPerBatch    = 8 << 20
	batchEvery       = time.Second
)

// keep writes outcomes as they come until there are no more, also when the run is broken off: what was finished is kept. Each write says that
// the run goes on. When the store stays away, keep gives the run up and lets the rest go.
func (e *Evaluation) keep(ctx context.Context, finished <-chan Outcome, giveUp func(error)) error {
	if e.Runs == nil {
		for range finished { // nothing comes
		}
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var batch []Outcome
	var failed error
	size := 0
	write := func() {
		if failed != nil {
			return
		}
		failed = retryWrite(ctx, func(ctx context.Context) error { return e.Runs.PutOutcomes(ctx, e.Head.Run.ID, batch, e.Now()) })
		if failed != nil {
			giveUp(failed)
		}
		batch, size = nil, 0 // the store may still look at it
	}
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	for {
		select {
		case o, more := <-finished:
			if !more {
				write()
				return failed
			}
			size += len(o.Detail)
			if batch = append(batch, o); len(batch) >= outcomesPerBatch || size >= bytesPerBatch {
				write()
			}
		case <-tick.C:
			write()
		}
	}
}

func outcomeOf(p *Pair) (o Outcome, err error) {
	o = Outcome{SessionID: p.SessionID, Dropped: p.Dropped}
	metrics := map[string]*Metrics{}
	for i := range p.Lanes {
		if m := p.Lanes[i].Metrics; m != nil {
			metrics[p.Lanes[i].Name] = m
		}
	}
	if o.Metrics, err = json.Marshal(metrics); err != nil {
		return o, err
	}
	o.Detail, err = json.Marshal(p)
	return o, err
}

func (o *Outcome) pair() (*Pair, error) {
	var p Pair
	if err := json.Unmarshal(o.Detail, &p); err != nil {
		return nil, fmt.Errorf("session %s of the run that is resumed cannot be read: %w", o.SessionID, err)
	}
	return &p, nil
}
