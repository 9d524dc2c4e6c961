package replay_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// kept keeps runs in the process. After failAfter outcomes it is gone.
type kept struct {
	mu        sync.Mutex
	rows      []replay.Run
	outcomes  map[string]replay.Outcome
	batches   []int
	failAfter int
	// back is when it is there again; zero is never.
	back time.Time
}

var errGone = errors.New("the server is gone")

func (k *kept) PutRun(_ context.Context, r replay.Run) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows = append(k.rows, r)
	return nil
}

func (k *kept) PutOutcomes(ctx context.Context, _ string, outcomes []replay.Outcome, _ time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.outcomes == nil {
		k.outcomes = map[string]replay.Outcome{}
	}
	k.batches = append(k.batches, len(outcomes))
	for _, o := range outcomes {
		if k.failAfter > 0 && len(k.outcomes) >= k.failAfter && (k.back.IsZero() || time.Now().Before(k.back)) {
			return errGone
		}
		k.outcomes[o.SessionID] = o
	}
	return ctx.Err()
}

func (k *kept) Outcomes(context.Context, string) iter.Seq2[replay.Outcome, error] {
	return func(yield func(replay.Outcome, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(k.outcomes)) {
			if !yield(k.outcomes[id], nil) {
				return
			}
		}
	}
}

func (k *kept) last() replay.Run { return k.rows[len(k.rows)-1] }

// logOf is a log of n sessions, every third of which was dropped and every tenth of which says nothing of its end.
func logOf(t *testing.T, n int) *memory {
	t.Helper()
	log := &memory{}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id, turn := fmt.Sprintf("s%04d", i), 0
		add := func(kind, context, payload string) {
			turn++
			*log = append(*log, replay.Event{
				ID: fmt.Sprintf("%s-%02d", id, turn), Type: kind, SessionID: id,
				FlowID: "f", Time: at.Add(time.Duration(turn) * time.Second),
				Context: json.RawMessage(`{"session_id":"` + id + `","flow_id":"f","current_state":"` + context + `"}`),
				Payload: json.RawMessage(payload),
			})
		}
		say := func(before, text, after string) {
			add(replay.Message, before,
				fmt.Sprintf(`{"sender":"user","message_text":%q,"state_transition":true,"next_state":%q}`, text, after))
			add(replay.Message, after, fmt.Sprintf(`{"sender":"bot","message_text":%q}`, "in "+after))
		}
		add(replay.Started, "hello", `{}`)
		say("hello", "book", "where")
		say("where", "Rome", "when")
		switch {
		case i%10 == 9:
		case i%3 == 0:
			add(replay.DroppedOff, "when", `{}`)
		default:
			say("when", "May", "bye")
			add(replay.Completed, "bye", `{"data_collected":{"said":"MAY"}}`)
		}
	}
	return log
}

// evaluation replays a log against booking and an agent that loses its way.
func evaluation(log replay.Events, runs replay.Runs, workers int) *replay.Evaluation {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	e := &replay.Evaluation{
		Events: log, Runs: runs, MinTurns: 1, Workers: workers, Rules: replay.DefaultRules(), Now: clock,
		Head: replay.Report{Run: replay.Run{ID: "r", FlowID: "f", Gate: replay.GatePaired}},
		Replayer: &replay.Replayer{
			Baseline: &scripted{moves: booking}, Candidate: &scripted{moves: map[string]string{
				"hello/book": "where", "where/Rome": "elsewhere",
			}}, Mode: replay.Recorded, Seed: replay.Seed, Now: clock,
		},
	}
	e.Pool = replayrun.LocalPool(e, nil)
	return e
}

