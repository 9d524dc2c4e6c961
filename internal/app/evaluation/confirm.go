package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// confirmed is what repeats found about tests that fell, or that could not be graded.
type confirmed struct {
	repeats compare.Repeats
	// retried has the records of errors that a repeat graded, by the keys of the log.
	retried map[result.Key]*result.Test
	// about is nil where nothing was repeated.
	about *result.Confirmation
	// interrupted is true where the run was stopped before the last repeat.
	interrupted bool
}

// confirm runs tests again for a regression gate or webhook: first those that could not be graded, until a repeat
// grades them, then those that fell, until a repeat passes. Nothing runs again where the exit code is known without it.
// Falls of a run that plays recorded answers stay unconfirmed. The records go to runlog.RepeatFile: they count for the
// gate and the budget, and in no rate.
func (e *Evaluation) confirm(ctx context.Context, h *Completed, kept *recorder, spent orchestrator.Budget) {
	rule := compare.Rule(e.spec.Rule())
	if !e.spec.Confirms() || e.baseline == "" || e.regraded != nil || h.Run.Stopped() {
		return
	}
	baseline, err := compare.Open(e.baseline)
	if err != nil {
		return // Conclude reports it
	}
	c, err := e.compared(h, baseline)
	if err != nil || compare.Worse(c) != "" || len(compare.Errors(c))+len(c.Unconfirmed) == 0 {
		return
	}
	if e.setup.Playback != "" {
		if n := len(c.Unconfirmed); n > 0 {
			h.confirmed.about = &result.Confirmation{Falls: n, Missing: recordedAnswers}
		}
		return
	}
	r := &repeater{
		e: e, h: h, kept: kept, spent: spent, units: map[result.Key]orchestrator.Unit{}, rounds: map[result.Key]int{},
	}
	r.spend(kept.records.Totals())
	r.spent.Time = time.Duration(h.Run.DurationMS * float64(time.Millisecond))
	h.confirmed.about = &result.Confirmation{}
	if err := r.confirm(ctx, rule, baseline, c); err != nil {
		r.gaveUp(err)
	}
	h.confirmed.about.Usage, h.confirmed.about.Cost = r.used.Usage.Add(r.used.Judge.Usage), r.used.Cost
	h.confirmed.about.Conversations = r.used.Conversations
}

// recordedAnswers is why a fall cannot be confirmed in a run that plays recorded answers.
const recordedAnswers = "recorded answers are always the same (run against the agent, or use --fail-on any-change)"

// repeater runs tests again. It is an orchestrator.Results. One goroutine uses it.
type repeater struct {
	e    *Evaluation
	h    *Completed
	kept *recorder
	log  *runlog.Log
	// units are the tests that run again, and records what came of the latest round, by the keys of the log.
	units   map[result.Key]orchestrator.Unit
	records map[result.Key]*result.Test
	// begun has what records get of each test, prior the repeats of an earlier part of a resumed run, by the keys of
	// the plan.
	begun map[result.Key]begun
	prior map[result.Key]orchestrator.Outcome
	// rounds counts how often each test ran again.
	rounds map[result.Key]int
	spent  orchestrator.Budget
	used   result.Totals
}

// confirm runs the errors and the falls of a comparison again.
func (r *repeater) confirm(ctx context.Context, rule compare.Rule, baseline compare.Side,
	c *result.Comparison) (err error) {
	if r.log, err = runlog.OpenRepeats(r.h.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.log.Close()) }()
	r.log.Redact = r.e.setup.Secrets().Bytes
	found := &r.h.confirmed
	if failing := compare.Errors(c); len(failing) > 0 {
		found.retried = map[result.Key]*result.Test{}
		if err := r.retry(ctx, failing, rule.Retries(len(c.Unconfirmed))); err != nil {
			return err
		}
		if c, err = r.e.compared(r.h, baseline); err != nil || compare.Worse(c) != "" {
			return err
		}
	}
	if len(c.Unconfirmed) == 0 {
		return nil
	}
	return r.repeat(ctx, rule, c.Unconfirmed)
}

