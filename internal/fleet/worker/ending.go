package worker

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

// lastWord is how long a worker that ends tries to send what it has held. NATS delivers a job again that was not
// answered.
const lastWord = 5 * time.Second

// lasting returns a context that outlives ctx by lastWord.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = natsconn.Pause(longer, lastWord)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}