func TestEvaluate(t *testing.T) {
	runs := &kept{}
	report, err := evaluation(logOf(t, 100), runs, 4).Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{
		report.Run.Sessions, report.Completed, report.Dropped, report.Unknown,
	}; !gocmp.Equal(got, []int{100, 60, 30, 10}) {
		t.Errorf("sessions, completed, dropped, unknown: %v", got)
	}
	completion := report.Metrics[0]
	// The baseline completes what was completed; the candidate completes nothing, which is right of those that were
	// dropped.
	if got := []float64{
		completion.Baseline.Value, completion.Candidate.Value, float64(completion.Candidate.N),
		completion.Difference.Mean,
	}; !gocmp.Equal(got, []float64{1, 1. / 3, 90, -2. / 3}) {
		t.Errorf("completion match: %v", got)
	}
	if *report.Passed || report.Run.Verdict != "worse" || *report.Run.NonInferior || report.Run.Status != replay.Done {
		t.Errorf("passed %v, verdict %s, status %s", *report.Passed, report.Run.Verdict, report.Run.Status)
	}
	if len(runs.outcomes) != 100 || runs.rows[0].Status != replay.Running || runs.last().Status != replay.Done ||
		*runs.last().Better {
		t.Errorf("%d sessions kept, status %s and %s", len(runs.outcomes), runs.rows[0].Status, runs.last().Status)
	}
	if !slices.IsSortedFunc(report.Sessions, func(a, b replay.Pair) int { return cmp.Compare(lost(b), lost(a)) }) {
		t.Error("the sessions in which there is most to see do not come first")
	}
}

func lost(p replay.Pair) float64 {
	if m := p.Variation(replay.Candidate).Metrics.CompletionMatch; m != nil {
		return 1 - *m
	}
	return 0
}

// TestBrokenOff proves that a run that is interrupted keeps what is finished, says that it is partial, and when it goes
// on comes to the report of an undisturbed one, byte for byte, without replaying anything twice.
func TestBrokenOff(t *testing.T) {
	log := logOf(t, 60)
	undisturbed, err := evaluation(log, &kept{}, 1).Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runs := &kept{}
	ctx, stop := context.WithCancel(t.Context())
	e := evaluation(log, runs, 4)
	e.Progress = func(done int) {
		if done == 20 {
			stop()
		}
	}
	if _, err := e.Evaluate(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if n, status := len(runs.outcomes), runs.last().Status; n < 20 || n > 60 || status != replay.Partially ||
		runs.last().Ended.IsZero() || runs.last().Sessions < 20 {
		t.Fatalf("%d kept, status %s, %d sessions", n, status, runs.last().Sessions)
	}
	before := len(runs.outcomes)
	var played atomic.Int32
	e = evaluation(log, runs, 4)
	e.Resumed = true
	e.Replayer.Candidate = &counting{e.Replayer.Candidate, &played}
	resumed, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if int(played.Load()) != 60-before {
		t.Errorf("%d sessions were replayed, %d were missing", played.Load(), 60-before)
	}
	if diff := gocmp.Diff(asJSON(t, undisturbed), asJSON(t, resumed)); diff != "" {
		t.Errorf("(-undisturbed +resumed)\n%s", diff)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// counting counts the sessions that an agent plays.
type counting struct {
	replay.Agent
	n *atomic.Int32
}

func (c *counting) Open(ctx context.Context, at replay.Moment) (replay.Conversation, error) {
	c.n.Add(1)
	return c.Agent.Open(ctx, at)
}

// TestStoreGone proves that a store that goes away for good ends the run with its error, and that the last row is no
// running one.
func TestStoreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, began := &kept{failAfter: 3}, time.Now()
		_, err := evaluation(logOf(t, 1000), runs, 4).Evaluate(t.Context())
		if !errors.Is(err, errGone) {
			t.Errorf("got %v", err)
		}
		if last := runs.last(); last.Status == replay.Running || !strings.Contains(last.Error, "gone") {
			t.Errorf("status %s, error %q", last.Status, last.Error)
		}
		if took := time.Since(began); took < 20*time.Second || took > time.Minute {
			t.Errorf("it gave up after %s", took)
		}
	})
}

// tardy is an agent that takes a second for every turn.
type tardy struct{ *scripted }

func (a tardy) Open(ctx context.Context, at replay.Moment) (replay.Conversation, error) {
	c, err := a.scripted.Open(ctx, at)
	return tardyTalk{c}, err
}

type tardyTalk struct{ replay.Conversation }

func (c tardyTalk) Send(ctx context.Context, text string) (replay.Answer, error) {
	time.Sleep(time.Second)
	return c.Conversation.Send(ctx, text)
}

