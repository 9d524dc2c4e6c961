package evaluation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"rehearse/internal/outbound"
	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// WatchConfig says what is watched, and who is told.
type WatchConfig struct {
	// ReplayConfig is that of each look. Its days and its id are the watch's to set.
	ReplayConfig
	Watching replay.Watching
	// Alert is a webhook that is told of the alarm; empty tells none. Secret signs what it is sent.
	Alert, Secret string
	// Began is told of the looks that there are already, Took of each look as it is taken, Alarmed of the first one with an alarm, Trouble of what is
	// tried again. Nil is allowed.
	Began   func([]replay.WatchLook)
	Took    func(replay.WatchLook)
	Alarmed func(replay.WatchLook)
	Trouble func(error)
	// Wait waits until a moment; nil waits by the clock.
	Wait func(ctx context.Context, until time.Time) error
}

// replayWatcher takes the looks of one watch.
type replayWatcher struct {
	*WatchConfig
	history *setup.History
	state   *replay.WatchState
	// replayed are the sessions of the first so many of the state's runs.
	replayed map[string]bool
	runs     int
	// heard is true once whoever is here knows of the alarm; told is when the webhook was last tried.
	heard bool
	told  time.Time
}

// WatchReplays takes the looks of a watch that are due, in their order, and waits for the next ones until the last. What a look has found is kept in the
// store before the next begins, so the same call goes on where it ended. The state is returned with an error, too, as far as there is one.
func WatchReplays(ctx context.Context, c WatchConfig) (*replay.WatchState, error) {
	c.Spec.FirstDay, c.Spec.LastDay = c.Watching.Since.Format(time.DateOnly), c.Watching.Since.Format(time.DateOnly)
	if err := errors.Join(c.Watching.Check(), c.Spec.Check()); err != nil {
		return nil, err
	}
	if c.Spec.BaselineID == "" {
		return nil, source.Invalid("--baseline is missing: a watch compares the candidate with one")
	}
	if u, err := url.Parse(c.Alert); c.Alert != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, source.Invalid("--alert is no address of http or https")
	}
	h, err := setup.FindHistory(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	w := &replayWatcher{WatchConfig: &c, history: h, replayed: map[string]bool{}}
	err = errors.Join(w.watch(ctx), h.Close())
	return w.state, err
}

