package evaluation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Completed is a run that has been held, whole or in part.
type Completed struct {
	// Dir is the folder of its results.
	Dir string
	Run result.Run
	// Cause is what kept the run from going on, or from having its reports; nil where nothing did.
	Cause error
	// tests are the records, to be read once the run has ended.
	tests runlog.Stream
	// reruns counts the reruns of failed tests in earlier parts of a resumed run.
	reruns int
	// began is when this part of the run began; a resumed run started earlier.
	began time.Time
	// stop is why the run ended before its end, with a sentence; empty when nothing stopped it.
	stop, message string
	lock          *runlog.Lock
	// confirmed is what repeats found about falls and errors.
	confirmed confirmed
}

// Run opens everything that the tests need, holds the conversations, and keeps every record as it comes. When ctx ends,
// what is in flight is given up. An error says that the run could not go on; what was finished is in its folder.
func (e *Evaluation) Run(ctx context.Context) (*Completed, error) {
	if e.regraded != nil {
		defer func() { _ = e.regraded.records.Close() }() // nothing was written
	}
	e.guard.Log = e.setup.Log
	defer e.guard.Close()
	e.index = e.openIndex(ctx)
	defer func() { <-e.index.opened }()
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	e.readQuarantines(ctx)
	kept := &recorder{
		sink: e.Sink, prints: newFingerprints(e), open: map[result.Key]begun{},
	}
	h, prior, err := e.openRun(ctx, kept)
	if err != nil {
		return nil, err
	}
	e.tell(prior)
	if e.regraded != nil {
		e.tellRegraded(h.Run.LeftOut)
	}
	indexed := e.index.enter(ctx, h.Run, h.Dir)
	ctx, span := trace.Start(e.tracing(ctx, h.Run.ID), trace.Run, trace.A(trace.Tests, e.planned.tests))
	defer span.Finish()
	e.Sink.Begin(h.Run, e.planned.tests-prior.tests)
	if err := e.keepArtifacts(h); err != nil {
		e.warn(err.Error())
	}
	orchestration, err := e.orchestration(ctx, h, kept)
	var o *orchestrator.Orchestrator
	if err == nil {
		o, err = orchestrator.New(orchestration)
	}
	if err != nil {
		return nil, errors.Join(e.notBegun(h, prior, err), kept.log.Close(), h.lock.Release())
	}
	_, err = o.Run(ctx, orchestrator.Plan{
		Tests: kept.printed(e.marked(e.planned.units())), Costs: e.costs(e.planned.takes, e.planned.keys),
		Needed:   e.planned.isNeeded,
		Regraded: e.regraded != nil, Budget: e.planned.budget, Spent: prior.spent,
		Prior: func(k result.Key) (orchestrator.Outcome, bool) { return prior.outcome(e.logged(k)) },
	}, e.Stop)
	e.Sink.End()
	<-indexed
	if closing := kept.log.Close(); err == nil {
		err = closing
	}
	switch {
	case errors.Is(err, orchestrator.ErrStopped):
		h.stop = result.ReasonInterrupted
	case errors.Is(err, orchestrator.ErrBudget):
		h.stop, h.message = result.ReasonBudget, err.Error()
		e.warn(err.Error() + "; the rest was not run")
	case err != nil:
		e.abort(h, err)
	}
	records := &kept.records
	if e.Resume {
		if records, err = recount(h.Dir, prior.planned); err != nil {
			e.abort(h, err)
		}
	}
	e.warnOfUnknown(records.Totals())
	e.warnOfLost(records.Lost())
	if h.Run.Fingerprint, err = kept.fingerprint(e.planned); err != nil {
		e.abort(h, err)
	}
	e.end(h, records, func(u orchestrator.Unit) bool {
		_, before := prior.outcomes[e.logged(keyOf(u))]
		return before || kept.has(u)
	})
	e.confirm(ctx, h, kept, prior.spent)
	return h, nil
}

