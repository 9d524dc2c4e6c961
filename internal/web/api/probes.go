package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/metrics"
)

// ProbesConfig is what a server of probes uses. Metrics are required.
type ProbesConfig struct {
	Metrics *metrics.Metrics
	// Token admits other machines to the metrics; without one only programs of this machine read them.
	Token string
	// Log gets why the process is not healthy; nil discards it.
	Log *slog.Logger
}

// Probes tells of a process that serves nothing else: GET /livez says that it runs, GET /healthz that it can work, GET
// /metrics what it has counted. It is safe for concurrent use.
type Probes struct {
	http.Handler
	healthy  atomic.Pointer[func() error]
	stopping atomic.Bool
}

// NewProbes returns a server of probes, whose process is not healthy until Ready.
func NewProbes(c ProbesConfig) *Probes {
	p := &Probes{}
	p.Handler = counted(c.Metrics, Front(metricsRoutes(c.Metrics).handler(), FrontConfig{
		Access: access.New(access.Config{Token: c.Token}), Log: c.Log, Healthy: p.health, Stopping: p.stopping.Load,
	}))
	return p
}

// Ready says what keeps the process from working from now on: the error of a function that is quick.
func (p *Probes) Ready(healthy func() error) { p.healthy.Store(&healthy) }

// Stopping says that the process takes no more work.
func (p *Probes) Stopping() { p.stopping.Store(true) }

func (p *Probes) health() error {
	if healthy := p.healthy.Load(); healthy != nil {
		return (*healthy)()
	}
	return errors.New("the process is starting")
}

// Serve serves the probes until stop is called, which waits for requests in flight. The error is that of opening the
// port.
func (p *Probes) Serve(ctx context.Context, l Listening) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	l.Guarded = true // others are told of the health only
	opened, ended := make(chan struct{}), make(chan error, 1)
	tell := l.Opened
	l.Opened = func(at net.Addr) {
		close(opened)
		if tell != nil {
			tell(at)
		}
	}
	go func() { ended <- Serve(ctx, p, l) }()
	select {
	case <-opened:
		return func() error { cancel(); return <-ended }, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}