// retry runs tests again that could not be graded, at most n times.
func (r *repeater) retry(ctx context.Context, failing []result.Change, n int) error {
	keys, err := r.add(failing)
	r.h.confirmed.about.Errors = len(keys)
	r.note("%s with an error: running again up to %s", len(keys), n)
	for round := 0; err == nil && round < n && len(keys) > 0; round++ {
		err = r.round(ctx, keys)
		keys = r.left(keys, func(key result.Key, t *result.Test) bool {
			if t.Verdict.Graded() {
				r.h.confirmed.retried[key] = t
			}
			return !t.Verdict.Graded()
		})
	}
	return err
}

// repeat runs tests again that fell, each until it passes.
func (r *repeater) repeat(ctx context.Context, rule compare.Rule, falls []result.Change) error {
	found, n := &r.h.confirmed, rule.Repeats(len(falls))
	found.repeats = compare.Repeats{N: n, Of: map[result.Key][]result.Verdict{}}
	found.about.Falls, found.about.Repeats, found.about.Default = len(falls), n, rule.Confirm == 0
	keys, err := r.add(falls)
	r.note("%s that passed in the baseline failed: running again up to %s", len(keys), n)
	if len(keys) < len(falls) {
		found.about.Missing = recordedAnswers
	}
	for round := 0; err == nil && round < n && len(keys) > 0; round++ {
		err = r.round(ctx, keys)
		keys = r.left(keys, func(key result.Key, t *result.Test) bool {
			found.repeats.Of[key] = append(found.repeats.Of[key], t.Verdict)
			return t.Verdict != result.Pass
		})
	}
	for _, key := range keys {
		if err == nil && slices.ContainsFunc(found.repeats.Of[key], func(v result.Verdict) bool {
			return !v.Graded()
		}) {
			found.about.Missing = "a repeat of test " + text.OneLine(key.TestID, 100) + " could not be graded"
		}
	}
	return err
}

// note reports that tests run again, without a word in the record of the run, which has it in its comparison.
func (r *repeater) note(format string, tests, repeats int) {
	if warn := r.e.setup.Warn; warn != nil && tests > 0 {
		warn(fmt.Sprintf(format, text.Plural(tests, "test"), text.Plural(repeats, "time")))
	}
}

// left returns the tests of a round that run again, by what came of them. A test without a record was not run.
func (r *repeater) left(keys []result.Key, again func(result.Key, *result.Test) bool) (left []result.Key) {
	for _, key := range keys {
		if t := r.records[key]; t != nil && again(key, t) {
			left = append(left, key)
		}
	}
	return left
}

// add finds the units of tests, but for those that play recorded answers.
func (r *repeater) add(changes []result.Change) (keys []result.Key, err error) {
	wanted := map[result.Key]bool{}
	for _, x := range changes {
		wanted[x.Key()] = true
	}
	if r.begun == nil {
		r.begun = map[result.Key]begun{}
	}
	added := map[result.Key]orchestrator.Unit{}
	for u, err := range r.e.planned.units() {
		if err != nil {
			return keys, err
		}
		key := r.e.logged(keyOf(u))
		if !wanted[key] || r.e.plays(u) {
			continue
		}
		if r.begun[keyOf(u)], err = r.kept.begunOf(u); err != nil {
			return keys, err
		}
		added[key] = u
		keys = append(keys, key)
	}
	for key, u := range added {
		r.units[key] = u
	}
	return keys, r.readPrior(added)
}

// plays reports whether a target plays recorded answers: it would give the same ones again.
func (e *Evaluation) plays(u orchestrator.Unit) bool {
	found, err := e.setups[u.Test.Suite].TargetDependencies(context.Background(), u.Target)
	if err != nil {
		return false
	}
	for _, m := range found.Models {
		if m.Model.Provider == "cassette" {
			return true
		}
	}
	return false
}

