package replayrun

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Regressed are the sessions of a replay in which the candidate did worse than the baseline or, without one, than the
// log.
type Regressed struct {
	Run   replay.Run
	Pairs []*replay.Pair
	// Assertions are those of the run for whole conversations; Null without any.
	Assertions source.Value
}

// FindRegressed reads the sessions of a run that regressed; an empty id means the latest run that finished.
func FindRegressed(ctx context.Context, h *storage.History, id string) (found Regressed, err error) {
	if id == "" {
		if found.Run, err = latestRun(ctx, h); err != nil {
			return found, err
		}
	} else if found.Run, err = h.Runs.Run(ctx, id); errors.Is(err, replay.ErrUnknown) {
		return found, source.Invalid("replay %q is not in the store: see `rehearse replay list`", id)
	} else if err != nil {
		return found, err
	}
	var settings struct {
		Assertions struct {
			Written json.RawMessage `json:"assertions"`
		} `json:"assertions"`
	}
	if err := json.Unmarshal(found.Run.Settings, &settings); err == nil && settings.Assertions.Written != nil {
		if found.Assertions, err = source.ParseJSON("run", settings.Assertions.Written, 1); err != nil {
			return found, err
		}
	}
	for o, err := range h.Runs.Outcomes(ctx, found.Run.ID) {
		if err != nil {
			return found, err
		}
		pair, err := o.Pair()
		if err != nil {
			return found, err
		}
		if pair.Regressed() {
			found.Pairs = append(found.Pairs, pair)
		}
	}
	return found, nil
}

// latestRun returns the run that was begun last and has finished.
func latestRun(ctx context.Context, h *storage.History) (replay.Run, error) {
	runs, err := h.Runs.Runs(ctx, 0)
	if err != nil {
		return replay.Run{}, err
	}
	for _, r := range runs {
		if r.Status == replay.Done {
			return r, nil
		}
	}
	return replay.Run{}, source.Invalid("the store has no finished replay: begin one with `rehearse replay run`")
}
