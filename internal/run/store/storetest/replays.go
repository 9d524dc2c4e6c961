package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// RunReplays runs every conformance test on the runs that open returns, of which there are none yet. They end with the
// test.
func RunReplays(t *testing.T, open func(t *testing.T) *store.ReplayRuns) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *store.ReplayRuns)
	}{
		{"what is not there is unknown", replaysUnknown},
		{"a run comes back as it was put", replaysSame},
		{"the last row of a run holds, with its sessions", replaysReplaced},
		{"runs come newest first", replaysNewestFirst},
		{"a run that cannot be kept is an error that names it", replaysRefused},
		{"a silent run is ended", replaysSwept},
		{"a run is claimed as it was seen, by one of many", replaysClaimed},
		{"sessions come back as they were put, in byte order", outcomesSame},
		{"a session that is put again is replaced", outcomesReplaced},
		{"sessions are put all or none", outcomesAllOrNone},
		{"large sessions", outcomesLarge},
		{"many sessions in constant memory", outcomesMany},
		{"many put the same sessions at once", outcomesAtOnce},
		{"reading may end early, be nested, and be mixed with writing", outcomesNested},
		{"of a session that is erased the words are gone and the figures stay", outcomesErased},
		{"a state of a watch replaces the one that it goes on from", watchesKept},
		{"of many that take a look one keeps it", watchesAtOnce},
		{"the sessions of a run are told", watchesSessions},
		{"a cancelled context ends a call", replaysCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

// sampleReplay has something in every column.
func sampleReplay(id string) replay.Run {
	return replay.Run{
		ID: id, VariantID: "v2", BaselineID: "v1", FlowID: "hotel_book",
		DatasetVersion: "hotel_book_2025-01-01_2025-01-31", Mode: "recorded", Gate: "paired", Status: replay.Done,
		Error: "none really", CompletionMatch: new(0.875), TurnCountRatio: new(1.0 / 3), StateProgression: new(0.0),
		AvgLatencyMS: new(123.456), CompletionSeconds: new(1e-9), DataAccuracy: new(1.0), SupportCoverage: new(0.1),
		Sessions: 23_845, PairsDropped: 3, Better: new(true), NonInferior: new(false), Verdict: "better",
		Outcome: "passed", Intervals: json.RawMessage(`{"completion_match":{"low":0.8,"high":null}}`),
		Settings: json.RawMessage(`{"seed":42}`), Rules: json.RawMessage(`{"require":"better"}`),
		Fidelity: json.RawMessage(`{"overall":0.75}`), Started: eventTime, Seen: eventTime.Add(time.Minute),
		Ended: eventTime.Add(time.Hour),
	}
}

func putReplay(t *testing.T, r *store.ReplayRuns, run replay.Run) {
	t.Helper()
	if err := r.PutRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func wantReplay(t *testing.T, r *store.ReplayRuns, id string, want replay.Run) {
	t.Helper()
	got, err := r.Run(t.Context(), id)
	if diff := cmp.Diff(want, got, sameJSON, sameTime); diff != "" || err != nil {
		t.Errorf("Run(%q): %v, -want +got:\n%s", id, err, diff)
	}
}

func replaysUnknown(t *testing.T, r *store.ReplayRuns) {
	for _, id := range []string{"", "r", "' OR ''='", "\xff", strings.Repeat("long", 1000)} {
		_, err := r.Run(t.Context(), id)
		wantUnknown(t, err, "replay run", id)
		err = r.PutOutcomes(t.Context(), id, outcomes("s"), eventTime)
		wantUnknown(t, err, "replay run", id)
		if got := collectOutcomes(t, r, id); len(got) != 0 {
			t.Errorf("%.20q has %d sessions", id, len(got))
		}
	}
	if all, err := r.Runs(t.Context(), 0); len(all) != 0 || err != nil {
		t.Errorf("%d runs, %v", len(all), err)
	}
}

func replaysSame(t *testing.T, r *store.ReplayRuns) {
	bare := replay.Run{ID: "bare", Status: replay.Running}
	odd := "'\"\\ %s $1 日本語 😀\n"
	strange := replay.Run{
		ID: odd, VariantID: odd, BaselineID: odd, FlowID: odd, DatasetVersion: odd, Mode: replay.Mode(odd), Gate: odd,
		Status: replay.Status(odd), Error: odd, Verdict: odd, Better: new(false), Intervals: json.RawMessage(`{}`),
		Started: eventTime, Seen: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		Ended: time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), AvgLatencyMS: new(math.MaxFloat64),
		TurnCountRatio: new(math.SmallestNonzeroFloat64), Sessions: -1, PairsDropped: math.MaxInt64,
	}
	for _, run := range []replay.Run{sampleReplay("r1"), bare, strange} {
		putReplay(t, r, run)
		wantReplay(t, r, run.ID, run)
	}
	changed := sampleReplay("zone")
	changed.Started = eventTime.In(time.FixedZone("", 5*3600+45*60)).Add(999)
	changed.Error = strings.Repeat("ä", 20_000)
	changed.Verdict = "\x00\xff"
	putReplay(t, r, changed)
	got, err := r.Run(t.Context(), "zone")
	if err != nil || !got.Started.Equal(eventTime) || got.Verdict != "\uFFFD\uFFFD" || len(got.Error) > 16<<10 ||
		!strings.HasSuffix(got.Error, "ä…") {
		t.Errorf("%v, %v, %q, %d bytes", err, got.Started, got.Verdict, len(got.Error))
	}
}

func replaysReplaced(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	if err := r.PutOutcomes(t.Context(), "r1", outcomes("a", "b"), eventTime.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	seen := sampleReplay("r1")
	seen.Seen = eventTime.Add(2 * time.Minute)
	wantReplay(t, r, "r1", seen)
	last := replay.Run{
		ID: "r1", VariantID: "v3", Status: replay.Failed, Error: "the model is away", Started: eventTime,
		Seen: eventTime,
	}
	putReplay(t, r, last)
	wantReplay(t, r, "r1", last)
	if got := collectOutcomes(t, r, "r1"); len(got) != 2 {
		t.Errorf("%d sessions, want 2", len(got))
	}
	if all, err := r.Runs(t.Context(), 0); len(all) != 1 || err != nil {
		t.Errorf("%d runs, %v", len(all), err)
	}
	if err := r.PutOutcomes(t.Context(), "r1", nil, eventTime.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	last.Seen = eventTime.Add(time.Hour)
	wantReplay(t, r, "r1", last)
}

func replaysNewestFirst(t *testing.T, r *store.ReplayRuns) {
	for i, second := range []int{2, 0, 3, 1, 3} {
		run := sampleReplay(string(rune('a' + i)))
		run.Started = eventTime.Add(time.Duration(second) * time.Second)
		putReplay(t, r, run)
	}
	putReplay(t, r, replay.Run{ID: "0", Status: replay.Running})
	for limit, want := range map[int]string{0: "ceadb0", -1: "ceadb0", 1: "c", 3: "cea", 100: "ceadb0"} {
		all, err := r.Runs(t.Context(), limit)
		var ids []string
		for _, run := range all {
			ids = append(ids, run.ID)
		}
		if got := strings.Join(ids, ""); got != want || err != nil {
			t.Errorf("Runs(%d): %s, %v; want %s", limit, got, err, want)
		}
	}
}

func replaysRefused(t *testing.T, r *store.ReplayRuns) {
	for _, tc := range []struct {
		want   string
		change func(*replay.Run)
	}{
		{"it has no evaluation_run_id", func(r *replay.Run) { r.ID = "" }},
		{"its evaluation_run_id has 600 bytes", func(r *replay.Run) { r.ID = strings.Repeat("x", 600) }},
		{`replay run "r1": it has no status`, func(r *replay.Run) { r.Status = "" }},
		{"its variant_id has", func(r *replay.Run) { r.VariantID = strings.Repeat("x", 600) }},
		{"its turn_count_ratio is NaN, which is not finite: leave it out", func(r *replay.Run) {
			r.TurnCountRatio = new(math.NaN())
		}},
		{"its avg_latency_ms is +Inf", func(r *replay.Run) { r.AvgLatencyMS = new(math.Inf(1)) }},
		{"its intervals is no JSON object", func(r *replay.Run) { r.Intervals = json.RawMessage(`[]`) }},
		{"its settings is no JSON object", func(r *replay.Run) { r.Settings = json.RawMessage(`{`) }},
		{"its ended_at is in the year 10000", func(r *replay.Run) {
			r.Ended = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		}},
	} {
		run := sampleReplay("r1")
		tc.change(&run)
		if err := r.PutRun(t.Context(), run); err == nil || !strings.Contains(err.Error(), tc.want) ||
			len(err.Error()) > 1000 {
			t.Errorf("PutRun: %v, want %s", err, tc.want)
		}
	}
	if all, err := r.Runs(t.Context(), 0); len(all) != 0 || err != nil {
		t.Errorf("%d runs were kept, %v", len(all), err)
	}
}

func replaysSwept(t *testing.T, r *store.ReplayRuns) {
	now := eventTime.Add(time.Hour)
	put := func(id string, status replay.Status, seen time.Time) replay.Run {
		run := replay.Run{ID: id, Status: status, Started: eventTime, Seen: seen}
		putReplay(t, r, run)
		return run
	}
	silent := put("silent", replay.Running, now.Add(-replay.StaleAfter-time.Microsecond))
	unseen := put("unseen", replay.Running, time.Time{})
	others := []replay.Run{
		put("alive", replay.Running, now.Add(-replay.StaleAfter)), put("done", replay.Done, eventTime),
		put("failed", replay.Failed, eventTime), put("partial", replay.Partially, eventTime),
	}
	for _, want := range []int{2, 0} {
		if n, err := r.Sweep(t.Context(), now); n != want || err != nil {
			t.Errorf("Sweep: %d, %v; want %d", n, err, want)
		}
	}
	for _, run := range []replay.Run{silent, unseen} {
		run.Status, run.Error = replay.Partially, "the program that ran it ended before the run was complete"
		if run.Seen.IsZero() {
			run.Seen = run.Started
		}
		run.Ended = run.Seen
		wantReplay(t, r, run.ID, run)
	}
	for _, run := range others {
		wantReplay(t, r, run.ID, run)
	}
}

func replaysCancelled(t *testing.T, r *store.ReplayRuns) {
	putReplay(t, r, sampleReplay("r1"))
	if err := r.PutOutcomes(t.Context(), "r1", outcomes("a", "b"), eventTime); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for o, err := range r.Outcomes(ctx, "r1") {
		if o.SessionID == "a" {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("Outcomes: %v, %v", o, err)
		}
	}
	cancel()
	_, one := r.Run(ctx, "r1")
	_, two := r.Runs(ctx, 0)
	_, three := r.Sweep(ctx, eventTime)
	for i, err := range []error{
		one, two, three, r.PutRun(ctx, sampleReplay("r2")), r.PutOutcomes(ctx, "r1", outcomes("c"), eventTime),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: %v, want %v", i, err, context.Canceled)
		}
	}
	if got := collectOutcomes(t, r, "r1"); !slices.Equal(sessionsOf(got), []string{"a", "b"}) {
		t.Errorf("sessions %q", sessionsOf(got))
	}
}

// outcomes are sessions, all alike.
func outcomes(sessions ...string) (all []replay.Outcome) {
	for _, s := range sessions {
		all = append(all, replay.Outcome{
			SessionID: s, Metrics: json.RawMessage(`{"candidate":{"completion_match":1}}`),
			Detail: json.RawMessage(`{"turns":[]}`),
		})
	}
	return all
}

func collectOutcomes(t *testing.T, r *store.ReplayRuns, run string) (all []replay.Outcome) {
	t.Helper()
	for o, err := range r.Outcomes(t.Context(), run) {
		if err != nil {
			t.Fatalf("Outcomes(%q): %v", run, err)
		}
		all = append(all, o)
	}
	return all
}

func sessionsOf(all []replay.Outcome) (ids []string) {
	for _, o := range all {
		ids = append(ids, o.SessionID)
	}
	return ids
}

func wantOutcomes(t *testing.T, r *store.ReplayRuns, run string, want ...replay.Outcome) {
	t.Helper()
	if diff := cmp.Diff(want, collectOutcomes(t, r, run), sameJSON); diff != "" {
		t.Errorf("Outcomes(%q): -want +got:\n%.3000s", run, diff)
	}
}

// numbered are the sessions of a range.
func numbered(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, fmt.Sprintf("s%06d", i))
	}
	return ids
}
