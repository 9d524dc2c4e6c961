// Package service leads runs that were submitted to a server: it keeps them in the store, has their conversations held by workers over NATS, and
// goes on with those that another server, or an earlier start of this one, has left.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"rehearse/internal/artifact"
	"rehearse/internal/evaluation"
	"rehearse/internal/fleet"
	"rehearse/internal/metrics"
	"rehearse/internal/outbound"
	"rehearse/internal/queue"
	"rehearse/internal/result"
	"rehearse/internal/runspec"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
	"rehearse/internal/worker"
)

// Config is what a service works with. Store, Conn, Queue, Dir and Owner are required.
type Config struct {
	Store *store.Fleet
	Conn  *fleet.Conn
	Queue *queue.JetStream
	// History is the address of the store with logged events and variants; empty where no sessions are replayed.
	History string
	// Setup are the options with which runs are opened here: what they may see of the process. Without Submitted, they may see nothing.
	Setup setup.Options
	// Dir keeps what a leader needs of a run while it leads it. It may be lost.
	Dir string
	// Owner names this server among all that lead runs.
	Owner string
	// Lease is how long a server leads without a sign of life (15s), MaxRuns how many runs it leads at once (4), Window how many conversations of a
	// run are queued or held at once at least (512).
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
	Artifacts artifact.Place
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
		c.Setup.Submitted = &setup.Submitted{}
	}
	if c.Webhooks.Client == nil {
		c.Webhooks.Client = outbound.Client(outsider(c.Setup.Submitted))
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		Config: c, news: make(chan struct{}, 1), endings: make(chan struct{}, 1), leading: map[string]bool{}, active: map[string]bool{},
		incoming: map[string]int{}, offered: map[string]map[string]bool{},
	}
	s.Metrics.Lead(state{s})
	return s
}

// InvalidError says why a spec cannot be run.
type InvalidError struct {
	Message string
	// Problems are those of its suites and configurations, with paths of the bundle.
	Problems source.Problems
}

func (e *InvalidError) Error() string { return e.Message }

// Check plans a run and returns its counts and names. It asks nothing. The error of a spec that cannot be run is an *InvalidError or a
// *store.MissingBlobsError, that of one that names what it may not a *setup.RefusedError.
func (s *Service) Check(ctx context.Context, spec runspec.Spec, by Caller) (p Checked, err error) {
	switch suites := spec.Kind == "" || spec.Kind == runspec.KindSuite; {
	case suites && (len(spec.Suites) == 0 || len(spec.Files) == 0):
		return p, &InvalidError{Message: "a run needs `suites`, and in `files` everything that they read"}
	case len(spec.Files) == 0 && spec.Kind != runspec.KindReplay: // which says itself what of a variant or target is missing
		return p, &InvalidError{Message: "a run of the kind " + spec.Kind + " needs in `files` everything that it reads"}
	}
	if spec.IsLook() {
		return p, &InvalidError{Message: "replay: `look` is for the watches of the server's own configuration: leave it out"}
	}
	if err := s.checkBaseline(ctx, spec.Baseline); err != nil {
		return p, err
	}
	if err := s.checkBlobs(ctx, spec); err != nil {
		return p, err
	}
	p, err = s.plan(ctx, spec, func(*evaluation.Evaluation) {})
	if refused := s.checkCommands(p, by); refused != nil {
		return p, refused
	}
	if err != nil {
		return p, err
	}
	if p.Conversations > maxConversations {
		return p, &InvalidError{Message: fmt.Sprintf("the run has %d conversations: one run has at most %d", p.Conversations, maxConversations)}
	}
	return p, nil
}

// Checked is what a run will do, with its fingerprint.
type Checked struct {
	evaluation.Planned
	Fingerprint string
	// programs is true of a run that starts some, also where it cannot be planned.
	programs bool
}

