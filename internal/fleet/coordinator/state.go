package coordinator

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
)

// NewMetrics returns the metrics of this process, which has a version.
func NewMetrics(version string) *metrics.Metrics { return metrics.New(version, evaluation.Commit()) }

// state tells the metrics what is under way.
type state struct{ *Service }

var _ metrics.State = state{}

// Jobs returns how many jobs of all runs wait, and how many are held.
func (s state) Jobs(ctx context.Context) (waiting, running int, err error) { return s.Queue.Depth(ctx) }

// Workers returns how many processes hold conversations.
func (s state) Workers(ctx context.Context) (int, error) {
	all, err := s.Conn.Workers(ctx)
	return len(all), err
}

// Active returns how many runs are led here.
func (s state) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active)
}

// setActive keeps whether a run that is led here has not ended.
func (s *Service) setActive(id string, active bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if active {
		s.active[id] = true
		return
	}
	delete(s.active, id)
}
