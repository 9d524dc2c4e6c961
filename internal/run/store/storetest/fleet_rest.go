package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

var deleteTests = []fleetTest{
	{"a run is deleted with all that belongs to it", runDeleted},
	{"prune keeps what either keeps", pruneKeeps},
	{"prune deletes many runs", pruneMany},
	{"files go with the last who needs them", blobsFreed},
	{"artifacts of deleted runs are orphans", artifactsOrphaned},
}

var otherTests = []fleetTest{
	{"blobs come back under their hash", blobsKept},
	{"a run needs its files", blobsMissing},
	{"a run keeps files", runFiles},
	{"artifacts come in pages", artifactPages},
	{"a schedule comes back", scheduleKept},
	{"one server fires a schedule", scheduleFired},
	{"a firing begins one run", scheduleBegins},
	{"a run that cannot be begun ends", scheduleFails},
	{"the end of a run is told of once", endTold},
	{"a delivery is tried by one server at a time", deliveryTaken},
	{"a token is found by its hash", tokenKept},
	{"names come in pages", namePages},
	{"conversations", func(t *testing.T, f Fleets) {
		RunConversations(t, func(*testing.T) Conversations { return f.Again() })
	}},
	{"a cancelled context ends a call", fleetCancelled},
}

// ended creates a run with a result that has ended.
func ended(t *testing.T, f Fleets, id string, at time.Time, change ...func(*store.NewRun)) {
	t.Helper()
	submitted(t, f, id, change...)
	moved(t, f, id, store.RunRunning)
	putResults(t, f, id, tested("a", 0, result.Fail))
	if _, err := f.UpdateRun(t.Context(), id, store.Fence{}, func(r *store.Run) error {
		r.Status, r.EndedAt = store.RunCompleted, &at
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func runDeleted(t *testing.T, f Fleets) {
	ended(t, f, "a", time.Now())
	ended(t, f, "b", time.Now())
	submitted(t, f, "waits")
	wantError(t, f.DeleteRun(t.Context(), "waits"), store.ErrRunUnfinished)
	moved(t, f, "waits", store.RunRunning)
	wantError(t, f.DeleteRun(t.Context(), "waits"), store.ErrRunUnfinished)
	if err := f.DeleteRun(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.DeleteRun(t.Context(), "a"), store.ErrUnknown)
	_, one := f.Run(t.Context(), "a")
	_, two := f.Results(t.Context(), "a", store.ResultFilter{}, store.PageOf{})
	_, three := f.RunEvents(t.Context(), "a", 0, 0)
	_, four := f.Spec(t.Context(), "a")
	for _, err := range []error{one, two, three, four} {
		wantError(t, err, store.ErrUnknown)
	}
	if ids := allRuns(t, f, store.RunFilter{Suite: "shop"}, 10); !slices.Equal(ids, []string{"waits", "b"}) {
		t.Errorf("runs %v", ids)
	}
	if seqs := allSeqs(t, f, "b", store.ResultFilter{Text: "order"}, 10); len(seqs) != 1 {
		t.Errorf("results of the other run: %v", seqs)
	}
	// What comes with the same id has nothing of the former run.
	submitted(t, f, "a")
	if seqs := allSeqs(t, f, "a", store.ResultFilter{}, 10); len(seqs) != 0 {
		t.Errorf("results of a new run: %v", seqs)
	}
	if events := eventsOf(t, f.Fleet, "a", 10); len(events) != 1 {
		t.Errorf("%d events of a new run", len(events))
	}
	durations, err := f.MeanDurations(t.Context(), []result.Key{{Suite: "shop", TestID: "a", Target: "agent"}})
	if err != nil || len(durations) != 1 {
		t.Errorf("%v, %v; want that of the run b", durations, err)
	}
	if err := f.DeleteRun(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if durations, err := f.MeanDurations(t.Context(), []result.Key{{
		Suite: "shop", TestID: "a", Target: "agent",
	}}); err != nil || len(durations) != 0 {
		t.Errorf("%v, %v; want none", durations, err)
	}
}

func pruneKeeps(t *testing.T, f Fleets) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		pruning store.Pruning
		want    string // what is left of the runs, oldest first
	}{
		{store.Pruning{OlderThan: 3 * day}, "keep c d waits runs"},
		{store.Pruning{Newest: 1}, "keep d waits runs"},
		{store.Pruning{Newest: 3}, "keep b c d waits runs"},
		{store.Pruning{Newest: 4}, "keep b c d waits runs"},
		{store.Pruning{Newest: 5}, "a keep b c d waits runs"},
		{store.Pruning{Newest: 9}, "a keep b c d waits runs"},
		{store.Pruning{OlderThan: 3 * day, Newest: 1}, "keep c d waits runs"},
		{store.Pruning{OlderThan: time.Hour, Newest: 3}, "keep b c d waits runs"},
		{store.Pruning{OlderThan: time.Hour}, "keep waits runs"},
		{store.Pruning{OlderThan: 30 * day}, "a keep b c d waits runs"},
	} {
		for i, id := range []string{"a", "keep", "b", "c", "d"} {
			ended(t, f, id, time.Now().Add(time.Duration(i-6)*day+time.Hour), func(n *store.NewRun) {
				n.Run.Labels = map[string]string{"keeper": "x"}
				if id == "keep" {
					n.Run.Labels["keep"] = ""
				}
			})
		}
		submitted(t, f, "waits")
		begun(t, f, "runs")
		pruned, err := f.Prune(t.Context(), tc.pruning)
		left := allRuns(t, f, store.RunFilter{}, 10)
		slices.Reverse(left)
		if err != nil || strings.Join(left, " ") != tc.want || len(pruned)+len(left) != 7 {
			t.Errorf("%+v: left %v, pruned %v, %v; want %s", tc.pruning, left, pruned, err, tc.want)
		}
		moved(t, f, "waits", store.RunFailed)
		moved(t, f, "runs", store.RunFailed)
		for _, id := range left {
			if err := f.DeleteRun(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pruning := range []store.Pruning{{}, {OlderThan: -1}, {Newest: -1}} {
		_, err := f.Prune(t.Context(), pruning)
		wantError(t, err, store.ErrInvalid)
	}
}

func pruneMany(t *testing.T, f Fleets) {
	for i := range 105 {
		submitted(t, f, name("r", i))
		moved(t, f, name("r", i), store.RunFailed)
	}
	var n atomic.Int32
	var wg sync.WaitGroup
	for _, handle := range []*store.Fleet{f.Fleet, f.Again()} {
		wg.Go(func() {
			pruned, err := handle.Prune(t.Context(), store.Pruning{Newest: 2})
			if err != nil {
				t.Error(err)
			}
			n.Add(int32(len(pruned)))
		})
	}
	wg.Wait()
	if left := allRuns(t, f, store.RunFilter{}, 10); n.Load() != 103 || !slices.Equal(left, []string{"r104", "r103"}) {
		t.Errorf("%d were pruned, left %v", n.Load(), left)
	}
}

// blob puts bytes and returns their hash.
func blob(t *testing.T, f Fleets, data string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(data))
	hash := hex.EncodeToString(sum[:])
	if _, err := f.PutBlob(t.Context(), hash, []byte(data)); err != nil {
		t.Fatal(err)
	}
	return hash
}

func blobsKept(t *testing.T, f Fleets) {
	large := strings.Repeat("\x00\xff", 1<<20)
	for _, data := range []string{"", "a", large} {
		hash := blob(t, f, data)
		created, err := f.PutBlob(t.Context(), hash, []byte(data))
		if err != nil || created {
			t.Errorf("again: %t, %v", created, err)
		}
		got, err := f.Again().Blob(t.Context(), hash)
		if err != nil || string(got) != data {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(data))
		}
		for _, wrong := range []string{hash[1:], strings.ToUpper(hash), strings.Repeat("0", 64), ""} {
			_, err = f.PutBlob(t.Context(), wrong, []byte(data))
			wantError(t, err, store.ErrHash)
			_, err = f.Blob(t.Context(), wrong)
			wantError(t, err, store.ErrUnknown)
		}
	}
	_, err := f.PutBlob(t.Context(), "x", make([]byte, store.MaxBlob+1))
	wantError(t, err, store.ErrTooLarge)
	missing, err := f.MissingBlobs(t.Context(), []string{"z", blob(t, f, "a"), "b", "z"})
	if err != nil || !slices.Equal(missing, []string{"b", "z"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
}

func blobsMissing(t *testing.T, f Fleets) {
	there := blob(t, f, "there")
	n := store.NewRun{Run: store.Run{ID: "r"}, Blobs: []string{"none", there, "more", "none"}}
	_, _, err := f.CreateRun(t.Context(), n)
	wantError(t, err, store.ErrUnknown)
	var missing *store.MissingBlobsError
	if !errors.As(err, &missing) || !slices.Equal(missing.SHA256, []string{"more", "none"}) {
		t.Errorf("%v", err)
	}
	if ids := allRuns(t, f, store.RunFilter{}, 10); len(ids) != 0 {
		t.Errorf("runs %v", ids)
	}
	n.Blobs = []string{there, there}
	if _, created, err := f.CreateRun(t.Context(), n); err != nil || !created {
		t.Errorf("%t, %v", created, err)
	}
}

func blobsFreed(t *testing.T, f Fleets) {
	shared, alone, unused, scheduled := blob(t, f, "shared"), blob(t, f, "alone"), blob(t, f, "unused"),
		blob(t, f, "scheduled")
	needs := func(hashes ...string) func(*store.NewRun) { return func(n *store.NewRun) { n.Blobs = hashes } }
	ended(t, f, "a", time.Now(), needs(shared, alone, scheduled))
	ended(t, f, "b", time.Now(), needs(shared))
	if err := f.CreateSchedule(t.Context(), store.Schedule{Name: "s", NextAt: time.Now()}, []byte("{}"),
		[]string{scheduled}); err != nil {
		t.Fatal(err)
	}
	want := func(hashes ...string) {
		t.Helper()
		got, err := f.MissingBlobs(t.Context(), []string{shared, alone, unused, scheduled})
		if slices.Sort(hashes); err != nil || !slices.Equal(got, hashes) {
			t.Errorf("missing %v, %v; want %v", got, err, hashes)
		}
	}
	want()
	if _, err := f.Prune(t.Context(), store.Pruning{Newest: 1}); err != nil {
		t.Fatal(err)
	}
	want(alone)
	if err := f.DeleteRun(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	want(alone, shared)
	if err := f.DeleteSchedule(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	want(alone, shared, scheduled)
}

func artifactPages(t *testing.T, f Fleets) {
	begun(t, f, "other")
	begun(t, f, "r")
	var want []store.Artifact
	for i := range 4 {
		test := tested(name("t", i), i, result.Pass)
		var rows []store.Artifact
		for n := range i {
			a := store.Artifact{
				Suite: "shop", TestID: test.TestID, Target: "agent", Trial: i, Kind: "prompt", SHA256: fmt.Sprint(n),
				Bytes: 5 << 30, Truncated: n == 1,
			}
			if n > 0 {
				a.Turn = new(n)
			}
			rows = append(rows, a)
		}
		want = append(want, rows...)
		for _, run := range []string{"r", "other"} {
			for range 2 { // the second time it is there already
				if _, err := f.PutResults(t.Context(), run, store.Fence{}, []store.NewResult{
					{Test: test, Artifacts: rows},
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, limit := range []int{1, 2, 6, 100} {
		var got []store.Artifact
		page := store.PageOf{Limit: limit}
		for {
			artifacts, err := f.Artifacts(t.Context(), "r", page)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, artifacts.Items...); artifacts.Next == nil {
				break
			}
			page.Cursor = *artifacts.Next
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, d)
		}
	}
	for hash, want := range map[string]bool{"0": true, "2": true, "3": false, "": false} {
		if has, err := f.HasArtifact(t.Context(), hash); has != want || err != nil {
			t.Errorf("%q: %t, %v", hash, has, err)
		}
	}
	_, err := f.Artifacts(t.Context(), "r", store.PageOf{Cursor: "YXJ0aWZhY3RzIDE"})
	wantError(t, err, store.ErrCursor)
}

func artifactsOrphaned(t *testing.T, f Fleets) {
	put := func(run string, hashes ...string) {
		t.Helper()
		begun(t, f, run)
		var rows []store.Artifact
		for _, hash := range hashes {
			rows = append(rows, store.Artifact{Kind: "prompt", SHA256: hash})
		}
		if _, err := f.PutResults(t.Context(), run, store.Fence{}, []store.NewResult{{
			Test: tested("a", 0, result.Pass), Artifacts: rows,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(hashes ...string) {
		t.Helper()
		got, err := f.OrphanedArtifacts(t.Context(), 10)
		if err != nil || !slices.Equal(got, hashes) {
			t.Errorf("orphans %v, %v; want %v", got, err, hashes)
		}
	}
	put("a", "one", "both", "one")
	put("b", "both")
	for _, id := range []string{"a", "b"} {
		moved(t, f, id, store.RunFailed)
	}
	want()
	if err := f.DeleteRun(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want("one")
	if err := f.DeleteRun(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	want("both", "one")
	put("c", "one")
	want("both")
	if err := f.ForgetArtifacts(t.Context(), []string{"both", "x"}); err != nil {
		t.Fatal(err)
	}
	want()
}

func scheduleKept(t *testing.T, f Fleets) {
	want := store.Schedule{
		Name: "hourly ä", Cron: "0 * * * *", Timezone: "Europe/Berlin",
		NextAt: time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC),
	}
	if err := f.CreateSchedule(t.Context(), want, []byte(`{"schema": 1}`), nil); err != nil {
		t.Fatal(err)
	}
	got, err := f.Again().Schedule(t.Context(), want.Name)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if spec, err := f.ScheduleSpec(t.Context(), want.Name); err != nil || string(spec) != `{"schema": 1}` {
		t.Errorf("%s, %v", spec, err)
	}
	wantError(t, f.CreateSchedule(t.Context(), want, nil, nil), store.ErrExists)
	wantError(t, f.CreateSchedule(t.Context(), store.Schedule{Name: "x"}, nil, []string{"none"}), store.ErrUnknown)
	if err := f.CreateSchedule(t.Context(), store.Schedule{}, nil, nil); err == nil {
		t.Error("no error without a name")
	}
	_, one := f.Schedule(t.Context(), "x")
	_, two := f.ScheduleSpec(t.Context(), "x")
	three := f.DeleteSchedule(t.Context(), "x")
	four := f.FireSchedule(t.Context(), "x", time.Now(), time.Now(), store.Firing{}, store.Fence{})
	for _, err := range []error{one, two, three, four} {
		wantError(t, err, store.ErrUnknown)
	}
	if err := f.DeleteSchedule(t.Context(), want.Name); err != nil {
		t.Error(err)
	}
	_, err = f.Schedule(t.Context(), want.Name)
	wantError(t, err, store.ErrUnknown)
}

func scheduleFired(t *testing.T, f Fleets) {
	due := time.Now().Add(-time.Minute)
	next := time.Now().Add(time.Hour)
	for name, at := range map[string]time.Time{"s": due, "later": next, "first": due.Add(-time.Hour)} {
		if err := f.CreateSchedule(t.Context(), store.Schedule{Name: name, NextAt: at}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	schedules, now, err := f.DueSchedules(t.Context(), 10)
	if err != nil || len(schedules) != 2 || schedules[0].Name != "first" || schedules[1].Name != "s" ||
		now.Before(due) || now.After(next) {
		t.Fatalf("%+v, %v, %v", schedules, now, err)
	}
	handles := []*store.Fleet{f.Fleet, f.Again()}
	var fired atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch err := handles[i%2].FireSchedule(t.Context(), "s", schedules[1].NextAt, next,
				store.Firing{At: due, Outcome: store.FiringStarted, RunID: fmt.Sprint(i)}, store.Fence{}); {
			case err == nil:
				fired.Add(1)
			case !errors.Is(err, store.ErrChanged):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := f.Schedule(t.Context(), "s")
	if fired.Load() != 1 || err != nil || got.Last == nil || got.Last.Outcome != store.FiringStarted ||
		got.NextAt.UnixMicro() != next.UnixMicro() {
		t.Errorf("fired %d times, %+v, %v", fired.Load(), got, err)
	}
	lost := store.Fence{Lease: "scheduler", Number: 1}
	wantError(t, f.FireSchedule(t.Context(), "first", schedules[0].NextAt, next, store.Firing{}, lost),
		store.ErrLeaseLost)
	if schedules, _, err := f.DueSchedules(t.Context(), 10); err != nil || len(schedules) != 1 {
		t.Errorf("%+v, %v", schedules, err)
	}
}

func tokenKept(t *testing.T, f Fleets) {
	expires := time.Now().Add(time.Hour)
	made, err := f.CreateToken(t.Context(), store.Token{
		Name: "ci", Scopes: []string{"read", "run"}, ExpiresAt: &expires,
	}, store.HashToken("rht_a"))
	if err != nil || made.CreatedAt.IsZero() || made.Expired(time.Now()) || !made.Expired(expires) {
		t.Fatalf("%+v, %v", made, err)
	}
	kept, err := f.Again().TokenHashes(t.Context())
	if d := cmp.Diff(map[[sha256.Size]byte]store.Token{store.HashToken("rht_a"): made}, kept); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for name, hash := range map[string]string{"ci": "rht_b", "other": "rht_a"} {
		_, err := f.CreateToken(t.Context(), store.Token{Name: name}, store.HashToken(hash))
		wantError(t, err, store.ErrExists)
	}
	if err := f.DeleteToken(t.Context(), "ci"); err != nil {
		t.Error(err)
	}
	wantError(t, f.DeleteToken(t.Context(), "ci"), store.ErrUnknown)
	if kept, err = f.TokenHashes(t.Context()); len(kept) > 0 || err != nil {
		t.Errorf("%v, %v", kept, err)
	}
	forever, err := f.CreateToken(t.Context(), store.Token{Name: "ci"}, store.HashToken("rht_a"))
	if err != nil || forever.Expired(time.Now().AddDate(1000, 0, 0)) || forever.Scopes == nil {
		t.Errorf("%+v, %v", forever, err)
	}
}

func namePages(t *testing.T, f Fleets) {
	names := []string{"B", "Z", "a", "b c", "é", "日本"}
	for i, name := range names {
		_, err := f.CreateToken(t.Context(), store.Token{Name: name}, store.HashToken(name))
		if err = errors.Join(err, f.CreateSchedule(t.Context(), store.Schedule{Name: names[len(names)-1-i]},
			nil, nil)); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 4, 6, 0} {
		var tokens, schedules []string
		for page := (store.PageOf{Limit: limit}); ; {
			got, err := f.Tokens(t.Context(), page)
			if err != nil {
				t.Fatal(err)
			}
			for _, token := range got.Items {
				tokens = append(tokens, token.Name)
			}
			if got.Next == nil {
				break
			}
			page.Cursor = *got.Next
		}
		for page := (store.PageOf{Limit: limit}); ; {
			got, err := f.Schedules(t.Context(), page)
			if err != nil {
				t.Fatal(err)
			}
			for _, schedule := range got.Items {
				schedules = append(schedules, schedule.Name)
			}
			if got.Next == nil {
				break
			}
			page.Cursor = *got.Next
		}
		if !slices.Equal(tokens, names) || !slices.Equal(schedules, names) {
			t.Errorf("pages of %d: tokens %v, schedules %v", limit, tokens, schedules)
		}
	}
}

func fleetCancelled(t *testing.T, f Fleets) {
	begun(t, f, "r")
	ctx := cancelledContext(t)
	_, one := f.Run(ctx, "r")
	_, two := f.PutResults(ctx, "r", store.Fence{}, []store.NewResult{{Test: tested("a", 0, result.Pass)}})
	_, three := f.CancelRun(ctx, "r")
	_, four := f.Runs(ctx, store.RunFilter{}, store.PageOf{})
	_, _, five := f.AcquireLease(ctx, "a", "b", never)
	_, six := f.PutBlob(ctx, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		bytes.NewBuffer(nil).Bytes())
	var seven error
	for _, err := range f.AllResults(ctx, "r", store.ResultFilter{}) {
		seven = err
	}
	for i, err := range []error{one, two, three, four, five, six, seven, f.Ping(ctx)} {
		if store.IsUnavailable(err) || err == nil {
			t.Errorf("%d: %v, away %t", i, err, store.IsUnavailable(err))
		}
	}
	if err := f.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if run, err := f.Run(t.Context(), "r"); err != nil || run.CancelAt != nil {
		t.Errorf("%+v, %v", run, err)
	}
}

func runFiles(t *testing.T, f Fleets) {
	submitted(t, f, "a")
	submitted(t, f, "b")
	put := func(id, name, data string) {
		t.Helper()
		if err := f.PutRunFile(t.Context(), id, store.Fence{}, name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(id, name, data string) {
		t.Helper()
		if got, err := f.RunFile(t.Context(), id, name); err != nil || string(got) != data {
			t.Errorf("%s of run %s is %q, %v; want %q", name, id, got, err, data)
		}
	}
	long := strings.Repeat("all of it\x00", 1000)
	put("a", "run.json", "first")
	put("a", "run.json", long)
	put("b", "run.json", "other")
	want("a", "run.json", long)
	want("b", "run.json", "other")
	want("a", "report.md", "")
	want("none", "run.json", "")
	wantError(t, f.PutRunFile(t.Context(), "none", store.Fence{}, "run.json", nil), store.ErrUnknown)
	wantError(t, f.PutRunFile(t.Context(), "a", store.Fence{Lease: "run a", Number: 7}, "run.json", nil),
		store.ErrLeaseLost)
	moved(t, f, "a", store.RunCancelled)
	wantError(t, f.PutRunFile(t.Context(), "a", store.Fence{}, "run.json", nil), store.ErrRunEnded)
	if err := f.DeleteRun(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want("a", "run.json", "")
	want("b", "run.json", "other")
}
