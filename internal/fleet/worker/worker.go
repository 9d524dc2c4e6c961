// Package worker holds conversations of runs that servers lead: it pulls jobs, has them held, and sends back what came
// of them. It keeps nothing.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Runner holds the jobs of one run. It is safe for concurrent use.
type Runner interface {
	// Run returns what came of a job; without a result it was interrupted.
	Run(ctx context.Context, j orchestrator.Job) (Completed, error)
	Close() error
}

// Completed is what came of a job.
type Completed struct {
	// Body is the result as it is sent to the leader; nil where there is none.
	Body json.RawMessage
	// Record is the record of a conversation; nil for a session that was replayed.
	Record *result.Test
}

// Config is what a worker works with. Conn, Queue, Open and Name are required.
type Config struct {
	Conn  *natsconn.Conn
	Queue *queue.JetStream
	// Open opens the run of a job, by what the job carries. Its error says why no conversation of the run can be held
	// here.
	Open func(ctx context.Context, run string, payload json.RawMessage) (Runner, error)
	// Name and Version are told to servers, Workers is how many conversations are held at once.
	Name, Version string
	Workers       int
	// Now is the clock; nil means time.Now. Log gets what goes wrong; nil discards it.
	Now func() time.Time
	Log *slog.Logger
}

// Worker holds conversations. Use New, and Run it once.
type Worker struct {
	Config
	cancels    *natsconn.Cancels
	runs       *runs
	busy, done atomic.Int64
}

// New returns a worker.
func New(c Config) *Worker {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{Config: c, runs: newRuns(c.Open)}
}

// Run holds conversations until stop is closed, and then those under way to their end, or until ctx ends. What is cut
// off goes back to the queue.
func (w *Worker) Run(ctx context.Context, stop <-chan struct{}) error {
	cancels, err := w.Conn.Cancels(ctx)
	if err != nil {
		if ctx.Err() != nil { // it was ended while it waited for NATS
			return nil
		}
		return err
	}
	w.cancels = cancels
	defer w.cancels.Close()
	defer w.runs.close()
	pulling, leave := context.WithCancel(ctx)
	defer leave()
	beating, silence := context.WithCancel(context.WithoutCancel(ctx))
	var beat, places sync.WaitGroup
	beat.Go(func() { w.Conn.Heartbeat(beating, w.state) })
	beat.Go(func() { w.tellForeign(beating) })
	for range w.Workers {
		places.Go(func() { w.work(ctx, pulling) })
	}
	select {
	case <-stop:
	case <-ctx.Done():
	}
	leave()
	places.Wait()
	silence()
	beat.Wait()
	return nil
}

// foreignPause is the time between two looks for jobs of other versions.
const foreignPause = 5 * time.Second

// tellForeign says that jobs of other versions of this program are in the queue, which are left alone, when the first
// of them are seen.
func (w *Worker) tellForeign(ctx context.Context) {
	told := false
	for looking := true; looking; looking = natsconn.Pause(ctx, foreignPause) == nil {
		n, err := w.Queue.Count(ctx)
		if err != nil {
			continue // the queue is away, which the pulling tells
		}
		if n.OtherVersions > 0 && !told {
			w.Log.Warn(
				"jobs of another version of this program are left alone: start a worker of that version for them",
				"jobs", n.OtherVersions)
		}
		told = n.OtherVersions > 0
	}
}

func (w *Worker) state() natsconn.Worker {
	return natsconn.Worker{
		Name: w.Name, Version: w.Version, Workers: w.Workers, Busy: int(w.busy.Load()), Done: int(w.done.Load()),
	}
}

// work holds conversations, one after the other.
func (w *Worker) work(ctx, pulling context.Context) {
	for pulling.Err() == nil {
		d, err := w.Queue.Next(pulling)
		if err != nil {
			if pulling.Err() == nil {
				w.Log.Warn("the queue cannot be read", "error", err)
				_ = natsconn.Pause(pulling, time.Second)
			}
			continue
		}
		w.busy.Add(1)
		w.take(ctx, d)
		w.busy.Add(-1)
		w.done.Add(1)
	}
}

