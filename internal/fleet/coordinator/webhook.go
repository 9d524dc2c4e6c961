package coordinator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Webhooks say who is told of the ends of runs besides the webhook of each spec, and how.
type Webhooks struct {
	// URL is told of every end, and of every regression; empty is nobody.
	URL string
	// Secret signs what is sent; without one nothing is signed.
	Secret string
	// Client asks the webhooks of specs. Nil is one that reaches no private address, unless submitted runs may.
	Client *http.Client
}

// outsider is a transport for addresses that a submission names.
func outsider(rules *wire.Submitted) http.RoundTripper {
	if rules != nil && rules.AllowPrivate {
		return httpclient.Transport()
	}
	return httpclient.NewPublicOnly()
}

const (
	// maxTries is how often a delivery is tried, tryFor how long one try may take, and held how long no other server
	// tries the same one.
	maxTries = 5
	tryFor   = 10 * time.Second
	held     = 3 * tryFor
	// maxPause is the longest pause that a receiver may ask for.
	maxPause = time.Hour
	// endingsAtOnce is how many ends are looked at together, tellers how many deliveries are under way at once.
	endingsAtOnce = 20
	tellers       = 8
	// look is the time between two looks for what is to be told.
	look = time.Second
)

// The events that a webhook is told.
const (
	eventFinished  = "run.finished"
	eventRegressed = "run.regressed"
)

// hasEnded has ends of runs looked for.
func (s *Service) hasEnded() {
	select {
	case s.endings <- struct{}{}:
	default: // there is a signal already
	}
}

// tellEnds tells webhooks of the ends of runs until ctx ends. What is to be told is in the store: another server, or
// the next start, goes on.
func (s *Service) tellEnds(ctx context.Context) {
	own := httpclient.Client(httpclient.Transport())
	defer own.CloseIdleConnections()
	defer s.Webhooks.Client.CloseIdleConnections()
	var telling sync.WaitGroup
	defer telling.Wait()
	free := make(chan struct{}, tellers)
	for ctx.Err() == nil {
		s.announce(ctx)
		for s.tellNext(ctx, own, free, &telling) {
		}
		select {
		case <-s.endings:
		case <-time.After(look):
		case <-ctx.Done():
		}
	}
}

// announce keeps for the runs that have ended what is to be told to whom.
func (s *Service) announce(ctx context.Context) {
	runs, err := s.Store.Endings(ctx, endingsAtOnce)
	if err != nil && ctx.Err() == nil && !store.IsUnavailable(err) {
		s.Log.Warn("the ends of runs cannot be read", "error", err)
	}
	for _, run := range runs {
		deliveries, err := s.deliveries(ctx, run)
		if err == nil {
			err = s.Store.Announce(ctx, run.ID, deliveries)
		}
		if err != nil && ctx.Err() == nil && !store.IsUnavailable(err) && !errors.Is(err, store.ErrChanged) &&
			!errors.Is(err, store.ErrUnknown) {
			s.Log.Warn("webhooks cannot be told of the end of the run; it is tried again", "run_id", run.ID,
				"error", err)
		}
	}
}

// Regressed is a test whose regression is confirmed (result.Comparison.Regressed).
type Regressed struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	Target string `json:"target"`
}

