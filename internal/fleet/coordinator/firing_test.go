package coordinator

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// A server that was suspended, or long without its store, was not there meanwhile; one that is only busy was.
func TestWatch(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := newWatch(func() time.Time { return now })
	pass := func(d time.Duration, alive bool) {
		for end := now.Add(d); now.Before(end); {
			step := end.Sub(now)
			if alive {
				step = min(step, beat)
			}
			now = now.Add(step)
			if alive {
				w.mu.Lock()
				w.live()
				w.mu.Unlock()
			}
		}
	}
	there := func(want time.Duration) {
		t.Helper()
		const ahead = time.Hour // of the store's clock
		since, lasted := w.since(now.Add(ahead))
		if lasted != want || !since.Equal(now.Add(ahead-want)) {
			t.Errorf("there for %s, since %s, want %s", lasted, since, want)
		}
	}
	there(0)
	pass(10*time.Second, true)
	there(10 * time.Second)
	pass(asleep, false) // a pause
	there(15 * time.Second)
	pass(asleep+time.Second, false)
	there(0)
	pass(outage, true) // the store is away, and comes back
	there(outage)
	pass(outage+time.Second, true)
	there(0)
	pass(2*outage, true) // work that takes long
	w.done()
	there(2 * outage)
}

// A watch that runs sees that its process was asleep.
func TestWatchRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWatch(time.Now)
		done := make(chan struct{})
		go func() { w.run(ctx); close(done) }()
		time.Sleep(30 * time.Second)
		if _, lasted := w.since(time.Now()); lasted != 30*time.Second {
			t.Errorf("there for %s", lasted)
		}
		cancel()
		<-done
	})
}

// firing is a server alone, with a store.
type firing struct {
	*Service
	t   *testing.T
	log *bytes.Buffer
}

func newFiring(t *testing.T) *firing {
	dir := t.TempDir()
	kept, err := store.Open(t.Context(), filepath.Join(dir, "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	log := &bytes.Buffer{}
	return &firing{
		New(Config{Store: kept.Fleet(), Dir: dir, Owner: "one", Log: slog.New(slog.NewTextHandler(log, nil))}), t, log,
	}
}

func spec() runspec.Spec {
	return runspec.Spec{
		Schema: 1, Suites: []string{"s.suite.yaml"}, Files: map[string]runspec.File{
			"s.suite.yaml": {Content: []byte("name: s\ntarget: 'scripted:s.yaml'\ntests: [{id: a, input: x, " +
				"assertions: [{type: contains, value: x}]}]\n")},
			"s.yaml": {Content: []byte("default: {reply: x}\n")},
		},
	}
}

// due adds a schedule and returns it.
func (f *firing) due(name, cron string, s runspec.Spec) store.Schedule {
	f.t.Helper()
	made, err := f.AddSchedule(f.t.Context(), name, cron, "", s, Caller{})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

// fired fires a schedule and returns what became of it.
func (f *firing) fired(name string, since, now time.Time) (last store.Firing, next time.Time) {
	f.t.Helper()
	one, err := f.Store.Schedule(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.fire(f.t.Context(), one, since, now); err != nil {
		f.t.Fatal(err)
	}
	one, err = f.Store.Schedule(f.t.Context(), name)
	if err != nil || one.Last == nil {
		f.t.Fatalf("%+v, %v", one, err)
	}
	return *one.Last, one.NextAt
}

func TestFire(t *testing.T) {
	f := newFiring(t)
	due := f.due("s", "@every 10s", spec()).NextAt
	// On time.
	last, next := f.fired("s", due.Add(-time.Minute), due.Add(time.Millisecond))
	if last.Outcome != store.FiringStarted || !last.At.Equal(due) || !next.Equal(due.Add(10*time.Second)) {
		t.Errorf("%+v, %s", last, next)
	}
	run, err := f.Store.Run(t.Context(), last.RunID)
	if err != nil || run.Schedule == nil || *run.Schedule != "s" || *run.Progress.Conversations != 1 ||
		!slices.Equal(run.Suites, []string{"s"}) {
		t.Errorf("%+v, %v", run, err)
	}
	// While that goes on: skipped, each time for itself, also when the server comes late.
	late := next.Add(25 * time.Second)
	for range 3 {
		due = next
		if last, next = f.fired("s", due.Add(-time.Minute), late); last.Outcome != store.FiringSkipped ||
			last.RunID != "" || !last.At.Equal(due) || !next.Equal(due.Add(10*time.Second)) {
			t.Errorf("%+v, %s", last, next)
		}
	}
	if _, err := f.Store.CancelRun(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	// Before there was a server: missed, up to then, and no run.
	due = next
	there := due.Add(34 * time.Second)
	if last, next = f.fired("s", there, there.Add(time.Minute)); last.Outcome != store.FiringMissed ||
		!last.At.Equal(due.Add(30*time.Second)) || !next.Equal(due.Add(40*time.Second)) {
		t.Errorf("%+v, %s", last, next)
	}
	// After that, on time again.
	if last, _ = f.fired("s", there, next); last.Outcome != store.FiringStarted || last.RunID == run.ID {
		t.Errorf("%+v", last)
	}
	for _, want := range []string{"has started a run", "its last run goes on", "was missed", "outcome=missed"} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("nothing is said of %q:\n%s", want, f.log)
		}
	}
	runs, err := f.Store.Runs(t.Context(), store.RunFilter{Schedule: "s"}, store.PageOf{})
	if err != nil || len(runs.Items) != 2 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// Where a server has no time for all, it leaves out what is long over, and says so.
func TestFireBehind(t *testing.T) {
	f := newFiring(t)
	due := f.due("s", "@every 1s", spec()).NextAt
	last, next := f.fired("s", due.Add(-time.Minute), due.Add(time.Hour))
	if last.Outcome != store.FiringStarted || !next.Equal(due.Add(time.Hour)) ||
		!strings.Contains(f.log.String(), "left out") {
		t.Errorf("%+v, %s, %s", last, next, f.log)
	}
}

// What cannot be run any more gives a run that has failed.
func TestFireFails(t *testing.T) {
	f := newFiring(t)
	due := f.due("s", "@every 10s", spec()).NextAt
	f.Dir = filepath.Join(f.Dir, "\x00") // nothing can be unpacked there
	last, _ := f.fired("s", due.Add(-time.Minute), due)
	run, err := f.Store.Run(t.Context(), last.RunID)
	if err != nil || last.Outcome != store.FiringStarted || run.Status != store.RunFailed || run.Error == nil ||
		*run.Error == "" || *run.ExitCode != 3 || run.Totals == nil {
		t.Errorf("%+v, %+v, %v", last, run, err)
	}
	if !strings.Contains(f.log.String(), "cannot be begun") {
		t.Error(f.log)
	}
}

// A spec that cannot be run is refused when it is added.
func TestAddSchedule(t *testing.T) {
	f := newFiring(t)
	bad := spec()
	bad.Suites = []string{"none.yaml"}
	if _, err := f.AddSchedule(t.Context(), "s", "@every 1s", "", bad, Caller{}); err == nil {
		t.Error("a suite that is not there is taken")
	}
	for _, name := range []string{"", ".", "..", "a/b", "a\\b", " a", "a\n", "\xff", strings.Repeat("a", 201)} {
		if _, err := f.AddSchedule(t.Context(), name, "@every 1s", "", spec(), Caller{}); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
}

func TestSign(t *testing.T) {
	// printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret
	const want = "t=1700000000,v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686"
	if got := httpclient.Signature("secret", time.Unix(1_700_000_000, 0), []byte(`{"a":1}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
