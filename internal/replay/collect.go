package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// collect takes the jobs in the order of their sessions and tells of them.
func (e *Evaluation) collect(ctx context.Context, ordered <-chan *job, tally *Tally) error {
	done := 0
	for {
		j, err := nextJob(ctx, ordered)
		if err != nil || j == nil {
			return err
		}
		if j.resultOf.Err != nil {
			return j.resultOf.Err
		}
		tally.Add(j.resultOf.Pair.Times()...)
		if err := e.tell(j.resultOf.Pair); err != nil {
			return err
		}
		if done++; e.Progress != nil {
			e.Progress(done)
		}
	}
}

// tell tells of each time that a session was replayed.
func (e *Evaluation) tell(p *Pair) error {
	if e.Each == nil {
		return nil
	}
	for _, time := range p.Times() {
		one := *time
		one.Again = nil
		if err := e.Each(&one); err != nil {
			return err
		}
	}
	return nil
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
	// outcomesPerBatch, bytesPerBatch and batchEvery bound what a killed program loses: a batch is written when any is
	// reached.
	outcomesPerBatch = 200
	bytesPerBatch    = 8 << 20
	batchEvery       = time.Second
)

// keep writes outcomes as they come until there are no more, also when the run is broken off: what was finished is
// kept. Each write says that the run goes on. When the store stays away, keep gives the run up and lets the rest go.
func (e *Evaluation) keep(ctx context.Context, finished <-chan PairResult, giveUp func(error)) error {
	ctx = context.WithoutCancel(ctx)
	var batch []PairResult
	var failed error
	size := 0
	write := func() {
		if failed == nil {
			if failed = e.storeBatch(ctx, batch); failed != nil {
				giveUp(failed)
			}
		}
		batch, size = nil, 0 // the store may still look at it
	}
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	for {
		select {
		case h, more := <-finished:
			if !more {
				write()
				return failed
			}
			size += len(h.Outcome.Detail)
			if batch = append(batch, h); len(batch) >= outcomesPerBatch || size >= bytesPerBatch {
				write()
			}
		case <-tick.C:
			write()
		}
	}
}

// storeBatch keeps sessions, and settles them.
func (e *Evaluation) storeBatch(ctx context.Context, batch []PairResult) error {
	if e.Store != nil {
		if err := e.Store(batch); err != nil {
			return err
		}
	}
	if e.Runs != nil {
		outcomes := make([]Outcome, len(batch))
		for i := range batch {
			outcomes[i] = batch[i].Outcome
		}
		err := retryWrite(ctx, func(ctx context.Context) error {
			return e.Runs.PutOutcomes(ctx, e.Head.Run.ID, outcomes, e.Now())
		})
		if err != nil {
			return err
		}
	}
	for i := range batch {
		if batch[i].Settle != nil {
			batch[i].Settle()
		}
	}
	return nil
}

func outcomeOf(p *Pair, records []*result.Test) (o Outcome, err error) {
	o = Outcome{SessionID: p.SessionID, Records: records}
	for _, time := range p.Times() {
		if o.Dropped == "" {
			o.Dropped = time.Dropped
		}
	}
	metrics := map[string]*Metrics{}
	for i := range p.Variations {
		if m := p.Variations[i].Metrics; m != nil {
			metrics[p.Variations[i].Name] = m
		}
	}
	if o.Metrics, err = json.Marshal(metrics); err != nil {
		return o, err
	}
	d := detail{Pair: p, Again: p.Again}
	if slices.ContainsFunc(p.Variations, func(v Variation) bool { return v.Verdict != "" }) {
		d.Records = records
	}
	o.Detail, err = json.Marshal(d)
	return o, err
}

// detail is a pair as a store has it: with the other times that its session was replayed and, in a run with assertions,
// with the records of its conversations.
type detail struct {
	*Pair
	Again   []*Pair        `json:"again,omitempty"`
	Records []*result.Test `json:"records,omitempty"`
}

// Pair returns the session in all its lanes, with the other times that it was replayed.
func (o *Outcome) Pair() (*Pair, error) {
	d := detail{Pair: &Pair{}}
	if err := json.Unmarshal(o.Detail, &d); err != nil || d.Pair == nil {
		return nil, fmt.Errorf("session %s of the replay cannot be read: %w", o.SessionID, err)
	}
	d.Pair.Again = d.Again
	return d.Pair, nil
}

const (
	// maxPairText bounds what all lanes of a session say, in bytes, once it is measured.
	maxPairText = 1 << 20
	// maxDetail bounds a session in JSON: stores keep no more than 32 MB.
	maxDetail = 30 << 20
)

// texts calls f for every text of a pair.
func (p *Pair) texts(f func(text *string)) {
	for _, time := range p.Times() {
		for i := range time.Variations {
			for j := range time.Variations[i].Turns {
				f(&time.Variations[i].Turns[j].User)
				f(&time.Variations[i].Turns[j].Bot)
			}
		}
	}
}

// size is how many bytes the texts of a pair have.
func (p *Pair) size() int {
	n := 0
	p.texts(func(text *string) { n += len(*text) })
	return n
}

// shorten cuts the long texts of a pair that says too much to be kept. Its metrics are those of the whole texts.
func (p *Pair) shorten() {
	if p.size() <= maxPairText {
		return
	}
	n := 0
	p.texts(func(*string) { n++ })
	most := maxPairText / n
	p.texts(func(text *string) {
		if len(*text) > most {
			// a clone, which lets go of the whole text
			*text = strings.ToValidUTF8(strings.Clone((*text)[:most]), "") + "…"
		}
	})
}

// boundedOutcome returns what is kept of a pair. One of too many turns is dropped, since a session that no store keeps
// must not end the run.
func boundedOutcome(p *Pair, records []*result.Test) (Outcome, error) {
	p.shorten()
	o, err := outcomeOf(p, records)
	if err != nil || len(o.Detail) <= maxDetail {
		return o, err
	}
	p.Dropped = fmt.Sprintf("the session is too long to be kept: %d MB with all of its turns, and %d MB is the limit",
		len(o.Detail)>>20, maxDetail>>20)
	p.Again = nil
	for i := range p.Variations {
		p.Variations[i] = Variation{Name: p.Variations[i].Name, Turns: []VariationTurn{}}
	}
	return outcomeOf(p, records)
}
