package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// runsFlags are the flags of a process that takes part in runs: `rehearse serve` and `rehearse worker`.
type runsFlags struct {
	data, nats, natsAddr, name string
	artifacts                  string
	addr                       string // of a worker's probes
	workers, maxRuns           int
	ackWait, lease             time.Duration
	allowCommands              bool
	allowPrivate               bool
	allowEnv                   []string
	webhook                    string
	retention                  runspec.Age
}

// declareShared declares the flags that servers and workers have.
func (f *runsFlags) declareShared(flags *pflag.FlagSet, nats string) {
	flags.StringVar(&f.nats, "nats", "", nats)
	flags.IntVar(&f.workers, "workers", 8, "how many conversations of runs are held at once")
	flags.BoolVar(&f.allowCommands, "allow-commands", false, "let runs start programs that they name")
}

// declare declares the flags of a server.
func (f *runsFlags) declare(flags *pflag.FlagSet) {
	flags.BoolVar(&f.allowPrivate, "allow-private", false,
		"let runs name addresses that are not public, such as 127.0.0.1 and 10.0.0.1, and reach them")
	flags.StringSliceVar(&f.allowEnv, "allow-env", nil, "variables of the environment that runs may name, "+
		"here and on workers, such as SHOP_*; keys of providers need none")
	f.declareShared(flags, "NATS that many servers and workers share, nats://HOST:PORT (default: "+
		"one in this process; REHEARSE_NATS stands in)")
	flags.StringVar(&f.data, "data", wire.StateDir, "folder of the runs and of NATS; one server at a time uses it")
	flags.StringVar(&f.artifacts, "artifacts", "",
		"where artifacts of runs are kept: a folder, nats, or s3://BUCKET/PREFIX (default: artifacts/ in --data)")
	flags.StringVar(&f.natsAddr, "nats-addr", "", "address at which workers can join the NATS of this process; "+
		"off loopback it needs a password in REHEARSE_NATS_TOKEN")
	flags.IntVar(&f.maxRuns, "max-runs", 4, "how many runs are led at once; others wait")
	flags.DurationVar(&f.ackWait, "ack-wait", 30*time.Second,
		"after how long in silence a worker has lost its conversations")
	flags.StringVar(&f.webhook, "webhook", "",
		"address that is told of the end of every run; REHEARSE_WEBHOOK_SECRET signs what it is sent")
	flags.Var(&f.retention, "retention",
		"delete runs so long after their end, such as 30d, but for those with the label keep (default: never)")
	flags.Lookup("retention").DefValue = ""
	flags.DurationVar(&f.lease, "lease", 15*time.Second, "after how long in silence another server leads a run on")
}

// check refuses flags that are out of range.
func (f *runsFlags) check() error {
	for _, pattern := range f.allowEnv {
		if _, err := path.Match(pattern, ""); err != nil {
			return usage("--allow-env %q: write names of variables, in which * stands for any characters", pattern)
		}
	}
	switch {
	case f.workers < 0 || f.workers > 10_000:
		return usage("--workers %d is out of range: use 0 to 10000", f.workers)
	case f.maxRuns < 0:
		return usage("--max-runs cannot be negative")
	case f.ackWait < 0 || f.lease < 0:
		return usage("--ack-wait and --lease cannot be negative")
	case f.webhook == "":
		return nil
	}
	if err := runspec.CheckHook(f.webhook); err != nil {
		return usage("--webhook: %w", err)
	}
	return nil
}

func (f *runsFlags) options(env *Env, log *slog.Logger) coordinator.Options {
	return coordinator.Options{
		Data: f.data, NATS: cmp.Or(f.nats, env.Getenv("REHEARSE_NATS")), Listen: f.natsAddr,
		Token: env.Getenv("REHEARSE_NATS_TOKEN"), Name: f.name, Workers: f.workers, MaxRuns: f.maxRuns,
		Artifacts: f.artifacts, AckWait: f.ackWait, Lease: f.lease, AllowCommands: f.allowCommands,
		Webhooks:  coordinator.Webhooks{URL: f.webhook, Secret: env.Getenv("REHEARSE_WEBHOOK_SECRET")},
		Retention: time.Duration(f.retention),
		Allowed:   wire.Submitted{AllowPrivate: f.allowPrivate, AllowEnv: f.allowEnv},
		Setup:     wire.Options{Environ: env.Environ, LookupEnv: env.LookupEnv, Now: env.Now, Log: log},
		Version:   version(), Metrics: coordinator.NewMetrics(version()), Log: log,
	}
}

