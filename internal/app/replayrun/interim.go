package replayrun

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// earlierInterims are the sessions that the earlier looks of a watch have replayed. The zero value has none.
type earlierInterims struct {
	sessions map[string]bool
	runs     map[string]bool
}

// read adds the sessions of runs that were not read before.
func (e *earlierInterims) read(ctx context.Context, from replay.Watches, runs []string) error {
	if e.sessions == nil {
		e.sessions, e.runs = map[string]bool{}, map[string]bool{}
	}
	for _, id := range runs {
		if e.runs[id] {
			continue
		}
		if err := from.ReplayedSessions(ctx, id, func(session string) { e.sessions[session] = true }); err != nil {
			return err
		}
		e.runs[id] = true
	}
	return nil
}

func (e *earlierInterims) replayed(session string) bool { return e.sessions[session] }

// settingsSum is a hash of the settings of a run.
func settingsSum(settings json.RawMessage) string {
	h := sha256.New()
	h.Write(settings)
	return fingerprint.Short(h)
}

// sameAgents refuses a look whose agents are other ones here, by other files or other variables of the environment,
// than where it is kept: its figures would stand among those of the watch.
func (r *Run) sameAgents() error {
	look := r.config.Interim
	if look == nil || settingsSum(r.evaluation.Head.Run.Settings) == look.Settings {
		return nil
	}
	return source.Invalid(
		"the look of watch %q: its files and variables give other agents here than at the server that keeps the watch",
		look.Watch)
}

// looks makes the run the look of a watch that another process keeps.
func (r *Run) looks(ctx context.Context, look *runspec.Interim) error {
	if err := r.sameAgents(); err != nil {
		return err
	}
	state, err := r.history.Runs.Watch(ctx, look.Watch)
	if err != nil {
		return err
	}
	var earlier earlierInterims
	if state != nil {
		var runs []string
		for _, id := range state.Runs {
			if id != r.evaluation.Head.Run.ID { // else the look was taken meanwhile
				runs = append(runs, id)
			}
		}
		if err := earlier.read(ctx, r.history.Runs, runs); err != nil {
			return err
		}
	}
	r.evaluation.Limit(look.Since, look.Until, earlier.replayed)
	return nil
}

// elsewhereAgain is the time between two questions after a look that another process takes.
const elsewhereAgain = time.Second

// awaitElsewhere waits until no other process replays a run any more: it has ended there, or has been silent for too
// long. It asks for nothing but the row of the run, which may go on for hours: to open the look means to open its
// agents, its files and the store.
func awaitElsewhere(ctx context.Context, now func() time.Time, row func(context.Context) (replay.Run, error)) error {
	for {
		if err := pause(ctx, elsewhereAgain); err != nil {
			return err
		}
		switch run, err := row(ctx); {
		case errors.Is(err, replay.ErrUnknown): // it was deleted
			return nil
		case err != nil:
			return err
		case !isActive(&run, now()):
			return nil
		}
	}
}