// plan plans a run whose files are in the spec or in the store. look is given what was planned of suites or items, which nobody holds.
func (s *Service) plan(ctx context.Context, spec runspec.Spec, look func(*evaluation.Evaluation)) (p Checked, err error) {
	opened, err := worker.Unpack(ctx, s.Dir, spec, s.Store.Blob, s.Setup)
	if err != nil {
		return p, invalid(err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	spec.Files, spec.Baseline = nil, ""
	if spec.Webhook != nil {
		opened.Setup.NamesAddress("the webhook", spec.Webhook.URL)
	}
	opened.Setup.NamesAddress("the judge", spec.Judge)
	opened.Setup.NamesAddress("the user", spec.User)
	if spec.Kind == runspec.KindReplay {
		return s.planReplay(ctx, opened, spec)
	}
	_, c, err := worker.Planned(evaluation.Config{Setup: opened.Setup, Spec: spec})
	var e *evaluation.Evaluation
	if err == nil {
		e, err = evaluation.New(ctx, c)
	}
	p.programs = opened.Setup.StartsPrograms()
	if err != nil {
		return p, invalid(err)
	}
	if err := e.Within(ctx); err != nil {
		return p, invalid(opened.Masked(err))
	}
	if err := e.Priced(ctx); err != nil {
		return p, invalid(opened.Masked(err))
	}
	p.Planned = e.Planned()
	look(e)
	p.Fingerprint, err = e.Fingerprint()
	return p, invalid(err)
}

// Caller is who submits a run.
type Caller struct {
	// Commands is true of whoever may submit runs that start programs.
	Commands bool
}

// checkCommands refuses a run that starts programs where it may not.
func (s *Service) checkCommands(p Checked, by Caller) error {
	refused := &setup.RefusedError{Code: setup.RefusedCommands, Message: "the run starts programs"}
	switch {
	case !p.programs:
		return nil
	case s.Setup.NoCommands:
		refused.Hint = "start the server and its workers with --allow-commands, or leave out targets and graders that are commands"
	case !by.Commands:
		refused.Hint = "submit it with a token of the scope admin"
	default:
		return nil
	}
	return refused
}

// checkBlobs refuses files that are named by a hash and not there.
func (s *Service) checkBlobs(ctx context.Context, spec runspec.Spec) error {
	hashes := blobsOf(spec)
	if len(hashes) == 0 {
		return nil
	}
	missing, err := s.Store.MissingBlobs(ctx, hashes)
	if err == nil && len(missing) > 0 {
		err = &store.MissingBlobsError{SHA256: missing}
	}
	return err
}

// checkBaseline refuses what is no run of this store that has ended.
func (s *Service) checkBaseline(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	run, err := s.Store.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return &InvalidError{Message: fmt.Sprintf("the baseline %s is no run of this server: `rehearse runs list` shows its runs", id)}
	case err != nil:
		return err
	case !run.Status.Ended():
		return &InvalidError{Message: fmt.Sprintf("the baseline %s is %s: compare with a run that has ended", id, run.Status)}
	}
	return nil
}

// invalid turns a mistake of whoever submitted a spec into an *InvalidError.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	if problems, ok := errors.AsType[source.Problems](err); ok {
		return &InvalidError{Message: "what its files say cannot be run", Problems: problems}
	}
	if source.IsInvalid(err) || errors.Is(err, source.ErrOutside) {
		return &InvalidError{Message: err.Error()}
	}
	return err
}

// Submit keeps a run, which is begun when it is its turn. A key that was used within a day gives the run that it was used for; created is false
// then.
func (s *Service) Submit(ctx context.Context, spec runspec.Spec, key string, by Caller) (run store.Run, created bool, err error) {
	return s.create(ctx, spec, key, "", by)
}

// create keeps a run of a schedule, or of none.
func (s *Service) create(ctx context.Context, spec runspec.Spec, key, schedule string, by Caller) (run store.Run, created bool, err error) {
	planned, err := s.Check(ctx, spec, by)
	if err != nil {
		return run, false, err
	}
	n, err := s.newRun(spec, planned)
	if err != nil {
		return run, false, err
	}
	n.Key = key
	if schedule != "" {
		n.Run.Schedule = &schedule
	}
	if run, created, err = s.Store.CreateRun(ctx, n); err != nil {
		return run, false, err
	}
	s.submitted()
	return run, created, nil
}

// submitted has waiting runs looked for.
func (s *Service) submitted() {
	select {
	case s.news <- struct{}{}:
	default: // there is a signal already
	}
}

// newRun returns what is kept of a run that was checked.
func (s *Service) newRun(spec runspec.Spec, planned Checked) (n store.NewRun, err error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return n, err
	}
	progress := store.RunProgress{Conversations: &planned.Conversations}
	if spec.Kind == runspec.KindReplay { // it is known once the log has been read
		progress.Conversations = nil
	}
	var unheld result.Run
	unheld.Count(&result.Tallies{}, planned.ByTarget)
	return store.NewRun{
		Run: store.Run{
			ID: evaluation.RunID(s.Now()), Schema: runspec.Schema, Kind: cmp.Or(spec.Kind, "suite"), Name: spec.Name, Labels: spec.Labels,
			Fingerprint: planned.Fingerprint, Suites: planned.Suites, Targets: planned.Targets,
			Progress: progress,
		},
		Spec: data, Blobs: blobsOf(spec), MaxWaiting: maxWaiting, Unheld: &unheld.Totals,
	}, nil
}

// blobsOf returns the hashes by which a spec names files.
func blobsOf(spec runspec.Spec) (hashes []string) {
	for _, f := range spec.Files {
		if f.SHA256 != "" {
			hashes = append(hashes, f.SHA256)
		}
	}
	return hashes
}

// Cancel ends a run. Conversations under way are cut off within a second; what was finished stays.
func (s *Service) Cancel(ctx context.Context, id string) (store.Run, error) {
	ended := s.Metrics.Ending()
	run, err := s.Store.CancelRun(ctx, id)
	switch {
	case err != nil:
		ended("")
	case run.Status.Ended(): // it waited, and nobody led it
		ended(string(run.Status))
	default:
		ended("")
		err = s.Conn.Cancel(ctx, id)
	}
	return run, err
}

// Run leads runs until stop is closed or ctx ends, in the order of their submission. Runs under way are then given up, and go on elsewhere or after
// the next start.
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
func (s *Service) begin(ctx context.Context, cancels *fleet.Cancels, runs *sync.WaitGroup) {
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
		lease, ok, err := s.Store.TakeLease(ctx, store.RunLease(run.ID), s.Owner, s.Lease)
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
