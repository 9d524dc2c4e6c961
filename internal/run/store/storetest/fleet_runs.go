package storetest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

var runTests = []fleetTest{
	{"a run comes back as it was submitted", runKept},
	{"what is not there is unknown", runUnknown},
	{"one key makes one run", runOnce},
	{"one key makes one run at once", runOnceAtOnce},
	{"one key makes one run for each caller", runOncePerCaller},
	{"an id makes one run", runTwice},
	{"too many runs do not wait", runsFull},
	{"runs are listed newest first and filtered", runsFiltered},
	{"pages are complete and without doubles while runs are added", runPages},
	{"a cursor of something else is refused", runCursors},
	{"a run lives once", runLife},
	{"a change is whole or not at all", runChangeRefused},
	{"what is told at the end stays", runEnds},
	{"a run that waits is cancelled at once", runCancelledWaiting},
	{"of a run that goes on the end is asked for", runCancelledRunning},
	{"unfinished runs come in the order of submission", runsUnfinished},
}

func runKept(t *testing.T, f Fleets) {
	spec := `{"schema":1,"files":{"a":"` + strings.Repeat("long ", 200_000) + `"}}`
	want := submitted(t, f, "r1", func(n *store.NewRun) {
		n.Run.Name, n.Run.Labels, n.Run.Schedule = "ä b\x00", map[string]string{"branch": "main", "": ""}, new("hourly")
		n.Run.Suites, n.Run.Targets = []string{"b", "a"}, nil
		n.Spec = []byte(spec)
	})
	if since := time.Since(want.CreatedAt); since < -time.Minute || since > time.Minute {
		t.Errorf("created %v ago", since)
	}
	for _, handle := range []*store.Fleet{f.Fleet, f.Again()} {
		got, err := handle.Run(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != "ä b\uFFFD" {
			t.Errorf("name %q", got.Name)
		}
		got.Name = want.Name
		if d := cmp.Diff(asJSON(t, want), asJSON(t, got)); d != "" {
			t.Errorf("Run mismatch (-want +got):\n%s", d)
		}
		kept, err := handle.Spec(t.Context(), "r1")
		if err != nil || string(kept) != spec {
			t.Errorf("Spec: %d bytes, %v; want %d", len(kept), err, len(spec))
		}
	}
	text := asJSON(t, want)
	for _, part := range []string{
		`"started_at":null`, `"ended_at":null`, `"totals":null`, `"pass_rate":null`, `"pass_rate_bounds":null`,
		`"pass_rate_interval":null`, `"exit_reason":null`, `"exit_code":null`, `"error":null`, `"targets":[]`,
		`"suites":["b","a"]`, `"schedule":"hourly"`, `"progress":{"conversations":null,"done":0,"running":0}`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
}

func runUnknown(t *testing.T, f Fleets) {
	submitted(t, f, "r1")
	ctx := t.Context()
	_, one := f.Run(ctx, "r")
	_, two := f.Spec(ctx, "R1")
	_, three := f.UpdateRun(ctx, "", store.Fence{}, func(*store.Run) error { return nil })
	_, four := f.CancelRun(ctx, "r2")
	_, five := f.Results(ctx, "r2", store.ResultFilter{}, store.PageOf{})
	_, six := f.RunEvents(ctx, "r2", 0, 0)
	_, seven := f.PutResults(ctx, "r2", store.Fence{}, []store.NewResult{{Test: tested("a", 0, result.Pass)}})
	_, eight := f.Result(ctx, "r1", "1")
	for _, err := range []error{one, two, three, four, five, six, seven, eight} {
		wantError(t, err, store.ErrUnknown)
	}
}

func runOnce(t *testing.T, f Fleets) {
	first := submitted(t, f, "r1", func(n *store.NewRun) { n.Key = "k" })
	submitted(t, f, "r2", func(n *store.NewRun) { n.Key = "K" })
	submitted(t, f, "r3")
	submitted(t, f, "r4")
	moved(t, f, "r1", store.RunRunning)
	again, created, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r5"}, Key: "k"})
	if err != nil || created || again.ID != first.ID || again.Status != store.RunRunning {
		t.Errorf("%+v, %t, %v; want the run r1", again, created, err)
	}
	if ids := allRuns(t, f, store.RunFilter{}, 10); !slices.Equal(ids, []string{"r4", "r3", "r2", "r1"}) {
		t.Errorf("runs %v", ids)
	}
}

// runOncePerCaller checks that a key belongs to a caller and to what was submitted, by any server on the store.
func runOncePerCaller(t *testing.T, f Fleets) {
	submission := func(id, by, hash string) store.NewRun {
		return store.NewRun{Run: store.Run{ID: id}, Spec: []byte("{}"), Key: "build 17", By: by, Hash: hash}
	}
	for _, c := range []struct{ id, by, hash, want string }{
		{"r1", "web", "h1", "r1"}, {"r2", "api", "h1", "r2"}, {"r3", "", "h1", "r3"}, {"r4", "web", "h1", "r1"},
		{"r5", "api", "h1", "r2"},
		{"r6", "web", "h2", ""}, {"r7", "api", "", ""}, {"r8", "other", "h2", "r8"},
	} {
		for _, server := range []*store.Fleet{f.Fleet, f.Again()} {
			run, created, err := server.CreateRun(t.Context(), submission(c.id, c.by, c.hash))
			if c.want == "" {
				wantError(t, err, store.ErrOtherSubmission)
				continue
			}
			if err != nil || run.ID != c.want || created && c.id != c.want {
				t.Errorf("%s of %q: %s, %v, %v; want %s", c.id, c.by, run.ID, created, err, c.want)
			}
		}
	}
}

func runOnceAtOnce(t *testing.T, f Fleets) {
	handles := []*store.Fleet{f.Fleet, f.Again(), f.Again()}
	var made atomic.Int32
	var wg sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		wg.Go(func() {
			run, created, err := handles[i%len(handles)].CreateRun(t.Context(), store.NewRun{
				Run: store.Run{ID: name("r", i)}, Key: "k",
			})
			if err != nil {
				t.Error(err)
			}
			if created {
				made.Add(1)
			}
			ids[i] = run.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); made.Load() != 1 || len(slices.Compact(ids)) != 1 {
		t.Errorf("%d runs were made, ids %v", made.Load(), ids)
	}
}

func runTwice(t *testing.T, f Fleets) {
	submitted(t, f, "r1")
	again, created, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r1", Name: "other"}})
	if err != nil || created || again.Name != "nightly" {
		t.Errorf("%+v, %t, %v; want the run as it was", again, created, err)
	}
	for _, id := range []string{"", strings.Repeat("x", 513)} {
		if _, _, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: id}}); err == nil {
			t.Errorf("no error for an id of %d bytes", len(id))
		}
	}
}

