// Package coordinator leads runs that were submitted to a server: it keeps them in the store, has their conversations
// held by workers over NATS, and goes on with those that another server, or an earlier start of this one, has left.
package coordinator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Config is what a service works with. Store, Conn, Queue, Dir and Owner are required.
type Config struct {
	Store *store.Fleet
	Conn  *natsconn.Conn
	Queue *queue.JetStream
	// History is the address of the store with logged events and variants; empty where no sessions are replayed.
	History string
	// Setup are the options with which runs are opened here: what they may see of the process. Without Submitted, they
	// may see nothing.
	Setup wire.Options
	// Dir keeps what a leader needs of a run while it leads it. It may be lost.
	Dir string
	// Owner names this server among all that lead runs.
	Owner string
	// Lease is how long a server leads without a sign of life (15s), MaxRuns how many runs it leads at once (4), Window
	// how many conversations of a run are queued or held at once at least (512).
	Lease   time.Duration
	MaxRuns int
	Window  int
	// Retention is how long runs are kept after their end; 0 is for ever.
	Retention time.Duration
	// Webhooks say who is told of the ends of runs, and how.
	Webhooks Webhooks
	// Alone is true for a server that no other one shares the store with.
	Alone bool
	// Artifacts is where artifacts of runs are kept; nil keeps none.
	Artifacts artifact.Storage
	// Version is the program's.
	Version string
	// Metrics count what is led here; nil counts nothing.
	Metrics *metrics.Metrics
	// Now is the clock; nil means time.Now. Log gets what goes wrong; nil discards it.
	Now func() time.Time
	Log *slog.Logger
}

// The defaults and limits of a service.
const (
	defaultLease   = 15 * time.Second
	defaultMaxRuns = 4
	defaultWindow  = 512
	mostWindow     = 20_000
	// maxWaiting is how many runs may wait, maxConversations how many one may have.
	maxWaiting       = 1000
	maxConversations = 100_000
	// poll is the time between two looks for runs to lead.
	poll = 500 * time.Millisecond
)

// Service leads runs. It is safe for concurrent use. Use New, and Run it once.
type Service struct {
	Config
	// news has room for one signal: a run was submitted.
	news chan struct{}
	// endings has room for one signal: a run has ended here. unsigned tells once that there is no secret.
	endings  chan struct{}
	unsigned sync.Once

	// making are the files of runs that are made just now.
	making singleflight.Group

	mu      sync.Mutex
	leading map[string]bool
	// active are those of them that have not ended.
	active map[string]bool
	// offered are the bundles that each of them has put into NATS.
	offered map[string]map[string]bool

	// arriving guards incoming: how many conversations whose results are not stored yet have bytes under a hash.
	arriving sync.Mutex
	incoming map[string]int
}

// New returns a service.
func New(c Config) *Service {
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.MaxRuns == 0 {
		c.MaxRuns = defaultMaxRuns
	}
	if c.Window == 0 {
		c.Window = defaultWindow
	}
	if c.Setup.Submitted == nil {
		c.Setup.Submitted = &wire.Submitted{}
	}
	if c.Webhooks.Client == nil {
		c.Webhooks.Client = httpclient.Client(outsider(c.Setup.Submitted))
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		Config: c, news: make(chan struct{}, 1), endings: make(chan struct{}, 1), leading: map[string]bool{},
		active: map[string]bool{}, incoming: map[string]int{}, offered: map[string]map[string]bool{},
	}
	s.Metrics.Lead(state{s})
	return s
}

// Run leads runs until stop is closed or ctx ends, in the order of their submission. Runs under way are then given up,
// and go on elsewhere or after the next start.
func (s *Service) Run(ctx context.Context, stop <-chan struct{}) error {
	leading, leave := context.WithCancel(ctx)
	cancels, err := s.Conn.Cancels(leading)
	if err != nil {
		leave()
		if ctx.Err() != nil { // it was ended while it waited for NATS
			return nil
		}
		return err
	}
	defer cancels.Close()
	var runs sync.WaitGroup
	defer runs.Wait()
	defer leave()
	runs.Go(func() { s.keepSchedules(leading) })
	runs.Go(func() { s.sweep(leading) })
	runs.Go(func() { s.tellEnds(leading) })
	runs.Go(func() { s.retain(leading) })
	for {
		s.begin(leading, cancels, &runs)
		select {
		case <-s.news:
		case <-time.After(poll):
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// begin leads waiting runs, as many as there are places for.
func (s *Service) begin(ctx context.Context, cancels *natsconn.Cancels, runs *sync.WaitGroup) {
	waiting, err := s.Store.Unfinished(ctx, maxWaiting)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("the store of runs cannot be read", "error", err)
		}
		return
	}
	for _, run := range waiting {
		if run.CancelAt != nil { // in the store, beside the servers
			s.cancelLed(ctx, run.ID)
		}
		s.mu.Lock()
		free := len(s.leading) < s.MaxRuns && !s.leading[run.ID]
		if free {
			s.leading[run.ID] = true
		}
		s.mu.Unlock()
		if !free {
			continue
		}
		lease, ok, err := s.Store.AcquireLease(ctx, store.RunLease(run.ID), s.Owner, s.Lease)
		if err != nil || !ok {
			s.left(run.ID)
			continue
		}
		runs.Go(func() {
			defer s.left(run.ID)
			s.lead(ctx, cancels, run.ID, lease)
		})
	}
}

// cancelLed ends a run that is led here.
func (s *Service) cancelLed(ctx context.Context, id string) {
	s.mu.Lock()
	led := s.leading[id]
	s.mu.Unlock()
	if !led {
		return
	}
	if err := s.Conn.Cancel(ctx, id); err != nil && ctx.Err() == nil {
		s.Log.Warn("the run cannot be cancelled; it is tried again", "run_id", id, "error", err)
	}
}

func (s *Service) left(id string) {
	s.mu.Lock()
	delete(s.leading, id)
	s.mu.Unlock()
}