func (w *replayWatcher) watch(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if w.Began != nil {
		w.Began(w.state.Looks)
	}
	for {
		w.tell(ctx)
		end, ok := w.Watching.End(len(w.state.Looks))
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
	r, err := OpenReplay(ctx, w.ReplayConfig)
	if err != nil {
		return nil, err
	}
	var of map[string]any
	err = json.Unmarshal(r.evaluation.Head.Run.Settings, &of)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	for _, day := range []string{"from", "to", "sample_size"} {
		delete(of, day)
	}
	of["since"], of["every"], of["metrics"] = w.Watching.Since.UTC(), w.Watching.Every.String(), w.Watching.Metrics
	of["alpha"], of["cluster"] = w.Watching.Alpha, w.Watching.Cluster
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

// elsewhereAgain is the wait before another try at a look that another process takes.
const elsewhereAgain = time.Second

// look takes the next look, unless another process takes it meanwhile.
func (w *replayWatcher) look(ctx context.Context, end time.Time) error {
	before := len(w.state.Looks)
	config := w.ReplayConfig
	config.Spec.LastDay = end.Add(-time.Microsecond).UTC().Format(time.DateOnly)
	config.Spec.RunID = w.runID(before)
	r, err := OpenReplay(ctx, config)
	if errors.Is(err, errElsewhere) {
		if err := w.pause(ctx, elsewhereAgain); err != nil {
			return err
		}
		return w.reload(ctx)
	}
	if err != nil {
		return err
	}
	look, state, err := w.take(ctx, r, end)
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

// take replays what is new, on a copy of the state.
func (w *replayWatcher) take(ctx context.Context, r *Replay, end time.Time) (look replay.WatchLook, state *replay.WatchState, err error) {
	for ; w.runs < len(w.state.Runs); w.runs++ {
		if err := w.history.Runs.ReplayedSessions(ctx, w.state.Runs[w.runs], func(session string) { w.replayed[session] = true }); err != nil {
			return look, nil, err
		}
	}
	copied, err := json.Marshal(w.state)
	if err == nil {
		state = &replay.WatchState{}
		err = json.Unmarshal(copied, state)
	}
	if err != nil {
		return look, nil, fmt.Errorf("copy the state of watch %q: %w", w.Watching.Name, err)
	}
	look, err = w.Watching.TakeLook(ctx, r.evaluation, state, end, func(session string) bool { return w.replayed[session] })
	if err != nil {
		return look, nil, fmt.Errorf("watch %q, look of %s: %w (what was replayed is kept: the same command goes on)", w.Watching.Name, end.Format(time.RFC3339), err)
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
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "watch %q look %d %s", w.Watching.Name, look, w.state.Settings)).String()
}

func (w *replayWatcher) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alertTries is how often a webhook is tried at a time, alertFor how long it may take to answer, and alertAgain the wait until it is tried again.
const (
	alertTries = 3
	alertFor   = 10 * time.Second
	alertAgain = 5 * time.Minute
)

// tell tells of the alarm, once: whoever is here now, and the webhook until it has answered.
func (w *replayWatcher) tell(ctx context.Context) {
	if w.state.AlarmedAt == "" || w.state.Told {
		return
	}
	var alarm replay.WatchLook
	for _, look := range w.state.Looks {
		if look.Alarm {
			alarm = look
			break
		}
	}
	if w.Alarmed != nil && !w.heard {
		w.Alarmed(alarm)
	}
	w.heard, w.told = true, w.Setup.Now()
	if w.Alert != "" {
		if err := w.post(ctx, alarm); err != nil {
			w.trouble(fmt.Errorf("the alert cannot be told, and is tried again: %w", err))
			return
		}
	}
	told := *w.state
	told.Told = true
	if known, err := w.history.Runs.PutWatch(ctx, w.Watching.Name, &told, len(told.Looks)); err != nil || !known {
		w.trouble(errors.Join(errors.New("that the alert was told is not kept"), err))
		return
	}
	w.state = &told
}

func (w *replayWatcher) trouble(err error) {
	if w.Trouble != nil {
		w.Trouble(err)
	}
}

// post sends the alarm to the webhook.
func (w *replayWatcher) post(ctx context.Context, alarm replay.WatchLook) error {
	body, err := json.Marshal(map[string]any{"event": "watch.alarm", "watch": w.Watching.Name, "flow_id": w.Spec.FlowID, "look": alarm})
	if err != nil {
		return err
	}
	client := outbound.Client(outbound.Transport())
	defer client.CloseIdleConnections()
	for try := range alertTries {
		if try > 0 {
			if pausing := w.pause(ctx, time.Second<<(try-1)); pausing != nil {
				return pausing
			}
		}
		if err = w.postOnce(ctx, client, body); err == nil {
			return nil
		}
	}
	return err
}

func (w *replayWatcher) postOnce(ctx context.Context, client *http.Client, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, alertFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Alert, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be asked")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "rehearse")
	request.Header.Set("X-Rehearse-Delivery", w.runID(len(w.state.Looks)))
	if w.Secret != "" {
		request.Header.Set("X-Rehearse-Signature", outbound.Signature(w.Secret, w.Setup.Now(), body))
	}
	answer, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // whose own text repeats the whole address
			err = failed.Err
		}
		return fmt.Errorf("ask it: %w", err)
	}
	_ = answer.Body.Close() // what it says is not read
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answered with status %d", answer.StatusCode)
	}
	return nil
}