// TestBatches proves that little is lost with a program that is killed: what is finished is written after 200 sessions,
// or after a second.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &kept{}
		if _, err := evaluation(logOf(t, 450), quick, 4).Evaluate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(quick.outcomes) != 450 || slices.Max(quick.batches) != 200 {
			t.Errorf("%d sessions in batches of %v", len(quick.outcomes), quick.batches)
		}
		slowly := &kept{}
		e := evaluation(logOf(t, 10), slowly, 1)
		e.Replayer.Candidate = tardy{&scripted{moves: booking}}
		if _, err := e.Evaluate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(slowly.outcomes) != 10 || slices.Max(slowly.batches) != 1 {
			t.Errorf("%d sessions, of which one takes seconds, in batches of %v", len(slowly.outcomes), slowly.batches)
		}
	})
}

// TestStoreBack proves that a run outlives a store that is away for a while.
func TestStoreBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := &kept{failAfter: 3, back: time.Now().Add(20 * time.Second)}
		report, err := evaluation(logOf(t, 1000), runs, 4).Evaluate(t.Context())
		if err != nil || report.Run.Sessions != 1000 || len(runs.outcomes) != 1000 ||
			runs.last().Status != replay.Done {
			t.Errorf("%v, %d kept, status %s", err, len(runs.outcomes), runs.last().Status)
		}
	})
}

// broken is a log that breaks off in its middle, until it is back.
type broken struct {
	*memory
	back time.Time
}

func (b broken) Each(ctx context.Context, f replay.Filter) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		n := 0
		for e, err := range b.memory.Each(ctx, f) {
			if n++; n == 40 && (b.back.IsZero() || time.Now().Before(b.back)) {
				yield(replay.Event{}, errGone)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestLogGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := &kept{}
		if _, err := evaluation(broken{memory: logOf(t, 100)}, runs, 2).
			Evaluate(t.Context()); !errors.Is(err, errGone) {
			t.Errorf("got %v", err)
		}
		if status := runs.last().Status; status != replay.Partially && status != replay.Failed {
			t.Errorf("status %s", status)
		}
	})
}

// TestLogBack proves that a log which is away for a while is read on behind where it was.
func TestLogBack(t *testing.T) {
	undisturbed, err := evaluation(logOf(t, 100), nil, 2).Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		report, err := evaluation(broken{logOf(t, 100), time.Now().Add(20 * time.Second)}, nil, 2).Evaluate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(asJSON(t, undisturbed), asJSON(t, report)); diff != "" {
			t.Errorf("(-undisturbed +disturbed)\n%s", diff)
		}
	})
}

func TestNothingToReplay(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*replay.Evaluation)
		want   error
	}{
		"no session is long enough": {func(e *replay.Evaluation) { e.MinTurns = 9 }, replay.ErrNoSessions},
		"another flow":              {func(e *replay.Evaluation) { e.Head.Run.FlowID = "g" }, replay.ErrNoSessions},
		"every pair is dropped": {func(e *replay.Evaluation) {
			e.Replayer.Candidate = &scripted{fail: "book"}
		}, replay.ErrNothingReplayed},
	} {
		t.Run(name, func(t *testing.T) {
			runs := &kept{}
			e := evaluation(logOf(t, 10), runs, 2)
			tc.change(e)
			if _, err := e.Evaluate(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
			if runs.last().Status != replay.Failed {
				t.Errorf("status %s", runs.last().Status)
			}
		})
	}
}