// look takes the next look, unless another process takes it meanwhile.
func (w *replayWatcher) look(ctx context.Context, end time.Time) error {
	before := len(w.state.Interims)
	if err := w.earlier.read(ctx, w.history.Runs, w.state.Runs); err != nil {
		return err
	}
	config := w.Config
	config.Spec.LastDay = end.Add(-time.Microsecond).Format(time.DateOnly)
	config.Spec.RunID = w.runID(before)
	r, some, err := w.open(ctx, config, end)
	if err == nil && some {
		if err = r.claim(ctx); err != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if errors.Is(err, errElsewhere) {
		err := awaitElsewhere(ctx, w.Setup.Now, func(ctx context.Context) (replay.Run, error) {
			return w.history.Runs.Run(ctx, config.Spec.RunID)
		})
		if err != nil {
			return err
		}
		return w.reload(ctx)
	}
	if err != nil {
		return err
	}
	var of *replay.Evaluation
	if some {
		of = r.evaluation
	}
	look, state, err := w.take(ctx, of, end)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	known, err := w.history.Runs.PutWatch(ctx, w.Watching.Name, state, before)
	switch {
	case err != nil:
		return err
	case !known: // another process was first, with the same sessions
		return w.reload(ctx)
	}
	w.state = state
	if w.Took != nil {
		w.Took(look)
	}
	return nil
}

// open opens the run of a look, whose sessions a fleet has replayed where one holds looks. some is false of a look
// without a session.
func (w *replayWatcher) open(ctx context.Context, c Config, end time.Time) (r *Run, some bool, err error) {
	if r, some, err = w.openHere(ctx, c, end); err != nil || !some || w.RunRemote == nil {
		return r, some, err
	}
	spec := w.spec(r, end)
	if err := r.Close(); err != nil {
		return nil, some, err
	}
	switch err := w.RunRemote(ctx, c.Spec.RunID, spec); {
	case ctx.Err() != nil:
		return nil, some, ctx.Err()
	case err != nil:
		w.trouble(fmt.Errorf("the look of %s is held in this process: %w", end.Format(time.RFC3339), err))
	}
	return w.openHere(ctx, c, end)
}

func (w *replayWatcher) openHere(ctx context.Context, c Config, end time.Time) (r *Run, some bool, err error) {
	if r, err = Open(ctx, c); err != nil {
		return nil, false, err
	}
	settings, err := w.settingsOf(r)
	if err == nil { // a flow or a prompt may have been changed since the watch began
		err = w.state.Same(w.Watching.Name, settings)
	}
	if err == nil {
		r.evaluation.Limit(w.Watching.Since, end, w.earlier.replayed)
		some, err = r.evaluation.Any(ctx)
	}
	if err != nil {
		return nil, false, errors.Join(err, r.Close())
	}
	return r, some, nil
}

// spec is the run of a look as a fleet is asked for it, with the names that files have on this disk.
func (w *replayWatcher) spec(r *Run, end time.Time) runspec.Spec {
	c := &r.config
	return runspec.Spec{
		Schema: runspec.Schema, Kind: runspec.KindReplay, Name: w.Watching.Name,
		Labels: map[string]string{"watch": w.Watching.Name}, Config: c.Setup.Config().Path,
		Limits: runspec.Limits{Workers: w.Limit},
		Replay: &runspec.Replay{
			VariantID: c.Spec.VariantID, BaselineID: c.Spec.BaselineID, FlowID: c.Spec.FlowID,
			StartDate: c.Spec.FirstDay, EndDate: c.Spec.LastDay, Timezone: c.Spec.Timezone,
			SessionGap: new(runspec.Duration(c.Spec.SessionGap)), MinTurns: &c.Spec.MinTurns, Mode: string(c.Spec.Mode),
			Gate: c.Spec.Gate, States: string(c.Spec.Side), User: c.Spec.User, Cluster: string(w.Watching.Cluster),
			Flows: c.Flows, Prompts: c.Prompts, TurnTimeout: new(runspec.Duration(c.Spec.TurnTimeout)),
			Slow: new(runspec.Duration(c.Spec.Slow)),
			Interim: &runspec.Interim{
				Watch: w.Watching.Name, Since: w.Watching.Since, Until: end,
				Settings: settingsSum(r.evaluation.Head.Run.Settings),
			},
		},
	}
}

// take replays what is new, by an evaluation as in TakeLook, on a copy of the state.
func (w *replayWatcher) take(ctx context.Context, of *replay.Evaluation,
	end time.Time) (look replay.Interim, state *replay.WatchState, err error) {
	copied, err := json.Marshal(w.state)
	if err == nil {
		state = &replay.WatchState{}
		err = json.Unmarshal(copied, state)
	}
	if err != nil {
		return look, nil, fmt.Errorf("copy the state of watch %q: %w", w.Watching.Name, err)
	}
	look, err = w.Watching.Analyze(ctx, of, state, end)
	if err != nil {
		return look, nil, fmt.Errorf("watch %q, look of %s: %w (what was replayed is kept: the same command goes on)",
			w.Watching.Name, end.Format(time.RFC3339), err)
	}
	return look, state, nil
}

// reload takes over what another process has found.
func (w *replayWatcher) reload(ctx context.Context) error {
	state, err := w.history.Runs.Watch(ctx, w.Watching.Name)
	if err == nil && state == nil {
		err = source.Invalid("watch %q is gone from the store", w.Watching.Name)
	}
	if err == nil {
		w.state = state
	}
	return err
}

// runID is the id of the run of a look: the same whenever this look of this watch is taken.
func (w *replayWatcher) runID(look int) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "watch %q look %d %s", w.Watching.Name, look,
		w.state.Settings)).String()
}
