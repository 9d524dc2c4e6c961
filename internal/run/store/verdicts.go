package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"sync"
	"time"
)

// Verdict returns the verdict that was put under key, and whether there is one. It finds verdicts of this Store at
// once, and those of other processes when they are written. The caller owns the bytes.
func (s *Store) Verdict(ctx context.Context, key string) ([]byte, bool, error) {
	if v, ok := s.verdicts.get(key); ok {
		return bytes.Clone(v), true, nil
	}
	var verdict []byte
	err := s.db.QueryRowContext(ctx, `SELECT verdict FROM verdicts WHERE key = ?`, key).Scan(&verdict)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, explain("read a verdict from", s.path, err)
	}
	return verdict, true, nil
}

// PutVerdict keeps a verdict under key, in place of an earlier one. It copies the bytes and returns before the verdict
// is on disk, which takes a tenth of a second, or until Close. It waits when the disk cannot keep up. An error says
// that earlier verdicts could not be written. Verdict still returns them and this one, and writing is retried. When too
// many wait, this verdict is dropped.
func (s *Store) PutVerdict(ctx context.Context, key string, verdict []byte) error {
	// Not nil, which SQLite would take for NULL.
	return s.verdicts.put(ctx, key, append([]byte{}, verdict...))
}

// writeVerdicts writes a batch in one transaction.
func (s *Store) writeVerdicts(ctx context.Context, batch map[string][]byte) error {
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		// Replacing gives the row a new id, so a verdict that is put again counts as new.
		insert, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO verdicts (key, verdict) VALUES (?, ?)`)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, insert.Close()) }()
		for key, verdict := range batch {
			if _, err := insert.ExecContext(ctx, key, verdict); err != nil {
				return err
			}
		}
		return nil
	})
	return explain("write verdicts to", s.path, err)
}

// prune deletes the oldest verdicts beyond s.keep.
func (s *Store) prune(ctx context.Context) error {
	var span int
	err := s.db.QueryRowContext(ctx, `SELECT coalesce(max(id) - min(id) + 1, 0) FROM verdicts`).Scan(&span)
	// The span of ids is never less than the number of rows. It costs two look-ups; counting would read the table.
	if err == nil && span > s.keep {
		err = s.write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx,
				`DELETE FROM verdicts WHERE id <= (SELECT id FROM verdicts ORDER BY id DESC LIMIT 1 OFFSET ?)`, s.keep)
			return err
		})
	}
	return explain("drop old verdicts from", s.path, err)
}

const (
	// flushEvery bounds the time that a verdict waits for others before it is written.
	flushEvery = 100 * time.Millisecond
	// flushAt is the number of verdicts that are written without waiting for more.
	flushAt = 1_000
	// maxPending is the number of waiting verdicts from which put waits.
	maxPending = 10_000
)

var errClosed = errors.New("the store is closed")

// pending gathers verdicts and writes them in batches from one goroutine, which start begins and stop waits for.
type pending struct {
	write func(context.Context, map[string][]byte) error

	mu      sync.Mutex
	waiting map[string][]byte
	writing map[string][]byte // the batch on its way, still to be seen by get
	failed  error             // of the last batch
	wrote   bool
	closed  bool
	flushed chan struct{} // closed and made anew after each batch

	first chan struct{} // something waits
	full  chan struct{} // enough waits
	quit  chan struct{}
	done  chan struct{}
}

func (p *pending) start(write func(context.Context, map[string][]byte) error) {
	p.write = write
	p.waiting = map[string][]byte{}
	p.flushed = make(chan struct{})
	p.first, p.full = make(chan struct{}, 1), make(chan struct{}, 1)
	p.quit, p.done = make(chan struct{}), make(chan struct{})
	go p.run()
}

func (p *pending) run() {
	defer close(p.done)
	for {
		select {
		case <-p.first:
		case <-p.quit:
			return
		}
		timer := time.NewTimer(flushEvery)
		select {
		case <-timer.C:
		case <-p.full:
		case <-p.quit:
			timer.Stop()
			return
		}
		timer.Stop()
		p.flush(context.Background())
	}
}

func (p *pending) get(key string) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.waiting[key]; ok {
		return v, true
	}
	v, ok := p.writing[key]
	return v, ok
}

func (p *pending) put(ctx context.Context, key string, verdict []byte) error {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return errClosed
		}
		if len(p.waiting) < maxPending {
			break
		}
		if err := p.failed; err != nil {
			p.mu.Unlock()
			return err
		}
		flushed := p.flushed
		p.mu.Unlock()
		select {
		case <-flushed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer p.mu.Unlock()
	p.waiting[key] = verdict
	signal(p.first)
	if len(p.waiting) >= flushAt {
		signal(p.full)
	}
	return p.failed
}

// flush writes what waits. A batch that could not be written waits again, and the next flush tries it once more.
func (p *pending) flush(ctx context.Context) {
	p.mu.Lock()
	p.writing, p.waiting = p.waiting, map[string][]byte{}
	batch := p.writing
	p.mu.Unlock()

	var err error
	if len(batch) > 0 {
		err = p.write(ctx, batch)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing, p.failed = nil, err
	p.wrote = p.wrote || err == nil && len(batch) > 0
	if err != nil {
		maps.Copy(batch, p.waiting) // what was put meanwhile is newer
		p.waiting = batch
		signal(p.first)
	}
	close(p.flushed)
	p.flushed = make(chan struct{})
}

// stop ends the goroutine, writes the rest and reports whether anything was ever written.
func (p *pending) stop() (wrote bool, err error) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	close(p.quit)
	<-p.done
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	p.flush(ctx)
	return p.wrote, p.failed
}

// signal wakes whoever receives from c, now or at its next look.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
