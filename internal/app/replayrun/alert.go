package replayrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// alertTries is how often a webhook is tried at a time, alertFor how long it may take to answer, and alertAgain the
// wait until it is tried again.
const (
	alertTries = 3
	alertFor   = 10 * time.Second
	alertAgain = 5 * time.Minute
)

// tell tells of the alarm, once: whoever is here now, and the webhook until it has answered.
func (w *replayWatcher) tell(ctx context.Context) {
	if w.state.AlarmedAt == "" || w.state.Notified {
		return
	}
	var alarm replay.Interim
	for _, look := range w.state.Interims {
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
	told.Notified = true
	if known, err := w.history.Runs.PutWatch(ctx, w.Watching.Name, &told, len(told.Interims)); err != nil || !known {
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
func (w *replayWatcher) post(ctx context.Context, alarm replay.Interim) error {
	body, err := json.Marshal(map[string]any{
		"event": "watch.alarm", "watch": w.Watching.Name, "flow_id": w.Spec.FlowID, "look": alarm,
	})
	if err != nil {
		return err
	}
	client := httpclient.Client(httpclient.Transport())
	defer client.CloseIdleConnections()
	for try := range alertTries {
		if try > 0 {
			if pausing := pause(ctx, time.Second<<(try-1)); pausing != nil {
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
	request.Header.Set("X-Rehearse-Delivery", w.runID(len(w.state.Interims)))
	if w.Secret != "" {
		request.Header.Set("X-Rehearse-Signature", httpclient.Signature(w.Secret, w.Setup.Now(), body))
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
