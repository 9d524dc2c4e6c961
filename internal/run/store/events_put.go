package store

import (
	"context"
	"hash/maphash"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

const (
	// eventsPerBatch and batchBytes bound the events of one transaction. A batch is full when it has reached either.
	eventsPerBatch = 10_000
	batchBytes     = 8 << 20
)

// Put adds events as they come and returns how many were new, and how many sessions there were not before. It is Import
// without the rest.
func (e *Events) Put(ctx context.Context, events iter.Seq2[replay.Event, error]) (added, sessions int, err error) {
	in, err := e.Import(ctx, events)
	return in.Added, in.Sessions, err
}

// Import adds events as they come, and counts them. It writes one batch while it fills the next; a batch is added as a
// whole or not at all. An event without a session is skipped. An error of the input is returned as it is. An event is
// an error if it has no ID, an ID, session or flow of more than 512 bytes, invalid JSON, or a time outside the years 0
// to 9999.
func (e *Events) Import(ctx context.Context, events iter.Seq2[replay.Event, error]) (replay.Imported, error) {
	group, ctx := errgroup.WithContext(ctx)
	batches := make(chan []eventRow)
	counted := eventCount{events: e, seed: maphash.MakeSeed(), sessions: map[uint64]bool{}}
	group.Go(func() error {
		for batch := range batches {
			if err := counted.insert(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
	inputErr := fillBatches(ctx, events, batches)
	// The error of a write comes first: the input ends because of it.
	err := group.Wait()
	if err == nil {
		err = inputErr
	}
	return counted.Imported, err
}

// Add adds a few events, all or none, and returns for each whether it was new. Of several with the same ID the first
// counts. An event that Put refuses is an error here, too, and so is an event without a session.
func (e *Events) Add(ctx context.Context, events []replay.Event) (added []bool, err error) {
	rows := make([]eventRow, 0, len(events))
	for _, event := range events {
		row, err := newEventRow(event)
		if err == nil && row.session == "" {
			err = row.errorf("it has no session: give its context a session_id")
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	found, err := e.insert(ctx, rows)
	if err != nil {
		return nil, err
	}
	fresh := make(map[string]bool, len(found))
	for _, one := range found {
		fresh[one.id] = true
	}
	added = make([]bool, len(rows))
	for i, row := range rows {
		added[i] = fresh[row.id]
		delete(fresh, row.id)
	}
	return added, nil
}

// fillBatches makes batches of events, sends them and closes the channel. It returns the error of the input, of an
// event or of the context.
func fillBatches(ctx context.Context, events iter.Seq2[replay.Event, error], batches chan<- []eventRow) error {
	defer close(batches)
	var batch []eventRow
	size := 0
	send := func() error {
		select {
		case batches <- batch:
			batch, size = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for event, err := range events {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		row, err := newEventRow(event)
		if err != nil {
			return err
		}
		if row.session == "" {
			continue
		}
		batch = append(batch, row)
		if size += row.size(); len(batch) == eventsPerBatch || size >= batchBytes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return ctx.Err()
	}
	return send()
}
