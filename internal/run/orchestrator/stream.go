package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Item is a job that needs nothing of others, such as a logged session that is replayed.
type Item struct {
	Key result.Key
	// Cost and Commands are those of a Job.
	Cost     float64
	Commands bool
	// Run holds the item in this process; its error goes to Ended.
	Run func(ctx context.Context) error
	// Payload returns what workers elsewhere hold it by. It is called whenever the job is put in.
	Payload func(ctx context.Context) ([]byte, error)
	// Ended is told what became of the item, once. It is not told when the stream is closed before.
	Ended func(Return)
}

// StreamConfig is what a Stream works with. Places and Queue are required.
type StreamConfig struct {
	RunID, Kind string
	// Workers is how many items are under way at once, Room how many bytes their payloads have together; 0 is no bound.
	Workers  int
	MaxBytes int64
	Queue    Queue
	// Returns bring what workers elsewhere have held; nil has the items held in this process.
	Returns Returns
	// Log gets the stacks of panics at debug level; nil discards them.
	Log *slog.Logger
}

// Stream has items held side by side, in the order in which they are begun. It is safe for concurrent use. Use
// NewStream, and Close it.
type Stream struct {
	StreamConfig
	places chan struct{}
	room   *semaphore.Weighted
	leave  context.CancelFunc
	group  sync.WaitGroup

	mu   sync.Mutex
	open map[result.Key]*begun
	// early are returns of jobs that an earlier leader has put in and this one has not begun yet. Past are the items
	// that have ended, true once they are stored; both are needed only where workers elsewhere hold them.
	early map[result.Key]Return
	past  map[result.Key]bool
	// broken is why no more returns come.
	broken error
}

// begun is an item under way.
type begun struct {
	Item
	size int64
}

// NewStream starts the workers of this process, or the receiving of what others return. They end with ctx.
func NewStream(ctx context.Context, c StreamConfig) *Stream {
	s := &Stream{
		StreamConfig: c, places: make(chan struct{}, c.Workers), open: map[result.Key]*begun{},
		early: map[result.Key]Return{}, past: map[result.Key]bool{},
	}
	if c.MaxBytes > 0 {
		s.room = semaphore.NewWeighted(c.MaxBytes)
	}
	ctx, s.leave = context.WithCancel(ctx)
	if c.Returns != nil {
		s.group.Go(func() { s.receive(ctx) })
		return s
	}
	for range c.Workers {
		s.group.Go(func() { s.work(ctx) })
	}
	return s
}

// Close ends the stream: what is under way is given up. Nobody is told of an item any more when it returns.
func (s *Stream) Close() {
	s.leave()
	s.group.Wait()
}

// Begin puts an item in. It waits for a place.
func (s *Stream) Begin(ctx context.Context, i Item) error {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	b := &begun{Item: i}
	job, err := s.job(ctx, b)
	if err == nil && s.room != nil {
		b.size = min(int64(len(job.Payload)), s.MaxBytes)
		err = s.room.Acquire(ctx, b.size)
	}
	if err != nil {
		<-s.places
		return err
	}
	s.mu.Lock()
	early, is := s.early[i.Key]
	delete(s.early, i.Key)
	broken := s.broken
	if broken == nil {
		s.open[i.Key] = b
	}
	s.mu.Unlock()
	switch {
	case broken != nil:
		return broken
	case is:
		s.end(early)
		return nil
	}
	return s.Queue.Push(ctx, job)
}

// Pass says that an item has ended before the stream began: what still comes of it changes nothing.
func (s *Stream) Pass(k result.Key) {
	if s.Returns == nil {
		return
	}
	s.mu.Lock()
	early := s.early[k]
	delete(s.early, k)
	s.past[k] = true
	s.mu.Unlock()
	settle(early)
}

func settle(r Return) {
	if r.Settle != nil {
		r.Settle()
	}
}

// job returns the job of an item.
func (s *Stream) job(ctx context.Context, b *begun) (j Job, err error) {
	j = Job{Schema: JobSchema, Run: s.RunID, Kind: s.Kind, Key: b.Key, Cost: b.Cost, Commands: b.Commands}
	if s.Returns != nil {
		j.Payload, err = b.Payload(ctx)
	}
	return j, err
}

// work holds items in this process, one after the other.
func (s *Stream) work(ctx context.Context) {
	for {
		d, err := s.Queue.Pull(ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		b := s.open[d.Job().Key]
		s.mu.Unlock()
		r := s.hold(ctx, b)
		_ = d.Ack(ctx) // a queue of this process forgets the job
		s.end(r)
	}
}

// hold holds an item. A panic is a fault of that item.
func (s *Stream) hold(ctx context.Context, b *begun) (r Return) {
	r.Key = b.Key
	defer func() {
		if fault := recover(); fault != nil {
			r.Fault = runner.Panicked(s.Log, fault).Error()
		}
	}()
	r.Err = b.Run(ctx)
	return r
}

// receive takes what workers elsewhere return, until ctx ends.
func (s *Stream) receive(ctx context.Context) {
	for {
		r, err := s.Returns.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.breakOff(err)
			return
		case r.Lost:
			err = s.again(ctx, r.Key)
		default:
			s.end(r)
		}
		if err != nil && ctx.Err() == nil {
			s.breakOff(err)
			return
		}
	}
}

// again puts a job in that NATS has lost.
func (s *Stream) again(ctx context.Context, k result.Key) error {
	s.mu.Lock()
	b := s.open[k]
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	j, err := s.job(ctx, b)
	if err != nil {
		return err
	}
	return s.Queue.Push(ctx, j)
}

// end tells of an item that has ended, and frees its place. A second return of it changes nothing: it is settled only
// once the first is stored, since it may be the same one that NATS sends again. A return of an item that is still to
// begin waits.
func (s *Stream) end(r Return) {
	s.mu.Lock()
	b := s.open[r.Key]
	stored, past := s.past[r.Key]
	delete(s.open, r.Key)
	switch {
	case b != nil && s.Returns != nil:
		s.past[r.Key] = false
		r.Settle = s.storing(r)
	case b == nil && !past && len(s.early) < max(sight, s.Workers): // else it is delivered again
		s.early[r.Key] = r
	}
	s.mu.Unlock()
	if b == nil {
		if stored {
			settle(r)
		}
		return
	}
	b.Ended(r)
	if s.room != nil {
		s.room.Release(b.size)
	}
	<-s.places
}

// storing returns what to call once the return of an item is stored.
func (s *Stream) storing(r Return) func() {
	return func() {
		settle(r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.past[r.Key] = true
	}
}

// breakOff ends all items: no returns come any more.
func (s *Stream) breakOff(err error) {
	s.mu.Lock()
	s.broken = errors.Join(errors.New("the run cannot be led any more"), err)
	var all []result.Key
	for k := range s.open {
		all = append(all, k)
	}
	s.mu.Unlock()
	for _, k := range all {
		s.end(Return{Key: k, Err: s.broken})
	}
}