// warnOfUnknown tells that more than the budget may have been spent, where a server reported no usage, or a call broke
// off.
func (e *Evaluation) warnOfUnknown(t result.Totals) {
	budget, unknown := e.planned.budget, ""
	switch {
	case budget.USD > 0 && e.regraded == nil && (t.Cost.Unknown || t.User.Spent().Unknown):
		unknown = "cost"
	case budget.Tokens > 0 &&
		(t.Judge.Usage.Unknown || e.regraded == nil && (t.Usage.Unknown || t.User.Used().Unknown)):
		unknown = "usage"
	default:
		return
	}
	e.warn("the " + unknown + " of a call is unknown, so that more than the budget may have been spent: " +
		"a server reported no usage, or a call broke off")
}

// warnOfLost tells that more than the budget may have been spent, where workers were lost.
func (e *Evaluation) warnOfLost(attempts int) {
	if attempts == 0 || e.planned.budget.USD == 0 && e.planned.budget.Tokens == 0 {
		return
	}
	e.warn("more than the budget may have been spent: what lost workers had used before their conversations were " +
		"held again is not known (attempts that were lost: " + strconv.Itoa(attempts) + ")")
}

// orchestration says how the conversations are held: in this process, or by a fleet.
func (e *Evaluation) orchestration(ctx context.Context, h *Completed,
	kept *recorder) (c orchestrator.Config, err error) {
	c = orchestrator.Config{
		RunID: h.Run.ID, Kind: e.spec.Kind, Workers: e.planned.workers, Results: kept, Observe: e.Sink.Observe,
		Now: e.setup.Now, Log: e.setup.Log,
	}
	if e.spec.AttributeFlakes {
		c.Rejudge = e.rejudge
	}
	if f := e.Fleet; f != nil {
		c.Queue, c.Returns, kept.store = f.Queue, f.Returns, f.Store
		c.Payload, err = f.Payload(trace.Parent(ctx))
		if e.spec.Limits.Workers == 0 { // else the author bounds what is under way, wherever it is held
			c.Workers = f.Window
		}
		return c, err
	}
	c.Queue, c.Run = queue.NewMemory(e.planned.workers), e.hold
	return c, nil
}

// abort notes that the run cannot go on.
func (e *Evaluation) abort(h *Completed, err error) {
	h.Cause = errors.Join(h.Cause, err)
	if h.stop = result.ReasonAborted; h.message == "" {
		h.message = e.setup.Secrets().Text(err.Error())
	}
	e.warn(err.Error() + "; what was finished is in " + h.Dir)
}

// warn tells of what stops nothing, and keeps it for the run's record. It is safe for concurrent use.
func (e *Evaluation) warn(text string) {
	text = e.setup.Secrets().Text(text)
	e.mu.Lock()
	e.warned = append(e.warned, text)
	e.mu.Unlock()
	if e.setup.Warn != nil {
		e.setup.Warn(text)
	}
}

// warnings returns what was told so far.
func (e *Evaluation) warnings() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.warned, e.setup.Warnings())
}

// open opens targets, users and judges.
func (e *Evaluation) open() error {
	played := map[*target.Answers][]string{}
	for call, execution := range e.planned.calls {
		t, err := e.setups[call.suite].Target(call.target, execution)
		if err != nil {
			return err
		}
		e.targets[call] = t
		answers, err := e.setups[call.suite].Answers(call.target)
		if err != nil {
			return err
		}
		if answers != nil {
			played[answers] = append(played[answers], call.suite)
		}
	}
	for answers, suites := range played {
		if err := e.warnOfExtra(answers, suites); err != nil {
			return err
		}
	}
	if err := e.prepareUsers(); err != nil {
		return err
	}
	return e.prepareGradings()
}

