package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
)

// ErrServed says that another server uses the folder.
var ErrServed = natsconn.ErrServed

// Options say how a process takes part in runs.
type Options struct {
	// Data is the folder of a server: its store, its NATS and what it needs of the runs that it leads.
	Data string
	// Store is where runs are kept, sqlite:PATH or postgres://….
	Store string
	// NATS is an address of NATS; empty starts an embedded server, which listens at Listen, if that is not empty. Token
	// is the password of either.
	NATS, Listen, Token string
	// Name is the name of the process as a worker, Workers how many conversations it holds at once; 0 holds none.
	Name    string
	Workers int
	// MaxRuns, AckWait and Lease are those of Config and queue.Options.
	MaxRuns        int
	AckWait, Lease time.Duration
	// Artifacts is where artifacts are kept: a folder, nats, or s3://BUCKET/PREFIX; empty means a folder in Data.
	Artifacts string
	// Webhooks and Retention are those of Config.
	Webhooks  Webhooks
	Retention time.Duration
	// AllowCommands lets runs start programs.
	AllowCommands bool
	// Allowed is what runs that are led here may name, wherever they are held.
	Allowed wire.Submitted
	// Setup are the options that runs are opened with.
	Setup   wire.Options
	Version string
	// Metrics count what the process does. NewMetrics makes them.
	Metrics *metrics.Metrics
	Log     *slog.Logger
}

// Running is a process that leads runs, holds their conversations, or both. Drain it, and then Close it.
type Running struct {
	*Service
	// Worker is nil where no conversations are held.
	worker  *worker.Worker
	stop    chan struct{}
	stopped sync.Once
	cut     context.CancelFunc
	group   sync.WaitGroup
	// gathering is held while the files of runs are made for the pages.
	gathering sync.Mutex
	// NATSAddr is where workers can join the embedded NATS; empty where they cannot.
	NATSAddr string
	last     []func() error
	log      *slog.Logger
}

// Serve starts a server: it leads runs, and holds conversations where Workers is not 0.
func Serve(ctx context.Context, o Options) (*Running, error) {
	r, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	runs, closeStore, err := storage.OpenRuns(ctx, o.Store)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.last = append(r.last, closeStore)
	alone := o.NATS == "" && !storage.IsPostgres(o.Store)
	if alone { // the file is this server's
		if err := runs.GiveUpAllLeases(ctx); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	transport := httpclient.Transport()
	r.last = append(r.last, func() error { transport.CloseIdleConnections(); return nil })
	place, err := artifact.Open(cmp.Or(o.Artifacts, filepath.Join(o.Data, "artifacts")), r.Conn, o.getenv, transport)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Service = New(Config{
		Store: runs, History: o.Store, Artifacts: place, Conn: r.Conn, Queue: r.Queue, Setup: o.allowed(),
		Dir: filepath.Join(o.Data, "leading"), Owner: o.Name, Lease: o.Lease, MaxRuns: o.MaxRuns, Webhooks: o.Webhooks,
		Retention: o.Retention, Alone: alone, Version: o.Version, Metrics: o.Metrics, Log: o.Log,
	})
	working, cut := context.WithCancel(context.WithoutCancel(ctx))
	r.cut = cut
	r.group.Go(func() { r.tell(r.Run(working, r.stop)) })
	r.work(working, o, filepath.Join(o.Data, "holding"))
	return r, nil
}

// Join starts a worker of servers elsewhere.
func Join(ctx context.Context, o Options) (*Running, error) {
	r, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rehearse-worker-")
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.last = append(r.last, func() error { return os.RemoveAll(dir) })
	working, cut := context.WithCancel(context.WithoutCancel(ctx))
	r.cut = cut
	r.work(working, o, dir)
	return r, nil
}

// connect reaches NATS, or starts it.
func (o *Options) connect(ctx context.Context) (*Running, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "host"
		}
		o.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	r := &Running{Service: &Service{}, stop: make(chan struct{}), log: o.Log}
	o.Setup.Metrics = o.Metrics
	c := natsconn.ConnConfig{URL: o.NATS, Token: o.Token, Name: o.Name, OnLink: func(l natsconn.Link) {
		if l.Up {
			o.Log.Info("NATS can be reached")
			return
		}
		o.Log.Warn("NATS is waited for", "error", l.Err)
	}}
	if o.NATS == "" {
		server, err := natsconn.StartServer(ctx, natsconn.ServerConfig{
			Dir: filepath.Join(o.Data, "nats"), Listen: o.Listen, Token: o.Token, Log: o.Log,
		})
		if errors.Is(err, ErrServed) {
			return nil, source.Invalid("%w %s: choose another one with --data", err, o.Data)
		}
		if errors.Is(err, natsconn.ErrOpenListener) {
			return nil, source.Invalid("--nats-addr %s: %w: put one into REHEARSE_NATS_TOKEN", o.Listen, err)
		}
		if err != nil {
			return nil, err
		}
		r.last = append(r.last, func() error { server.Close(); return nil })
		if err := o.sweep(); err != nil { // the folder is this server's alone from here on
			return nil, errors.Join(err, r.Close())
		}
		c.Server, r.NATSAddr = server, server.Addr()
	}
	conn, err := natsconn.Connect(ctx, c)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.last = append(r.last, func() error { conn.Close(); return nil })
	jobs, err := queue.NewJetStream(ctx, conn, queue.Options{
		AckWait: o.AckWait, Commands: o.AllowCommands, Worker: o.Name,
	})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.last = append(r.last, func() error { jobs.Close(); return nil })
	if c.Server != nil && c.Server.NeverListened() {
		o.reclaim(ctx, jobs)
	}
	leased := natsconn.NewLimits(conn, jobs.AckWait())
	r.last = append(r.last, func() error { leased.Close(); return nil })
	r.Conn, r.Queue = conn, jobs
	o.Setup.Limits = worker.Limits(leased) // those of providers, over all processes
	return r, nil
}

