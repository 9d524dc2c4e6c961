// Package queue carries jobs from the orchestrator to its workers.
package queue

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Memory is a queue within one process, whose workers end with it: a job that is pulled is delivered again only when it
// is given back. It is safe for concurrent use.
type Memory struct {
	jobs  chan delivery
	mu    sync.Mutex
	known map[name]bool // queued or held
}

var _ orchestrator.Queue = (*Memory)(nil)

// name is what a queue knows a job by.
type name struct {
	run, kind string
	key       result.Key
}

func nameOf(j orchestrator.Job) name { return name{j.Run, j.Kind, j.Key} }

// NewMemory returns a queue that holds at most room jobs.
func NewMemory(room int) *Memory {
	return &Memory{jobs: make(chan delivery, room), known: map[name]bool{}}
}

// Push waits for room and adds a job.
func (m *Memory) Push(ctx context.Context, j orchestrator.Job) error {
	m.mu.Lock()
	known := m.known[nameOf(j)]
	m.known[nameOf(j)] = true
	m.mu.Unlock()
	if known {
		return nil
	}
	err := m.push(ctx, delivery{job: j, attempt: 1, from: m})
	if err != nil {
		m.forget(j)
	}
	return err
}

func (m *Memory) forget(j orchestrator.Job) {
	m.mu.Lock()
	delete(m.known, nameOf(j))
	m.mu.Unlock()
}

func (m *Memory) push(ctx context.Context, d delivery) error {
	select {
	case m.jobs <- d:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pull waits for a job and takes it.
func (m *Memory) Pull(ctx context.Context) (orchestrator.Delivery, error) {
	select {
	case d := <-m.jobs:
		return d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type delivery struct {
	job     orchestrator.Job
	attempt int
	from    *Memory
}

func (d delivery) Job() orchestrator.Job        { return d.job }
func (d delivery) Attempt() int                 { return d.attempt }
func (d delivery) Extend(context.Context) error { return nil }

func (d delivery) Ack(context.Context) error {
	d.from.forget(d.job)
	return nil
}

func (d delivery) Reject(context.Context, string) error {
	d.from.forget(d.job)
	return nil
}

func (d delivery) Retry(ctx context.Context, after time.Duration) error {
	again := delivery{d.job, d.attempt + 1, d.from}
	if after > 0 {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return d.from.push(ctx, again)
}
