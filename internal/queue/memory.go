// Package queue carries jobs from the orchestrator to its workers.
package queue

import (
	"context"

	"rehearse/internal/orchestrator"
)

// Memory is a queue within one process. It is safe for concurrent use.
type Memory struct{ jobs chan orchestrator.Job }

var _ orchestrator.Queue = (*Memory)(nil)

// NewMemory returns a queue that holds at most room jobs.
func NewMemory(room int) *Memory { return &Memory{make(chan orchestrator.Job, room)} }

// Push waits for room and adds a job.
func (m *Memory) Push(ctx context.Context, j orchestrator.Job) error {
	select {
	case m.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pull waits for a job and takes it.
func (m *Memory) Pull(ctx context.Context) (orchestrator.Job, error) {
	select {
	case j := <-m.jobs:
		return j, nil
	case <-ctx.Done():
		return orchestrator.Job{}, ctx.Err()
	}
}
