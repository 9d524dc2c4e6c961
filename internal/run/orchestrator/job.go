package orchestrator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// JobSchema is the version of Job. A worker leaves jobs of other versions alone.
const JobSchema = 1

// The kinds of jobs.
const (
	KindSuite    = runspec.KindSuite
	KindReplay   = runspec.KindReplay
	KindClassify = runspec.KindClassify
	KindE2E      = runspec.KindE2E
)

// Job is one conversation to hold, as data: it names nothing of the disk of whoever asked for it.
type Job struct {
	Schema int        `json:"schema"`
	Run    string     `json:"run"`
	Kind   string     `json:"kind"`
	Key    result.Key `json:"key"`
	// Cost is what the conversation is expected to take, as Plan.Costs has it.
	Cost float64 `json:"cost,omitempty"`
	// Commands is true when only workers that may start programs can hold it.
	Commands bool `json:"commands,omitempty"`
	// Payload says where the run is described; only its workers read it.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Delivery is a job in the hands of a worker, who ends it with exactly one call of Ack, Retry or Reject. Extend may be
// called at any time before, also by another goroutine.
type Delivery interface {
	Job() Job
	// Attempt counts the deliveries of the job, from 1.
	Attempt() int
	// Ack says that the job is done.
	Ack(ctx context.Context) error
	// Extend says that the job is still worked on, so that nobody else gets it.
	Extend(ctx context.Context) error
	// Retry gives the job back, to be delivered again after a while.
	Retry(ctx context.Context, after time.Duration) error
	// Reject gives the job up, and keeps the reason.
	Reject(ctx context.Context, why string) error
}

// Queue carries jobs to workers. Implementations are safe for concurrent use.
type Queue interface {
	// Push adds a job. A job that is queued already, or held, is not added again.
	Push(ctx context.Context, j Job) error
	// Pull waits for a job.
	Pull(ctx context.Context) (Delivery, error)
}

// Return is what became of a job.
type Return struct {
	Key result.Key
	// Record is the result. Without one, Fault says why the conversation could not be held; without both it was
	// interrupted, or Lost.
	Record *result.Test
	Fault  string
	// Attempts are those of a conversation that was held more than once.
	Attempts []result.Attempt
	// Body is the result of an item of a Stream, as a worker elsewhere has sent it, and Worker its name.
	Body   json.RawMessage
	Worker string
	// Lost is true when no queue and no worker has the job any more: it is put in again.
	Lost bool
	// Err says that the run cannot go on.
	Err error
	// Settle, if set, is called once the record is kept, or was kept before.
	Settle func()
}

// Returns bring what became of the jobs of a run.
type Returns interface {
	// Next waits for the next return. An error ends the run.
	Next(ctx context.Context) (Return, error)
}
