package wire

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Call sends one message to a target that no configuration needs to describe (target.Call), and waits for the answer as
// long as timeout; 0 leaves it to the target.
func (s *Setup) Call(ctx context.Context, t config.Target, message string,
	timeout time.Duration) (target.Exchange, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	return target.Call(ctx, t, s.parts(suite.Execution{Timeout: timeout}), message)
}
