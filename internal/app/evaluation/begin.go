package evaluation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// openRun makes the run's folder with its first run.json, reads what a resumed run has done, and opens the log.
func (e *Evaluation) openRun(ctx context.Context, kept *recorder) (h *Completed, p prior, err error) {
	now := e.setup.Now()
	h = &Completed{Dir: e.Out, began: now, Run: result.Run{
		Schema: result.Schema, ID: RunID(now), Version: e.Version, Commit: Commit(), Command: e.Command,
		StartedAt: now.UTC(), Targets: e.planned.targets, ExitReason: result.ReasonRunning,
	}}
	h.Run.Count(&result.Tallies{}, e.planned.byTarget)
	for _, s := range e.suites {
		h.Run.Suites = append(h.Run.Suites, shownPath(s.File))
	}
	h.Run.Addresses, h.Run.Prices = e.asked.addresses(), e.asked.priced()
	if e.planned.judged > 0 {
		h.Run.Judge = e.judgeName()
	}
	if e.Fleet != nil {
		h.Run.ID = e.Fleet.RunID
	}
	if h.Dir == "" {
		h.Dir = filepath.Join(wire.StateDir, "runs", h.Run.ID)
	}
	if e.regraded != nil {
		h.Run.RegradedFrom = e.regraded.run.ID
		if err := e.regraded.apart(h.Dir); err != nil {
			return nil, p, err
		}
	}
	if err := e.takeFolder(ctx, h); err != nil {
		return nil, p, err
	}
	lock := h.lock
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	config := map[string]any{
		"workers": e.planned.workers, "conversations": e.planned.conversations, "turns": e.planned.turns,
		"config": shownPath(e.setup.Config().Path),
	}
	if flows := e.flows(); flows != nil {
		config[result.FlowsKey] = flows
	}
	if e.sharesVerdicts() {
		config[result.SharedVerdictsKey] = true
	}
	config[result.JudgesKey] = kept.prints.judges()
	if selection := e.selection(); selection != (result.Selection{}) {
		config[result.SelectionKey] = selection
	}
	h.Run.Config = config
	if p, err = e.prior(h.Dir, kept.prints); err != nil {
		return nil, p, err
	}
	if n := h.reruns + p.reruns; n > 0 {
		config[result.RerunKey] = n
	}
	p.spent.Time = time.Duration(h.Run.DurationMS * float64(time.Millisecond))
	h.Run.LeftOut = p.leftOutKeys()
	if e.regraded != nil {
		if h.Run.LeftOut, err = e.match(); err != nil {
			return nil, p, err
		}
	}
	if err := e.writeRun(h); err != nil {
		return nil, p, err
	}
	if err = e.clear(h.Dir, p); err == nil {
		kept.log, err = runlog.Open(h.Dir)
	}
	if err != nil {
		return nil, p, e.notBegun(h, p, err)
	}
	kept.log.Redact = e.setup.Secrets().Bytes
	h.tests = runlog.ReadRecords(h.Dir, result.Run{})
	return h, p, nil
}

// selection returns which tests of its suites the run selects.
func (e *Evaluation) selection() result.Selection {
	s := result.Selection{Filter: strings.Join(e.spec.Filter, ", "), Tags: strings.Join(e.spec.Tags, ", ")}
	if e.spec.Sample > 0 {
		s.Sample = strconv.Itoa(e.spec.Sample)
	}
	return s
}

// flows returns the ids of the flows that targets follow, by the names of the targets; nil where nobody knows. A name
// that stands for different flows in different suites is left out.
func (e *Evaluation) flows() any {
	if e.regraded != nil { // its targets are recordings
		return e.regraded.run.Flows()
	}
	flows := map[string]string{}
	for _, name := range e.planned.targets {
		asked := map[*wire.Setup]bool{}
		ids := map[string]bool{}
		for _, at := range e.setups {
			if !asked[at] {
				asked[at] = true
				ids[at.FlowID(name)] = true
			}
		}
		if len(ids) == 1 && !ids[""] {
			flows[name] = slices.Collect(maps.Keys(ids))[0]
		}
	}
	return flows
}

// notBegun closes the record of a run that says that it is under way, and that an error keeps from holding anything.
func (e *Evaluation) notBegun(h *Completed, p prior, err error) error {
	h.stop, h.message = result.ReasonAborted, e.setup.Secrets().Text(err.Error())
	records := &result.Tallies{}
	if e.Resume {
		var counting error
		records, counting = recount(h.Dir, func(whole result.Key) bool { return p.planned(whole) && !p.again[whole] })
		err = errors.Join(err, counting)
	}
	e.end(h, records, func(u orchestrator.Unit) bool {
		_, before := p.outcomes[e.logged(keyOf(u))]
		return before
	})
	h.Run.Warnings = e.warnings()
	return errors.Join(err, e.writeRun(h))
}

// RunID names a run by its time, to the microsecond.
func RunID(now time.Time) string {
	return now.UTC().Format("20060102-150405") + fmt.Sprintf("-%05x", now.Nanosecond()/1000)
}