// deliveries are what is to be told of the end of a run.
func (s *Service) deliveries(ctx context.Context, run store.Run) (all []store.Delivery, err error) {
	hook, err := s.hookOf(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if hook == nil && s.Webhooks.URL == "" {
		return nil, nil
	}
	regressed, worse, err := s.regressed(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	events := []string{eventFinished}
	if worse {
		events = append(events, eventRegressed)
	}
	for _, event := range events {
		body, err := json.Marshal(struct {
			Event     string      `json:"event"`
			Run       store.Run   `json:"run"`
			Regressed []Regressed `json:"regressed"`
		}{event, run, regressed})
		if err != nil {
			return nil, err
		}
		add := func(address string, own bool) {
			all = append(all, store.Delivery{
				ID: rand.Text(), Run: run.ID, Event: event, URL: address, Own: own, Body: body,
			})
		}
		if s.Webhooks.URL != "" {
			add(s.Webhooks.URL, true)
		}
		if hook != nil && hook.URL != s.Webhooks.URL && wants(hook, event) {
			add(hook.URL, false)
		}
	}
	return all, nil
}

// wants reports whether a webhook is told of an event.
func wants(hook *runspec.Webhook, event string) bool {
	if len(hook.On) == 0 {
		return event == eventFinished
	}
	return slices.Contains(hook.On, map[string]string{
		eventFinished: runspec.OnFinish, eventRegressed: runspec.OnRegression,
	}[event])
}

// hookOf returns the webhook of a run's spec; nil if it has none.
func (s *Service) hookOf(ctx context.Context, id string) (*runspec.Webhook, error) {
	data, err := s.Store.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	var spec struct {
		Webhook *runspec.Webhook `json:"webhook"`
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, fmt.Errorf("the spec of run %s: %w", id, err)
	}
	return spec.Webhook, nil
}

// regressed returns the confirmed regressions in the record of a run, and whether its comparison with a baseline shows
// that it is worse: by them or by its mean score.
func (s *Service) regressed(ctx context.Context, id string) (all []Regressed, worse bool, err error) {
	all = []Regressed{}
	data, err := s.Store.RunFile(ctx, id, runlog.RunFile)
	if err != nil || len(data) == 0 { // a run that was cancelled before it began has no record
		return all, false, err
	}
	var record struct {
		Comparison *result.Comparison `json:"comparison"`
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, false, fmt.Errorf("the record of run %s: %w", id, err)
	}
	if record.Comparison != nil {
		worse = compare.Worse(record.Comparison) != ""
		for _, one := range record.Comparison.Regressed {
			all = append(all, Regressed{one.Suite, one.TestID, one.Target})
		}
	}
	return all, worse, nil
}

// tellNext begins the delivery that is due, if there is a place for it. It reports whether there may be another.
func (s *Service) tellNext(ctx context.Context, own *http.Client, free chan struct{}, telling *sync.WaitGroup) bool {
	select {
	case free <- struct{}{}:
	default:
		return false
	}
	d, ok, err := s.Store.ClaimDelivery(ctx, held)
	if err != nil || !ok {
		<-free
		if err != nil && ctx.Err() == nil && !store.IsUnavailable(err) {
			s.Log.Warn("what webhooks are to be told cannot be read", "error", err)
		}
		return false
	}
	telling.Go(func() {
		client := s.Webhooks.Client
		if d.Own {
			client = own
		}
		s.deliver(ctx, client, d)
		<-free
		s.hasEnded() // look for the next
	})
	return true
}

// deliver tries a delivery once, and keeps what came of it.
func (s *Service) deliver(ctx context.Context, client *http.Client, d store.Delivery) {
	log := s.Log.With("run_id", d.Run, "event", d.Event, "delivery", d.ID, "to", text.Address(d.URL), "try", d.Tries)
	pause, err := time.Duration(0), errors.New("the last try has no outcome") // of a server that was killed
	if d.Tries <= maxTries {
		pause, err = s.post(ctx, client, d)
	}
	keeping := context.WithoutCancel(ctx)
	var failed error
	switch {
	case err == nil:
		failed = s.Store.DropDelivery(keeping, d.ID)
	case ctx.Err() != nil: // it goes on after the next start
		failed = s.Store.PutOffDelivery(keeping, d, 0)
	case d.Tries >= maxTries:
		log.Warn("the webhook was not told, and is given up", "error", err)
		failed = s.Store.DropDelivery(keeping, d.ID)
	default:
		log.Warn("the webhook was not told; it is tried again", "error", err, "after", pause)
		failed = s.Store.PutOffDelivery(keeping, d, pause)
	}
	if failed != nil { // it is tried again after a while, with the same id
		log.Warn("what came of the webhook is not kept", "error", failed)
	}
}

// post sends a delivery. It returns how long to wait before the next try.
func (s *Service) post(ctx context.Context, client *http.Client, d store.Delivery) (pause time.Duration, err error) {
	pause = time.Second << max(0, d.Tries-1)
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return pause, errors.New("the address cannot be asked")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "rehearse")
	request.Header.Set("X-Rehearse-Delivery", d.ID)
	if s.Webhooks.Secret == "" {
		s.unsigned.Do(func() { s.Log.Warn("webhooks are not signed: put a secret into REHEARSE_WEBHOOK_SECRET") })
	} else {
		request.Header.Set("X-Rehearse-Signature", httpclient.Signature(s.Webhooks.Secret, s.Now(), d.Body))
	}
	answer, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // whose own text repeats the whole address
			err = failed.Err
		}
		return pause, fmt.Errorf("ask it: %w", err)
	}
	_ = answer.Body.Close() // what it says is not read
	if answer.StatusCode/100 == 2 {
		return 0, nil
	}
	if asked := retry.After(answer.Header, s.Now()); asked > 0 {
		pause = min(asked, maxPause)
	}
	return pause, fmt.Errorf("it answered with status %d", answer.StatusCode)
}