// readPrior reads what an earlier part of a resumed run has repeated of tests, as far as it belongs to their records:
// repeats that began before the record itself are those of an older one.
func (r *repeater) readPrior(of map[result.Key]orchestrator.Unit) error {
	if !r.e.Resume {
		return nil
	}
	since := map[result.Key]time.Time{}
	for t, err := range runlog.Read(r.h.Dir) {
		if err != nil {
			return err
		}
		if _, added := of[t.Key()]; added {
			since[t.Key()] = t.StartedAt
		}
	}
	if r.prior == nil {
		r.prior = map[result.Key]orchestrator.Outcome{}
	}
	for t, err := range runlog.ReadRepeats(r.h.Dir) {
		if err != nil {
			return err
		}
		u, added := of[conversationKey(t)]
		if added && t.Fingerprint == r.begun[keyOf(u)].fingerprint && !t.StartedAt.Before(since[conversationKey(t)]) {
			r.prior[t.Key()] = orchestrator.OutcomeOf(t)
		}
	}
	return nil
}

// round runs each test once more, with all of its trials.
func (r *repeater) round(ctx context.Context, keys []result.Key) error {
	r.records = map[result.Key]*result.Test{}
	c, err := r.e.orchestration(ctx, r.h, r.kept)
	if err != nil {
		return err
	}
	c.Results, c.Rejudge, c.Observe = r, nil, nil
	o, err := orchestrator.New(c)
	if err != nil {
		return err
	}
	began := r.e.setup.Now()
	var turns []int32
	var ids []result.Key
	for _, key := range keys {
		u := r.units[key]
		turns, ids = append(turns, r.e.needsOf(u.Test).turns), append(ids, keyOf(u))
	}
	used, err := o.Run(ctx, orchestrator.Plan{
		Costs: r.e.costs(turns, ids),
		Tests: r.e.marked(func(yield func(orchestrator.Unit, error) bool) {
			for _, key := range keys {
				if !yield(r.again(key), nil) {
					return
				}
			}
		}),
		Budget: r.e.planned.budget, Spent: r.spent,
		Prior: func(k result.Key) (orchestrator.Outcome, bool) {
			o, ok := r.prior[r.e.logged(k)]
			return o, ok && k.Trial > 0
		},
	}, r.e.Stop)
	r.spend(used)
	r.spent.Time += r.e.setup.Now().Sub(began)
	r.used.Usage, r.used.Cost, r.used.Judge = r.used.Usage.Add(used.Usage), r.used.Cost.Add(used.Cost),
		r.used.Judge.Add(used.Judge)
	r.used.Conversations += used.Conversations
	return err
}

// spend adds what conversations have cost to what the budget has paid.
func (r *repeater) spend(t result.Totals) {
	r.spent.USD += t.Cost.USD + t.User.Spent().USD
	r.spent.Tokens += t.Usage.Total() + t.Judge.Usage.Total() + t.User.Used().Total()
}

// again returns the next repeat of a test. It waits for no other test, and its trials have numbers of their own.
func (r *repeater) again(key result.Key) orchestrator.Unit {
	r.rounds[key]++
	u := r.units[key]
	test := *u.Test
	test.DependsOn = nil
	if trials := &test.Execution.Trials; trials.Count == 0 {
		trials.Count, trials.Strategy = 1, suite.MeanScore
	}
	u.Test, u.After = &test, test.Execution.Trials.Count*r.rounds[key]
	return u
}

// Append implements orchestrator.Results. Trials are stored, and their aggregates are what came of a round.
func (r *repeater) Append(records ...*result.Test) error {
	for _, t := range records {
		of := r.begun[conversationKey(t)]
		of.fill(t)
		line, err := r.log.Line(t)
		if err != nil {
			return err
		}
		if t.Trials == nil {
			if err := r.log.Write(line); err != nil {
				return err
			}
			continue
		}
		sum, err := runlog.Decode(line) // with the names that the log has
		if err != nil {
			return err
		}
		if of.trials == 0 {
			sum.Trials = nil
		}
		r.records[sum.Key()] = sum
	}
	return nil
}

// gaveUp notes why not every repeat was run.
func (r *repeater) gaveUp(err error) {
	found := &r.h.confirmed
	found.interrupted = errors.Is(err, orchestrator.ErrStopped)
	found.about.Missing = r.e.setup.Secrets().Text(err.Error())
	if found.interrupted {
		found.about.Missing = "the run was stopped"
	} else if !errors.Is(err, orchestrator.ErrBudget) {
		r.e.warn("tests could not run again: " + err.Error())
	}
}