func runsFull(t *testing.T, f Fleets) {
	two := func(n *store.NewRun) { n.MaxWaiting = 2 }
	submitted(t, f, "r1", two)
	submitted(t, f, "r2", two)
	_, _, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r3"}, MaxWaiting: 2})
	wantError(t, err, store.ErrQueueFull)
	moved(t, f, "r1", store.RunRunning)
	submitted(t, f, "r3", two)
}

func runsFiltered(t *testing.T, f Fleets) {
	begin := time.Now().Add(-time.Minute)
	submitted(t, f, "a", func(n *store.NewRun) { n.Run.Labels = map[string]string{"branch": "main", "os": "a%"} })
	submitted(t, f, "b", func(n *store.NewRun) {
		n.Run.Name, n.Run.Schedule = "other", new("hourly")
		n.Run.Suites, n.Run.Targets = []string{"shop", "bank"}, []string{"agent", "agent", "model"}
	})
	submitted(t, f, "c", func(n *store.NewRun) { n.Run.Labels = map[string]string{"branch": "main", "os": "b"} })
	moved(t, f, "c", store.RunRunning)
	for _, tc := range []struct {
		name   string
		filter store.RunFilter
		want   string
	}{
		{"all", store.RunFilter{}, "c b a"},
		{"status", store.RunFilter{Status: store.RunQueued}, "b a"},
		{"status without runs", store.RunFilter{Status: store.RunPartial}, ""},
		{"name", store.RunFilter{Name: "nightly"}, "c a"},
		{"schedule", store.RunFilter{Schedule: "hourly"}, "b"},
		{"suite", store.RunFilter{Suite: "bank"}, "b"},
		{"target", store.RunFilter{Target: "agent"}, "c b a"},
		{"a suite is no target", store.RunFilter{Target: "shop"}, ""},
		{"label", store.RunFilter{Labels: map[string]string{"branch": "main"}}, "c a"},
		{"labels", store.RunFilter{Labels: map[string]string{"branch": "main", "os": "a%"}}, "a"},
		{"label that none has", store.RunFilter{Labels: map[string]string{"branch": "main", "os": "%"}}, ""},
		{"since", store.RunFilter{Since: begin}, "c b a"},
		{"since later", store.RunFilter{Since: time.Now().Add(time.Minute)}, ""},
		{"until", store.RunFilter{Until: begin}, ""},
		{"all at once", store.RunFilter{
			Status: store.RunRunning, Name: "nightly", Suite: "shop", Target: "agent", Since: begin,
		}, "c"},
	} {
		for _, limit := range []int{1, 2, 10} {
			if got := strings.Join(allRuns(t, f, tc.filter, limit), " "); got != tc.want {
				t.Errorf("%s, pages of %d: %q, want %q", tc.name, limit, got, tc.want)
			}
		}
	}
	if _, err := f.UpdateRun(t.Context(), "a", store.Fence{}, func(r *store.Run) error {
		r.Suites[0], r.Targets, r.Labels["branch"] = "late", []string{"one"}, "next"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := allRuns(t, f, store.RunFilter{
		Suite: "late", Target: "one", Labels: map[string]string{"branch": "next"},
	}, 1); !slices.Equal(got, []string{"a"}) {
		t.Errorf("found by what was planned later: %v", got)
	}
	if got := allRuns(t, f, store.RunFilter{Suite: "shop"}, 1); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("found by what it has no more: %v", got)
	}
}

func runPages(t *testing.T, f Fleets) {
	var want []string
	for i := range 20 {
		want = append(want, submitted(t, f, name("r", i)).ID)
	}
	slices.Reverse(want)
	var got []string
	page := store.PageOf{Limit: 3}
	for n := 0; ; n++ {
		runs, err := f.Runs(t.Context(), store.RunFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs.Items {
			got = append(got, run.ID)
		}
		submitted(t, f, name("later", n))
		if runs.Next == nil {
			break
		}
		page.Cursor = *runs.Next
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
}

func runCursors(t *testing.T, f Fleets) {
	for i := range 3 {
		begun(t, f, name("r", i))
	}
	putResults(t, f, "r000", tested("a", 0, result.Pass), tested("b", 0, result.Pass))
	runs, err := f.Runs(t.Context(), store.RunFilter{}, store.PageOf{Limit: 1})
	if err != nil || runs.Next == nil {
		t.Fatal(runs, err)
	}
	results, err := f.Results(t.Context(), "r000", store.ResultFilter{}, store.PageOf{Limit: 1})
	if err != nil || results.Next == nil {
		t.Fatal(results, err)
	}
	for _, cursor := range []string{"x", "1", *results.Next, *runs.Next + "A", "cnVucyA", "cnVucyAtMQ", "cnVucyB4"} {
		_, err := f.Runs(t.Context(), store.RunFilter{}, store.PageOf{Cursor: cursor})
		wantError(t, err, store.ErrCursor)
	}
	_, err = f.Results(t.Context(), "r000", store.ResultFilter{}, store.PageOf{Cursor: *runs.Next})
	wantError(t, err, store.ErrCursor)
}

func runLife(t *testing.T, f Fleets) {
	all := []store.RunStatus{
		store.RunQueued, store.RunRunning, store.RunCompleted, store.RunFailed, store.RunCancelled, store.RunPartial,
		"other", "",
	}
	allowed := map[store.RunStatus][]store.RunStatus{
		store.RunQueued:  {store.RunQueued, store.RunRunning, store.RunFailed, store.RunCancelled},
		store.RunRunning: {store.RunRunning, store.RunCompleted, store.RunFailed, store.RunCancelled, store.RunPartial},
	}
	n := 0
	for from, next := range allowed {
		for _, to := range all {
			n++
			id := name("r", n)
			submitted(t, f, id)
			if from == store.RunRunning {
				moved(t, f, id, from)
			}
			run, err := f.UpdateRun(t.Context(), id, store.Fence{}, func(r *store.Run) error {
				r.Status, r.ID, r.Kind, r.CreatedAt, r.Progress.Done = to, "x", "x", time.Time{}, 99
				return nil
			})
			if slices.Contains(next, to) {
				if err != nil || run.Status != to || run.ID != id || run.Kind != "suite" || run.CreatedAt.IsZero() ||
					run.Progress.Done != 0 {
					t.Errorf("%s to %s: %+v, %v", from, to, run, err)
				}
				if to.Ended() != (run.EndedAt != nil) {
					t.Errorf("%s to %s: ended at %v", from, to, run.EndedAt)
				}
			} else {
				wantError(t, err, store.ErrChanged)
			}
			if !to.Ended() || err != nil {
				continue
			}
			_, err = f.UpdateRun(t.Context(), id, store.Fence{}, func(*store.Run) error { return nil })
			wantError(t, err, store.ErrRunEnded)
			_, err = f.CancelRun(t.Context(), id)
			wantError(t, err, store.ErrRunEnded)
			_, err = f.PutResults(t.Context(), id, store.Fence{}, []store.NewResult{{
				Test: tested("a", 0, result.Pass),
			}})
			wantError(t, err, store.ErrRunEnded)
		}
	}
}

func runChangeRefused(t *testing.T, f Fleets) {
	submitted(t, f, "r", func(n *store.NewRun) { n.Run.Labels = map[string]string{"a": "b"} })
	stop := errors.New("stop")
	_, err := f.UpdateRun(t.Context(), "r", store.Fence{}, func(r *store.Run) error {
		r.Status, r.Name = store.RunRunning, "other"
		return stop
	})
	run, readErr := f.Run(t.Context(), "r")
	if !errors.Is(err, stop) || readErr != nil || run.Status != store.RunQueued || run.Name != "nightly" {
		t.Errorf("%v; %+v, %v", err, run, readErr)
	}
}

func runEnds(t *testing.T, f Fleets) {
	begun(t, f, "r")
	want := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	_, err := f.UpdateRun(t.Context(), "r", store.Fence{}, func(r *store.Run) error {
		r.Status, r.EndedAt, r.Totals = store.RunFailed, &want, &result.Totals{Planned: 3, NotRun: 3}
		r.PassRate = result.PassRate{Rate: new(0.5), Bounds: &[2]float64{0.5, 0.5}, Interval: &[2]float64{0.1, 0.9}}
		r.ExitReason, r.ExitCode, r.Error = new("aborted"), new(3), new("the disk is full")
		r.Progress.Conversations, r.Progress.Running = new(7), 4
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.Again().Run(t.Context(), "r")
	if err != nil || !run.EndedAt.Equal(want) || run.Totals.Planned != 3 ||
		*run.Rate != 0.5 || run.Interval[1] != 0.9 || *run.ExitReason != "aborted" || *run.ExitCode != 3 ||
		*run.Error != "the disk is full" || *run.Progress.Conversations != 7 || run.Progress.Running != 0 {
		t.Errorf("%s, %v", asJSON(t, run), err)
	}
}

func runCancelledWaiting(t *testing.T, f Fleets) {
	submitted(t, f, "r")
	run, err := f.CancelRun(t.Context(), "r")
	if err != nil || run.Status != store.RunCancelled || *run.ExitCode != 130 || *run.ExitReason != "interrupted" ||
		run.EndedAt == nil || run.CancelAt == nil {
		t.Errorf("%s, %v", asJSON(t, run), err)
	}
	submitted(t, f, "planned", func(n *store.NewRun) { n.Unheld = &result.Totals{Planned: 3, NotRun: 3} })
	run, err = f.CancelRun(t.Context(), "planned")
	if err != nil || run.Totals == nil || run.Totals.Planned != 3 || run.Totals.NotRun != 3 {
		t.Errorf("the totals of a run that was planned: %s, %v", asJSON(t, run), err)
	}
}

func runCancelledRunning(t *testing.T, f Fleets) {
	begun(t, f, "r")
	first, err := f.CancelRun(t.Context(), "r")
	if err != nil || first.Status != store.RunRunning || first.CancelAt == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := f.CancelRun(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	run, err := f.Again().Run(t.Context(), "r")
	if err != nil || run.CancelAt == nil || !run.CancelAt.Equal(*first.CancelAt) {
		t.Errorf("%+v, %v", run, err)
	}
	moved(t, f, "r", store.RunCancelled)
}

func runsUnfinished(t *testing.T, f Fleets) {
	for _, id := range []string{"d", "a", "c", "b"} {
		submitted(t, f, id)
	}
	moved(t, f, "c", store.RunRunning)
	moved(t, f, "a", store.RunFailed)
	for limit, want := range map[int]string{10: "dcb", 2: "dc"} {
		runs, err := f.Unfinished(t.Context(), limit)
		var got strings.Builder
		for _, run := range runs {
			got.WriteString(run.ID)
		}
		if err != nil || got.String() != want {
			t.Errorf("%d: %s, %v; want %s", limit, got.String(), err, want)
		}
	}
}