// serve starts leading and holding runs.
func (f *runsFlags) serve(ctx context.Context, env *Env, log *slog.Logger, store string) (*coordinator.Running, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	o := f.options(env, log)
	o.Store = store
	return coordinator.Serve(ctx, o)
}

func newWorker(env *Env) *cobra.Command {
	var f runsFlags
	var logFormat string
	var grace time.Duration
	c := &cobra.Command{
		Use:   "worker --nats URL",
		Short: "Hold conversations of runs that servers lead",
		Long: `Join the NATS of one or several servers (rehearse serve) and hold conversations of their runs. A worker keeps nothing: the files of a run come
from NATS, its results go back over it. Any number of workers may join.

With --addr it answers GET /livez (it runs), /healthz (it can work) and /metrics. Health is for everybody; the metrics are for programs of this
machine, and for bearers of the token in REHEARSE_TOKEN.

Ctrl-C and SIGTERM let conversations in flight finish; what is left after --grace goes back to the queue.`,
		Example: `  rehearse serve --nats-addr 127.0.0.1:4222
  rehearse worker --nats nats://127.0.0.1:4222
  REHEARSE_NATS_TOKEN=… rehearse worker --nats nats://nats.example:4222 --workers 32`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := openLog(env, logFormat)
			if err != nil {
				return err
			}
			if cmp.Or(f.nats, env.Getenv("REHEARSE_NATS")) == "" {
				return usage("a worker needs --nats URL, the NATS of its servers")
			}
			if err := f.check(); err != nil {
				return err
			}
			return outcome(f.join(c.Context(), env, log, grace))
		},
	}
	flags := c.Flags()
	f.declareShared(flags, "NATS of the servers, nats://HOST:PORT (REHEARSE_NATS stands in)")
	flags.StringVar(&f.addr, "addr", "", "address to answer /livez, /healthz and /metrics at, "+
		"for probes and Prometheus; port 0 takes a free one (default: none)")
	flags.StringVar(&f.name, "name", "", "name of the worker (default: host and process id)")
	flags.StringVar(&logFormat, "log", "text", "format of the log on stderr: text, json or off")
	flags.DurationVar(&grace, "grace", 15*time.Second,
		"after Ctrl-C, how long conversations in flight may take to finish")
	return c
}

// join holds conversations until a signal comes.
func (f *runsFlags) join(ctx context.Context, env *Env, log *slog.Logger, grace time.Duration) error {
	ctx, sent := env.traced(ctx, func(text string) { log.Warn("traces", "problem", text) })
	defer sent()
	o := f.options(env, log)
	probes := api.NewProbes(api.ProbesConfig{Metrics: o.Metrics, Token: env.Getenv(defaultTokenEnv), Log: log})
	if f.addr != "" { // before NATS is waited for
		stop, err := probes.Serve(ctx, api.Listening{
			Addr: f.addr, Log: log,
			Opened: func(at net.Addr) { fmt.Fprintf(env.Stdout, "listening on http://%s\n", at) },
		})
		if err != nil {
			return err
		}
		defer logged(log, stop)
	}
	var running *coordinator.Running
	stopped, err := env.begins(ctx, func(ctx context.Context) (err error) {
		running, err = coordinator.Join(ctx, o)
		return err
	})
	if err != nil || running == nil {
		return err
	}
	defer logged(log, running.Close)
	probes.Ready(running.Healthy)
	if !stopped {
		log.Info("holding conversations", "at once", f.workers)
		<-env.Signals
	}
	probes.Stopping()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return running.Drain(within)
}
