package replayrun

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// WatchConfig says what is watched, and who is told.
type WatchConfig struct {
	// Config is that of each look. Its days and its id are the watch's to set.
	Config
	Watching replay.Watching
	// Alert is a webhook that is told of the alarm; empty tells none. Secret signs what it is sent.
	Alert, Secret string
	// RunRemote, if set, has a fleet replay the sessions of a look, by a run of that id, and returns when it has ended.
	// What it leaves is replayed here when the look is taken; everything is where it returns an error. Limit is how
	// many sessions it replays at once; 0 leaves it to the workers that there are.
	RunRemote func(ctx context.Context, id string, spec runspec.Spec) error
	Limit     int
	// Began is told of the looks that there are already, Took of each look as it is taken, Alarmed of the first one
	// with an alarm, Trouble of what is tried again. Nil is allowed.
	Began   func([]replay.Interim)
	Took    func(replay.Interim)
	Alarmed func(replay.Interim)
	Trouble func(error)
	// Wait waits until a moment; nil waits by the clock.
	Wait func(ctx context.Context, until time.Time) error
}

// replayWatcher takes the looks of one watch.
type replayWatcher struct {
	*WatchConfig
	history *storage.History
	state   *replay.WatchState
	earlier earlierInterims
	// heard is true once whoever is here knows of the alarm; told is when the webhook was last tried.
	heard bool
	told  time.Time
}

// Watch takes the looks of a watch that are due, in their order, and waits for the next ones until the last. What a
// look has found is kept in the store before the next begins, so the same call goes on where it ended. The state is
// returned with an error, too, as far as there is one.
func Watch(ctx context.Context, c WatchConfig) (*replay.WatchState, error) {
	c.Watching.Mode, c.Watching.Rules = c.Spec.Mode, c.Spec.Rules
	c.Spec.FirstDay, c.Spec.LastDay = c.Watching.Since.Format(time.DateOnly), c.Watching.Since.Format(time.DateOnly)
	if err := errors.Join(c.Watching.Check(), c.Spec.Check()); err != nil {
		return nil, err
	}
	if c.Spec.BaselineID == "" {
		return nil, source.Invalid("--baseline is missing: a watch compares the candidate with one")
	}
	if u, err := url.Parse(c.Alert); c.Alert != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, source.Invalid("--alert is no address of http or https")
	}
	h, err := storage.FindHistory(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	w := &replayWatcher{WatchConfig: &c, history: h}
	err = errors.Join(w.watch(ctx), h.Close())
	return w.state, err
}

func (w *replayWatcher) watch(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if w.Began != nil {
		w.Began(w.state.Interims)
	}
	for {
		w.tell(ctx)
		end, ok := w.Watching.End(len(w.state.Interims))
		if !ok {
			return nil
		}
		if err := w.wait(ctx, end); err != nil {
			return err
		}
		if err := w.look(ctx, end); err != nil {
			return err
		}
	}
}

// begin finds the state of the watch, or makes a new one.
func (w *replayWatcher) begin(ctx context.Context) error {
	settings, err := w.settings(ctx)
	if err != nil {
		return err
	}
	for {
		if w.state, err = w.history.Runs.Watch(ctx, w.Watching.Name); err != nil {
			return err
		}
		if w.state != nil {
			if err := w.state.Same(w.Watching.Name, settings); err != nil {
				w.state = nil // which is that of another watch
				return err
			}
			return nil
		}
		state := &replay.WatchState{}
		state.Begin(&w.Watching, settings)
		if _, err := w.history.Runs.PutWatch(ctx, w.Watching.Name, state, -1); err != nil {
			return err
		}
	}
}

// settings are what decides the figures of the watch: those of a run, and how it looks.
func (w *replayWatcher) settings(ctx context.Context) (json.RawMessage, error) {
	r, err := Open(ctx, w.Config)
	if err != nil {
		return nil, err
	}
	settings, err := w.settingsOf(r)
	return settings, errors.Join(err, r.Close())
}

// settingsOf is settings for the run of any look.
func (w *replayWatcher) settingsOf(r *Run) (json.RawMessage, error) {
	var of map[string]any
	if err := json.Unmarshal(r.evaluation.Head.Run.Settings, &of); err != nil {
		return nil, err
	}
	w.Watching.Rules.Apart = r.evaluation.Rules.Apart
	for _, day := range []string{"from", "to", "sample_size"} {
		delete(of, day)
	}
	of["since"], of["every"], of["metrics"] = w.Watching.Since.UTC(), w.Watching.Every.String(), w.Watching.Metrics
	of["alpha"], of["cluster"], of["guards"] = w.Watching.Alpha, w.Watching.Cluster, w.Watching.Compared()
	if len(w.Watching.Rules.Margins) > 0 {
		of["margins"] = w.Watching.Rules.Margins
	}
	return json.Marshal(of)
}

// wait waits until a period has ended.
func (w *replayWatcher) wait(ctx context.Context, until time.Time) error {
	if w.Wait != nil {
		return w.Wait(ctx, until)
	}
	for left := until.Sub(w.Setup.Now()); left > 0; left = until.Sub(w.Setup.Now()) {
		// The wall clock may be changed, or the machine sleep: it is asked again now and then.
		timer := time.NewTimer(min(left, time.Minute))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		if w.Setup.Now().Sub(w.told) >= alertAgain {
			w.tell(ctx)
		}
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