// TestSampleOfEvaluation proves that a sample is the same whoever draws it, and that a larger one holds it.
func TestSampleOfEvaluation(t *testing.T) {
	ids := func(n, workers int) []string {
		var ids []string
		e := evaluation(logOf(t, 100), nil, workers)
		e.SampleSize = n
		e.Each = func(p *replay.Pair) error { ids = append(ids, p.SessionID); return nil }
		if _, err := e.Evaluate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	small, large := ids(10, 1), ids(30, 8)
	if len(small) != 10 || len(large) != 30 || !slices.IsSorted(large) {
		t.Fatalf("%v, %v", small, large)
	}
	for _, id := range small {
		if !slices.Contains(large, id) {
			t.Errorf("%s is not in the larger sample", id)
		}
	}
}

// TestSpecGateDecides proves that the gate which is asked for decides: by means the candidate passes three of four
// rules, but not the hard one.
func TestSpecGateDecides(t *testing.T) {
	e := evaluation(logOf(t, 100), nil, 2)
	e.Head.Run.Gate = replay.GateSpec
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if *report.Passed || report.Spec.Hard || report.Spec.PassedRatio != 0.5 {
		t.Errorf("passed %v, %+v", *report.Passed, report.Spec)
	}
	e = evaluation(logOf(t, 100), nil, 2)
	e.Head.Run.Gate, e.Replayer.Candidate = replay.GateSpec, e.Replayer.Baseline
	if report, err = e.Evaluate(t.Context()); err != nil || !*report.Passed {
		t.Errorf("the baseline itself: %v, %v", report, err)
	}
}

func TestWithoutBaseline(t *testing.T) {
	e := evaluation(logOf(t, 20), nil, 2)
	e.Replayer.Baseline = nil
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Passed != nil || report.Spec != nil || report.Run.Better != nil || report.Metrics[0].Difference != nil ||
		report.Metrics[0].Candidate == nil {
		t.Errorf("got %+v", report)
	}
}

// slow is an agent that takes its time, on a clock of the test's.
type slow struct {
	replay.Agent
	clock *atomic.Int64 // nanoseconds
	takes time.Duration
}

func (s *slow) Open(ctx context.Context, at replay.Moment) (replay.Conversation, error) {
	c, err := s.Agent.Open(ctx, at)
	return &slowTalk{c, s}, err
}

type slowTalk struct {
	replay.Conversation
	agent *slow
}

func (c *slowTalk) Send(ctx context.Context, text string) (replay.Answer, error) {
	c.agent.clock.Add(int64(c.agent.takes))
	return c.Conversation.Send(ctx, text)
}

// TestLatency proves that milliseconds which nobody notices make no verdict, while others do.
func TestLatency(t *testing.T) {
	for _, tc := range []struct {
		baseline, candidate time.Duration
		want                string
	}{
		{6 * time.Millisecond, time.Millisecond, "non_inferior"},
		{time.Millisecond, 6 * time.Millisecond, "non_inferior"},
		{100 * time.Millisecond, 60 * time.Millisecond, "better"},
		{100 * time.Millisecond, 115 * time.Millisecond, "non_inferior"}, // worse, but by less than a fifth
		{100 * time.Millisecond, 195 * time.Millisecond, "non_inferior"}, // less than 100 ms is never harm
		{100 * time.Millisecond, 205 * time.Millisecond, "worse"},
	} {
		e := evaluation(logOf(t, 60), nil, 1)
		var clock atomic.Int64
		e.Replayer.Now = func() time.Time { return time.Unix(0, clock.Load()) }
		same := e.Replayer.Baseline
		e.Replayer.Baseline, e.Replayer.Candidate = &slow{same, &clock, tc.baseline}, &slow{same, &clock, tc.candidate}
		report, err := e.Evaluate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report.Metrics, func(m replay.MetricReport) bool { return m.Name == replay.AvgLatency })
		if got := report.Metrics[i].Difference.Verdict; got != tc.want {
			t.Errorf("%s beside %s: %s, want %s", tc.candidate, tc.baseline, got, tc.want)
		}
	}
}

// lossy is a log with rows that belong to no session.
type lossy struct{ *memory }

func (lossy) Unusable(context.Context, replay.Filter) ([]replay.RowFault, error) {
	return []replay.RowFault{replay.UnplacedRows(7, []string{"x", "y"})}, nil
}

var _ replay.Lossy = lossy{}

func TestUnusableRows(t *testing.T) {
	report, err := evaluation(lossy{logOf(t, 20)}, nil, 2).Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := replay.Note{Text: "in the log: the row names no session or no time", Count: 7, Examples: []string{"x", "y"}}
	if !slices.ContainsFunc(report.Notes, func(n replay.Note) bool { return gocmp.Equal(n, want) }) {
		t.Errorf("notes: %+v", report.Notes)
	}
}