// reclaim gives back the jobs of conversations that have died with an earlier server of the folder: nobody else can
// hold one.
func (o *Options) reclaim(ctx context.Context, jobs *queue.JetStream) {
	switch n, err := jobs.Reclaim(ctx); {
	case err != nil:
		o.Log.Warn("conversations that have died with this server before are held again when their time is over",
			"after", jobs.AckWait(), "error", err)
	case n > 0:
		o.Log.Info("conversations that have died with this server before are held again", "jobs", n)
	}
}

// sweep removes the files of runs that a crash has left.
func (o *Options) sweep() error {
	left, err := filepath.Glob(filepath.Join(o.Data, "leading", "files-*"))
	if err != nil {
		return err
	}
	for _, dir := range append(left, filepath.Join(o.Data, "holding")) {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what a crash has left: %w", err)
		}
	}
	return nil
}

// work starts holding conversations, with the files of their runs below dir.
func (r *Running) work(ctx context.Context, o Options, dir string) {
	if o.Workers == 0 {
		return
	}
	r.worker = worker.New(worker.Config{
		Conn: r.Conn, Queue: r.Queue, Name: o.Name, Version: o.Version, Workers: o.Workers, Log: o.Log,
		Open: worker.FromNATS(r.Conn, dir, o.allowed()),
	})
	r.group.Go(func() { r.tell(r.worker.Run(ctx, r.stop)) })
}

func (r *Running) tell(err error) {
	if err != nil {
		r.log.Error("runs cannot be led or held", "error", err)
	}
}

// allowed returns the options that runs are opened with.
func (o *Options) allowed() wire.Options {
	s := o.Setup
	s.NoCommands, s.Submitted = !o.AllowCommands, &o.Allowed
	return s
}

// getenv returns a variable of the process itself; empty where it is not set.
func (o *Options) getenv(name string) string {
	if o.Setup.LookupEnv == nil {
		return ""
	}
	value, _ := o.Setup.LookupEnv(name)
	return value
}

// Healthy returns what keeps the process from working: NATS or the store that cannot be reached.
func (r *Running) Healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := r.Conn.Check(ctx)
	if r.Store != nil { // a worker has none
		err = errors.Join(err, r.Store.Ping(ctx))
	}
	return err
}

// Drain takes no more jobs and waits until those under way have ended, or ctx has: then they go back to the queue.
func (r *Running) Drain(ctx context.Context) error {
	r.stopped.Do(func() { close(r.stop) })
	done := make(chan struct{})
	go func() {
		r.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	r.cut()
	<-done
	return nil
}

// Close ends what was started. What is still under way is cut off.
func (r *Running) Close() error {
	if r.cut != nil {
		r.cut()
	}
	r.stopped.Do(func() { close(r.stop) })
	r.group.Wait()
	var faults []error
	for _, closeIt := range slices.Backward(r.last) {
		faults = append(faults, closeIt())
	}
	return errors.Join(faults...)
}