// warnOfExtra warns of answers to tests that no suite has which is graded by them.
func (e *Evaluation) warnOfExtra(answers *target.Answers, suites []string) error {
	extra := map[string]bool{}
	for _, id := range answers.IDs() {
		extra[id] = true
	}
	for _, name := range suites {
		for t, err := range e.suiteNamed(name).Tests() {
			if err != nil {
				return source.AsInvalid(err)
			}
			delete(extra, t.ID)
		}
	}
	if len(extra) > 0 {
		keys := make([]result.Key, 0, len(extra))
		for _, id := range slices.Sorted(maps.Keys(extra)) {
			keys = append(keys, result.Key{TestID: id})
		}
		e.warn(fmt.Sprintf("%s: %s to tests that no suite has: %s", answers.File, text.Plural(len(keys), "answer"),
			named(keys)))
	}
	return nil
}

// cacheFailing tells once of a verdict cache that cannot be read or written.
func (e *Evaluation) cacheFailing(err error) {
	e.cacheTold.Do(func() { e.warn(err.Error() + "; verdicts count all the same, but may not be remembered") })
}

// hold holds the conversation of one job.
func (e *Evaluation) hold(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
	call := callKey{j.Test.Suite, j.Target, wire.CallOf(j.Test.Execution)}
	k := j.Key()
	ctx = llm.InConversation(ctx, llm.Conversation{Suite: k.Suite, Test: k.TestID, Target: k.Target, Trial: k.Trial})
	grading, err := e.graders(j)
	if err != nil {
		return nil, err
	}
	c := runner.Conversation{
		Test: j.Test, Trial: j.Trial, TargetName: j.Target, Target: e.targets[call], User: e.userFor(j.Test),
		Grading: grading, InOrder: e.planned.workers == 1, Regraded: e.regraded != nil, Now: e.setup.Now,
		Log: e.setup.Log, Guard: &e.guard,
	}
	if e.Turned != nil {
		c.Turned = func(turn, of int) { e.Turned(k, turn, of) }
	}
	if e.regraded != nil {
		return e.regrade(ctx, k, c)
	}
	return e.collecting(ctx, j.Test.Suite, func(ctx context.Context) (*result.Test, error) {
		return runner.Run(ctx, c)
	})
}

// end fills in how the run ended. A stop after which nothing was left to run changes nothing.
func (e *Evaluation) end(h *Completed, records *result.Tallies, held func(orchestrator.Unit) bool) {
	now := e.setup.Now()
	h.Run.Count(records, e.planned.byTarget)
	h.Run.RanOut = e.ranOut()
	h.Run.EndedAt = now.UTC()
	h.Run.DurationMS += float64(now.Sub(h.began).Microseconds()) / 1000
	code, reason, message := h.Run.Totals.Exit(e.spec.AllowUngraded)
	h.Run.Ended(code, reason)
	h.Run.ExitMessage = message
	switch {
	case h.stop == result.ReasonAborted:
		h.Run.Ended(result.ExitNotRun, h.stop)
	case h.Run.Totals.NotRun == 0:
		return
	case h.stop == result.ReasonBudget:
		h.Run.Ended(max(h.Run.Code(), result.ExitFailed), h.stop)
	case h.stop == result.ReasonInterrupted:
		h.Run.Ended(result.ExitInterrupted, h.stop)
	default: // nobody stopped it: it broke
		h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
		h.message = "the run ended before all of its tests were held"
	}
	h.Run.ExitMessage = h.message
	h.Run.NotRun = e.notRun(held)
}

// NotRun returns the keys of tests that were planned and not held, as many as are written down. The keys are those that
// records have.
func (e *Evaluation) NotRun(held func(result.Key) bool) []result.Key {
	return e.notRun(func(u orchestrator.Unit) bool { return held(e.logged(keyOf(u))) })
}

func (e *Evaluation) notRun(held func(orchestrator.Unit) bool) []result.Key {
	var keys []result.Key
	for u, err := range e.planned.units() {
		if err != nil || len(keys) == result.MaxNotRun {
			break
		}
		if !held(u) {
			keys = append(keys, e.logged(keyOf(u)))
		}
	}
	return keys
}