// take holds the conversation of one delivery and ends the delivery.
func (w *Worker) take(ctx context.Context, d *queue.Delivery) {
	j := d.Job()
	log := w.jobLog(j, d.Attempt())
	ending, ended := lasting(ctx)
	defer ended()
	held, stop := w.cancels.Context(trace.Attempted(ctx, d.Attempt()), j.Run)
	defer stop()
	o := natsconn.Return{
		Run: j.Run, Kind: j.Kind, Key: j.Key, Attempt: d.Attempt(), Worker: w.Name, StartedAt: w.Now().UTC(),
		Tries: d.Tries(),
	}
	// nobody may listen
	_ = w.Conn.Notify(natsconn.Notice{
		Run: j.Run, Kind: j.Kind, Key: j.Key, Attempt: d.Attempt(), Worker: w.Name, At: o.StartedAt,
	})
	beating, silence := context.WithCancel(held)
	var extending sync.WaitGroup
	extending.Go(func() { w.extend(beating, d) })
	came, err := w.hold(held, j, &o)
	silence()
	extending.Wait()
	switch {
	case errors.Is(context.Cause(held), natsconn.ErrCancelled): // the run is over
		log.Info("the run was cancelled: the conversation is given up")
		err = d.Ack(ending)
	case ctx.Err() != nil && o.Record == nil && o.Fault == "":
		log.Info("the conversation goes back to the queue: this worker ends")
		err = d.Retry(ending, 0)
	case errors.Is(err, natsconn.ErrNoBundle):
		// whoever leads the run misses the job, and puts it in again with what it needs
		log.Warn("what the job needs is gone from NATS; its server puts it in again", "error", err)
		err = d.Ack(ending)
	case exhausted(err):
		log.Warn("the conversation goes back to the queue: this machine has no room for it", "error", err)
		err = d.Retry(ending, 0)
		_ = natsconn.Pause(ctx, roomPause) // others are to take it
	case err != nil:
		log.Warn("the conversation cannot be held here", "error", err)
		o.Fault = err.Error()
		err = w.send(ending, d, o)
	default:
		logCompleted(log, came.Record, &o)
		err = w.send(ending, d, o)
	}
	if err != nil && !errors.Is(err, queue.ErrLapsed) {
		log.Warn("a job was held in vain and is delivered again", "error", err)
	}
}

// hold has the conversation held. An error says why it cannot be, here or anywhere.
func (w *Worker) hold(ctx context.Context, j orchestrator.Job, o *natsconn.Return) (held Completed, err error) {
	holder, done, err := w.openRun(ctx, j)
	if err != nil {
		return held, fmt.Errorf("worker %s: %w", w.Name, err)
	}
	defer done()
	held, err = holder.Run(ctx, j)
	o.EndedAt = w.Now().UTC()
	if err == nil {
		o.Record = held.Body
	}
	return held, err
}

const (
	// filesTries is how often a worker looks for the files of a run that NATS has lost, filesPause the time between two
	// looks. The server that leads the run puts them in again.
	filesTries = 30
	filesPause = time.Second
)

// roomPause is how long a place takes no job when its machine has no room for one.
const roomPause = 5 * time.Second

// exhausted reports whether an error is one of this machine alone, which has no room on its disk or no files left to
// open.
func exhausted(err error) bool {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// openRun returns the run of a job as runs.get does. It waits for files that NATS has lost.
func (w *Worker) openRun(ctx context.Context, j orchestrator.Job) (h Runner, done func(), err error) {
	for try := 1; ; try++ {
		h, done, err = w.runs.get(ctx, j)
		if !errors.Is(err, natsconn.ErrNoBundle) || try == filesTries || natsconn.Pause(ctx, filesPause) != nil {
			return h, done, err
		}
	}
}

func (w *Worker) send(ctx context.Context, d *queue.Delivery, o natsconn.Return) error {
	err := w.Conn.Send(ctx, o)
	if errors.Is(err, natsconn.ErrTooLarge) {
		o.Record, o.Fault = nil, err.Error()
		err = w.Conn.Send(ctx, o)
	}
	if err != nil {
		return err
	}
	return d.Ack(ctx)
}

// extend says again and again that the job is worked on.
func (w *Worker) extend(ctx context.Context, d *queue.Delivery) {
	for natsconn.Pause(ctx, w.Queue.AckWait()/3) == nil {
		if err := d.Extend(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("a job under way cannot be kept", "error", err)
		}
	}
}
