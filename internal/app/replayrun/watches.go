package replayrun

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Watches are the watches of a configuration, which a server keeps. Make them with OpenWatches.
type Watches struct {
	configs []WatchConfig
	log     *slog.Logger
	// RunRemote is that of each watch; set it before Keep.
	RunRemote func(ctx context.Context, id string, spec runspec.Spec) error
}

// OpenWatches reads the watches of the configuration of s. They look at the log of a store, and keep what they find
// there. Secret signs what webhooks are sent. A faulty watch is an error (source.IsInvalid).
func OpenWatches(s *wire.Setup, store, secret string) (*Watches, error) {
	all := &Watches{log: s.Log}
	if all.log == nil {
		all.log = slog.New(slog.DiscardHandler)
	}
	file := s.Config()
	for _, w := range file.Watches {
		c, err := watchOf(&w)
		if err != nil {
			return nil, source.Invalid("%s: watch %q: %w", file.Path, w.Name, err)
		}
		c.Setup, c.Store, c.Secret = s, store, secret
		all.hear(c)
		all.configs = append(all.configs, *c)
	}
	return all, nil
}

// watchOf is a watch as it is written in a configuration.
func watchOf(w *config.Watch) (*WatchConfig, error) {
	zone, err := replay.ReadZone(w.Timezone)
	if err != nil {
		return nil, err
	}
	days, err := replay.ReadDays(w.Since, w.Until, zone)
	if err != nil {
		return nil, err
	}
	c := &WatchConfig{Alert: w.Alert, Limit: w.Workers}
	c.Watching = replay.Watching{
		Name: w.Name, Since: days.From, Until: days.To, Every: w.Every, Metrics: w.Metrics, Alpha: w.Alpha,
		Cluster: replay.Clustering(w.Cluster),
	}
	if w.Every == 0 {
		c.Watching.Every = 24 * time.Hour
	}
	if len(w.Metrics) == 0 {
		c.Watching.Metrics = replay.DefaultWatched()
	}
	if w.Alpha == 0 {
		c.Watching.Alpha = replay.DefaultAlpha
	}
	if w.Cluster == "" {
		c.Watching.Cluster = replay.ByAuto
	}
	c.Spec = replay.Spec{
		Candidate: w.Candidate, Baseline: w.Baseline, FlowID: w.Flow, FirstDay: w.Since, LastDay: w.Since,
		Timezone: w.Timezone, SessionGap: w.SessionGap,
		MaxExtraTurns: replay.DefaultMaxExtraTurns,
		Mode:          replay.Mode(w.Mode), MinTurns: 1, Side: replay.After, Gate: replay.GatePaired,
		Rules: replay.DefaultRules(), Workers: cmp.Or(w.Workers, DefaultWorkers), TurnTimeout: DefaultTurnTimeout,
		Slow: cmp.Or(w.Slow, replay.DefaultSlow),
	}
	if w.Mode == "" {
		c.Spec.Mode = replay.Recorded
	}
	if w.MinTurns != nil {
		c.Spec.MinTurns = *w.MinTurns
	}
	if err := c.Spec.Rules.SetMargins(w.Margin); err != nil {
		return nil, err
	}
	c.Flows, c.Prompts = w.Flows, w.Prompts
	spec := c.Spec
	return c, errors.Join(c.Watching.Check(), spec.Check())
}

// hear writes looks, alarms and troubles to the log.
func (all *Watches) hear(c *WatchConfig) {
	log := all.log.With("watch", c.Watching.Name)
	c.Took = func(look replay.Interim) {
		level, said := slog.LevelInfo, "the watch has looked"
		switch {
		case look.New == 0:
			level, said = slog.LevelWarn, "the watch has looked and found no new session: was the log imported?"
		case look.Lost > 0:
			level, said = slog.LevelWarn, "the watch has looked, and an agent failed in some sessions"
		}
		log.Log(context.Background(), level, said, "until", look.Until, "new", look.New, "lost", look.Lost, "sessions",
			look.Sessions, "found", variants.WatchLine(&look, c.Watching.Metrics))
	}
	c.Alarmed = func(look replay.Interim) {
		log.Error("alarm: the candidate is worse", "until", look.Until, "found",
			variants.WatchLine(&look, c.Watching.Metrics))
	}
	c.Trouble = func(err error) { log.Warn("the watch has trouble", "error", err) }
}

// watchAgain is the wait before a watch that could not go on is tried again.
const watchAgain = time.Minute

// Run keeps the watches until ctx ends. A look that it breaks off goes on when the watches are kept again, here or by
// another server of the store.
func (all *Watches) Run(ctx context.Context) {
	var each sync.WaitGroup
	for _, c := range all.configs {
		c.RunRemote = all.RunRemote
		each.Go(func() { all.keep(ctx, c) })
	}
	each.Wait()
}

func (all *Watches) keep(ctx context.Context, c WatchConfig) {
	for {
		_, err := Watch(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			all.log.Info("the watch has ended", "watch", c.Watching.Name)
			return
		}
		all.log.Error("the watch cannot go on; it is tried again", "watch", c.Watching.Name, "error", err, "after",
			watchAgain)
		select {
		case <-time.After(watchAgain):
		case <-ctx.Done():
			return
		}
	}
}
