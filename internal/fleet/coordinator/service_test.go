package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

func TestMain(m *testing.M) { os.Exit(natsconntest.Main(m)) }

// house is a store with NATS, in which servers and workers come and go.
type house struct {
	t     *testing.T
	dir   string
	conn  *natsconn.Conn
	queue *queue.JetStream
	store *store.Fleet
}

func newHouse(t *testing.T) *house {
	return houseOn(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t), Name: "test"})
}

func houseOn(t *testing.T, c natsconn.ConnConfig) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir()}
	h.conn = natsconntest.Connect(t, c)
	var err error
	if h.queue, err = queue.NewJetStream(t.Context(), h.conn, queue.Options{
		AckWait: 3 * time.Second, Worker: "test",
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.queue.Close)
	s, err := store.Open(t.Context(), filepath.Join(h.dir, "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h.store = s.Fleet()
	return h
}

// lead starts a server that leads runs. stop ends it as a crash does not: it gives up its leases.
func (h *house) lead(name string) (s *coordinator.Service, stop func()) {
	h.t.Helper()
	s = coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, name), Owner: name,
		Lease: 3 * time.Second, Setup: wire.Options{NoCommands: true, Submitted: &wire.Submitted{AllowPrivate: true}},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return s, h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
}

// work starts a worker.
func (h *house) work(name string, places int) (stop func()) {
	leased := natsconn.NewLimits(h.conn, h.queue.AckWait())
	h.t.Cleanup(leased.Close)
	w := worker.New(worker.Config{
		Conn: h.conn, Queue: h.queue, Name: name, Workers: places, Version: "test",
		Open: worker.FromNATS(h.conn, filepath.Join(h.dir, name), wire.Options{
			NoCommands: true, Limits: worker.Limits(leased),
		}),
	})
	return h.run(func(ctx context.Context) error { return w.Run(ctx, nil) })
}

func (h *house) run(do func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := do(ctx); err != nil {
			h.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	h.t.Cleanup(stop)
	return stop
}

// ended waits for the end of a run.
func (h *house) ended(id string) store.Run {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		run, err := h.store.Run(h.t.Context(), id)
		if err != nil {
			h.t.Fatal(err)
		}
		if run.Status.Ended() {
			return run
		}
	}
	h.t.Fatal("the run does not end")
	return store.Run{}
}

// noBundles waits until NATS has no files of runs any more.
func (h *house) noBundles() {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left, err := h.conn.Bundles(h.t.Context())
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("NATS has the bundles %v: %v", left, err)
		}
	}
}

// results returns the verdict and the number of results of each test.
func (h *house) results(id string) map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for r, err := range h.store.AllResults(h.t.Context(), id, store.ResultFilter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		test, err := r.Test()
		if err != nil {
			h.t.Fatal(err)
		}
		name := fmt.Sprintf("%s/%s/%s/%d", test.Suite, test.TestID, test.Target, test.Trial)
		if _, twice := all[name]; twice {
			h.t.Errorf("%s has two results", name)
		}
		all[name] = string(test.Verdict)
	}
	return all
}

// shop is a spec of so many tests, one of which fails, with an agent at an address.
func shop(tests int, agent string) runspec.Spec {
	var suite strings.Builder
	suite.WriteString("name: shop\ntests:\n")
	for i := range tests {
		want := "echo"
		if i == 1 {
			want = "nothing of the kind"
		}
		fmt.Fprintf(&suite, "  - {id: t%d, input: say %d, assertions: [{type: contains, value: %s}]}\n", i, i, want)
	}
	return runspec.Spec{
		Schema: 1, Name: "nightly", Labels: map[string]string{"branch": "main"},
		Suites: []string{"evals/shop.suite.yaml"},
		Files: map[string]runspec.File{
			"evals/shop.suite.yaml": {Content: []byte(suite.String())},
			"evals/rehearse.yaml":   {Content: []byte("targets:\n  shop: {url: '" + agent + "'}\n")},
		},
	}
}

// agent answers with an echo, after a pause, and counts what it was asked.
func agent(t *testing.T, pause time.Duration) (address string, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var said struct{ Message string }
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"reply": "echo " + said.Message})
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// A run is led by a server, held by workers that have none of its files, and kept in the store.
func TestRun(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 0)
	s, _ := h.lead("one")
	h.work("w1", 4)
	h.work("w2", 4)
	run, created, err := s.Submit(t.Context(), shop(40, address), "key", coordinator.Caller{})
	if err != nil || !created || run.Status != store.RunQueued {
		t.Fatalf("%+v, %v", run, err)
	}
	if again, created, err := s.Submit(t.Context(), shop(40, address), "key", coordinator.Caller{}); err != nil ||
		created || again.ID != run.ID {
		t.Errorf("the same key gives %s, %v, %v", again.ID, created, err)
	}
	run = h.ended(run.ID)
	if run.Status != store.RunCompleted || *run.ExitCode != 1 || *run.ExitReason != "failed" ||
		run.Totals.Passed != 39 || run.Progress.Done != 40 {
		t.Errorf("%+v, totals %+v", run, run.Totals)
	}
	if all := h.results(run.ID); len(all) != 40 || all["shop/t1/shop/0"] != "fail" || asked.Load() != 40 {
		t.Errorf("%d results after %d requests: %v", len(all), asked.Load(), all)
	}
	h.noBundles()
	h.reported(s, run)
	other, _ := h.lead("two")
	h.reported(other, run)
	if _, err := s.Files(t.Context(), "none"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the files of no run: %v", err)
	}
}

// reported checks that a server has the files of a run, and that they say what is stored.
func (h *house) reported(s *coordinator.Service, run store.Run) {
	h.t.Helper()
	dir, err := s.Files(h.t.Context(), run.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range []string{"results.jsonl", "report.html", "report.md", "junit.xml"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			h.t.Error(err)
		}
	}
	record, err := runlog.ReadRun(dir)
	if err != nil || record.ID != run.ID || record.ExitReason != *run.ExitReason || record.Code() != *run.ExitCode ||
		record.Fingerprint != run.Fingerprint || record.Totals.Passed != run.Totals.Passed ||
		record.Totals.Planned != run.Totals.Planned {
		h.t.Errorf("run.json %+v, %v, of the run %+v with %+v", record, err, run, run.Totals)
	}
}

// A run whose server goes away goes on with another one, from the stored results.
func TestTakeOver(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 20*time.Millisecond)
	s, stop := h.lead("one")
	h.work("w1", 2)
	run, _, err := s.Submit(t.Context(), shop(60, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if now, err := h.store.Run(t.Context(), run.ID); err != nil || now.Progress.Done >= 10 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	if now, err := h.store.Run(t.Context(), run.ID); err != nil || now.Status != store.RunRunning {
		t.Fatalf("%+v, %v", now, err)
	}
	h.lead("two")
	run = h.ended(run.ID)
	if all := h.results(run.ID); run.Status != store.RunCompleted || len(all) != 60 || run.Totals.Tests != 60 ||
		run.Totals.Passed != 59 {
		t.Errorf("%+v: %d results, totals %+v", run, len(all), run.Totals)
	}
	t.Logf("%d requests for 60 conversations", asked.Load())
}

// A run goes on when NATS is killed and has lost everything: the store is the truth, and what was lost is put in again,
// with the files of the run.
func TestNATSLosesEverything(t *testing.T) {
	nats := natsconntest.StartProcess(t)
	h := houseOn(t, natsconn.ConnConfig{URL: nats.URL, Name: "test"})
	address, asked := agent(t, 20*time.Millisecond)
	s, _ := h.lead("one")
	stop := h.work("w1", 2)
	run, _, err := s.Submit(t.Context(), shop(60, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if now, err := h.store.Run(t.Context(), run.ID); err != nil || now.Progress.Done >= 10 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	nats.Kill()
	nats.Wipe()
	nats.Start()
	h.work("w2", 2) // has never seen the files
	stop()
	run = h.ended(run.ID)
	if all := h.results(run.ID); run.Status != store.RunCompleted || len(all) != 60 || run.Totals.Passed != 59 ||
		run.Totals.Errors != 0 {
		t.Errorf("%+v: %d results, totals %+v", run, len(all), run.Totals)
	}
	t.Logf("%d requests for 60 conversations", asked.Load())
}

// A conversation that a worker gives back is held again, and its record says so.
func TestAttempts(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 2*time.Second)
	s, _ := h.lead("one")
	stop := h.work("w1", 1)
	run, _, err := s.Submit(t.Context(), shop(1, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for asked.Load() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	h.work("w2", 1)
	if run = h.ended(run.ID); run.Totals.Passed != 1 {
		t.Errorf("totals %+v", run.Totals)
	}
	found, err := h.store.Result(t.Context(), run.ID, "1")
	if err != nil {
		t.Fatal(err)
	}
	test, err := found.Test()
	if err != nil {
		t.Fatal(err)
	}
	if a := test.Attempts; len(a) != 2 || a[0].Code != result.WorkerLost || a[1].Code != "" || a[1].N != 2 ||
		*a[1].DurationMS < 1000 || found.Worker != "w2" {
		t.Errorf("attempts %+v by %s", a, found.Worker)
	}
}

// A worker whose disk is full gives its jobs to the others: no conversation has an error because of it.
func TestWorkerWithoutRoom(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	s, _ := h.lead("one")
	full := make(chan struct{}, 100)
	w := worker.New(worker.Config{
		Conn: h.conn, Queue: h.queue, Name: "full", Workers: 2,
		Open: func(context.Context, string, json.RawMessage) (worker.Runner, error) {
			full <- struct{}{}
			return nil, fmt.Errorf("unpack a run: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
		},
	})
	h.run(func(ctx context.Context) error { return w.Run(ctx, nil) })
	run, _, err := s.Submit(t.Context(), shop(20, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	<-full
	h.work("w2", 2)
	if run = h.ended(run.ID); run.Totals.Errors != 0 || run.Totals.Passed != 19 {
		t.Errorf("totals %+v", run.Totals)
	}
}

// Cancelling cuts conversations off and keeps what was finished.
func TestCancel(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, time.Hour)
	s, _ := h.lead("one")
	h.work("w1", 2)
	run, _, err := s.Submit(t.Context(), shop(5, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		now, err := h.store.Run(t.Context(), run.ID)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the worker does not hold two conversations: %+v, %v", now.Progress, err)
		}
		if now.Progress.Running > 2 {
			t.Errorf("%d conversations are under way in two places", now.Progress.Running)
		}
		if now.Progress.Running == 2 {
			break
		}
	}
	if _, err := s.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if run = h.ended(run.ID); run.Status != store.RunCancelled || *run.ExitCode != 130 ||
		*run.ExitReason != "interrupted" || len(h.results(run.ID)) != 0 {
		t.Errorf("%+v", run)
	}
}

// What cannot be run is refused before it is kept; what may not be started fails that conversation only.
func TestRefused(t *testing.T) {
	s := strict(newHouse(t), wire.Submitted{AllowPrivate: true}, false)
	for name, change := range map[string]func(*runspec.Spec){
		"no files":      func(p *runspec.Spec) { p.Files = nil },
		"a baseline":    func(p *runspec.Spec) { p.Baseline = "/" },
		"no such suite": func(p *runspec.Spec) { p.Suites = []string{"other.yaml"} },
		"outside":       func(p *runspec.Spec) { p.Suites = []string{"../../../etc/passwd"} },
		"faulty": func(p *runspec.Spec) {
			p.Files["evals/shop.suite.yaml"] = runspec.File{Content: []byte("name: x\ntests: 1\n")}
		},
		"outside, named": func(p *runspec.Spec) {
			p.Files["evals/shop.suite.yaml"] = runspec.File{Content: []byte("name: x\ntests: /etc/hosts\n")}
		},
	} {
		p := shop(1, "http://127.0.0.1:1")
		change(&p)
		if _, _, err := s.Submit(t.Context(), p, "", coordinator.Caller{}); !errors.As(err,
			new(*coordinator.InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExpensiveSubmissions checks that what a submission costs to read is bounded over all of its files, whatever their
// kind, and that there is one problem, with the file.
func TestExpensiveSubmissions(t *testing.T) {
	s := strict(newHouse(t), wire.Submitted{AllowPrivate: true}, false)
	merges := "a: &a {"
	for i := range 2000 {
		merges += fmt.Sprintf("k%d: 1, ", i)
	}
	merges += "}\nb: [" + strings.Repeat("{<<: *a}, ", 2000) + "]\n"
	rows := strings.Repeat(`{"id": "a", "input": [`+strings.Repeat("1,", 40_000)+`1]}`+"\n", 7)
	list := "- {id: a, input: hi, vars: {x: [" + strings.Repeat("1, ", 2000) + "1]}}\n"
	for name, c := range map[string]struct {
		files map[string]string
		at    string // of the problem
	}{
		"a suite": {
			map[string]string{"evals/shop.suite.yaml": "name: x\n" + merges + "tests: []\n"}, "evals/shop.suite.yaml",
		},
		"a configuration": {map[string]string{"evals/rehearse.yaml": merges}, "evals/rehearse.yaml"},
		"rows": {
			map[string]string{"evals/shop.suite.yaml": "name: x\ntests: rows.jsonl\n", "evals/rows.jsonl": rows},
			"evals/rows.jsonl",
		},
		"cells": {map[string]string{
			"evals/shop.suite.yaml": "name: x\ntests: rows.csv\n",
			"evals/rows.csv":        "id,input\n" + strings.Repeat("a,b\n", 60_000),
		}, "evals/rows.csv"},
		"a script": {map[string]string{
			"evals/shop.suite.yaml": "name: x\ntests: [{id: a, input: hi}]\n",
			"evals/rehearse.yaml":   "targets: {shop: {kind: model, model: \"scripted:m.yaml\"}}\n",
			"evals/m.yaml":          merges,
		}, "evals/m.yaml"},
		"200 files": {map[string]string{}, ""},
	} {
		p := shop(1, "http://127.0.0.1:1")
		for file, content := range c.files {
			p.Files[file] = runspec.File{Content: []byte(content)}
		}
		if name == "200 files" {
			suite := "name: x\ntests:\n"
			for i := range 200 {
				file := fmt.Sprintf("part%d.yaml", i)
				p.Files["evals/"+file] = runspec.File{Content: []byte(list)}
				suite += "- file://" + file + "\n"
			}
			p.Files["evals/shop.suite.yaml"] = runspec.File{Content: []byte(suite)}
		}
		_, err := s.Check(t.Context(), p, coordinator.Caller{Commands: true})
		invalid, ok := errors.AsType[*coordinator.InvalidError](err)
		if !ok || len(invalid.Problems) != 1 || !strings.Contains(invalid.Message,
			"the submission has more than 250000 nodes") || c.at != "" && invalid.Problems[0].File != c.at {
			t.Errorf("%s: %v %+v", name, err, invalid)
		}
	}
}

// A run with a budget of cost whose agent does not say what it costs is refused when it is submitted.
func TestBudgetWithoutPrices(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 0)
	s, _ := h.lead("one")
	for usd, refused := range map[float64]bool{1: true, 0: false} {
		spec := shop(2, address)
		if usd > 0 {
			spec.Budget = &runspec.Budget{CostUSD: &usd}
		}
		_, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
		invalid, ok := errors.AsType[*coordinator.InvalidError](err)
		if ok != refused || refused && !strings.Contains(invalid.Message, "a budget needs the price") {
			t.Errorf("a budget of %g: %v", usd, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("the agent was asked")
	}
}

// TestBudget: a run whose time is over ends by itself. What is queued and held by nobody is not begun any more.
func TestBudget(t *testing.T) {
	h := newHouse(t)
	address, asked := agent(t, 500*time.Millisecond)
	s, _ := h.lead("one")
	h.work("w", 2)
	spec := shop(300, address)
	spec.Budget = &runspec.Budget{Duration: new(runspec.Duration(2 * time.Second))}
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	ended := h.ended(run.ID)
	results := len(h.results(run.ID))
	if ended.Status != store.RunPartial || *ended.ExitReason != result.ReasonBudget || *ended.ExitCode == 0 {
		t.Errorf("the run ended as %s, %s, %d", ended.Status, *ended.ExitReason, *ended.ExitCode)
	}
	if results == 300 || int64(results) != asked.Load() || ended.Totals.NotRun != 300-results {
		t.Errorf("%d results, %d asked, %d not run", results, asked.Load(), ended.Totals.NotRun)
	}
}

// TestBaseline: a run is compared with an earlier one of the store, which another server has led.
func TestBaseline(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	before, stop := h.lead("one")
	h.work("w", 4)
	submit := func(s *coordinator.Service, change func(*runspec.Spec)) store.Run {
		t.Helper()
		spec := shop(4, address)
		change(&spec)
		run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		return h.ended(run.ID)
	}
	baseline := submit(before, func(*runspec.Spec) {})
	stop()
	s, _ := h.lead("two")
	candidate := submit(s, func(spec *runspec.Spec) {
		spec.Baseline = baseline.ID
		text := strings.Replace(string(spec.Files["evals/shop.suite.yaml"].Content), "value: echo",
			"value: what is never said", 1)
		spec.Files["evals/shop.suite.yaml"] = runspec.File{Content: []byte(text)}
	})
	dir, err := s.Files(t.Context(), candidate.ID)
	if err != nil {
		t.Fatal(err)
	}
	record, err := runlog.ReadRun(dir)
	if c := record.Comparison; err != nil || c == nil || c.Baseline.RunID != baseline.ID ||
		len(c.Regressed)+len(c.Unconfirmed) != 0 || len(c.Redefined) != 1 || len(c.StillFailing) != 1 {
		t.Errorf("%+v, %v", record.Comparison, err)
	}
	spec := shop(1, address)
	spec.Baseline = "20200101-000000-00000"
	if _, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{}); !strings.Contains(fmt.Sprint(err),
		"is no run of this server") {
		t.Errorf("an unknown baseline: %v", err)
	}
}

// TestCancelledWhileItWaits: the run has files that say so.
func TestCancelledWhileItWaits(t *testing.T) {
	h := newHouse(t)
	s := coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, "idle"), Owner: "idle",
	})
	run, _, err := s.Submit(t.Context(), shop(3, "http://shop.example"), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Files(t.Context(), run.ID); !errors.Is(err, store.ErrRunUnfinished) {
		t.Errorf("the files of a run that waits: %v", err)
	}
	if run, err = s.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	dir, err := s.Files(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	record, err := runlog.ReadRun(dir)
	if diff := cmp.Diff(&record.Totals, run.Totals); diff != "" {
		t.Errorf("the totals of the run are not those of its record: %s", diff)
	}
	if err != nil || record.Code() != result.ExitInterrupted || record.Totals.Planned != 3 ||
		record.Totals.NotRun != 3 {
		t.Errorf("%+v, %v", record, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "report.md")); err != nil ||
		!strings.Contains(string(data), "Stopped (interrupted): 0 of 3 tests completed") {
		t.Errorf("%.200s, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil ||
		strings.Count(string(data), `<skipped message="not run`) != 3 {
		t.Errorf("the tests that were not run: %s, %v", data, err)
	}
}

// TestTurns: servers hear of each turn that was answered.
func TestTurns(t *testing.T) {
	h := newHouse(t)
	address, _ := agent(t, 0)
	idle := coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, "idle"), Owner: "idle",
		Setup: wire.Options{Submitted: &wire.Submitted{AllowPrivate: true}},
	})
	run, _, err := idle.Submit(t.Context(), shop(3, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	turns := make(chan natsconn.Notice, 100)
	quiet, err := h.conn.Notices(run.ID, func(n natsconn.Notice) {
		if n.Turn > 0 {
			turns <- n
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer quiet()
	h.lead("one")
	h.work("w", 2)
	heard := map[string]bool{}
	for range 3 {
		select {
		case n := <-turns:
			if n.Turn != 1 || n.Of != 1 || n.Key.Suite != "shop" || n.Key.Target != "shop" {
				t.Errorf("heard of %+v", n)
			}
			heard[n.Key.TestID] = true
		case <-time.After(time.Minute):
			t.Fatalf("heard of %v only", heard)
		}
	}
	if h.ended(run.ID); len(heard) != 3 {
		t.Errorf("heard of %v", heard)
	}
}

// TestProviderLimits hold over all workers.
func TestProviderLimits(t *testing.T) {
	h := newHouse(t)
	var now, most atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "echo"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}`)
	}))
	t.Cleanup(provider.Close)
	s, _ := h.lead("one")
	h.work("w1", 4)
	h.work("w2", 4)
	spec := shop(24, "")
	spec.Files["evals/rehearse.yaml"] = runspec.File{Content: []byte(
		"models: {agent: {provider: ollama, model: a, base_url: '" + provider.URL +
			"/v1', concurrency: 2}}\ntargets: {shop: {model: agent}}\n")}
	run, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if run = h.ended(run.ID); run.Totals.Passed != 23 || most.Load() > 2 || most.Load() == 0 {
		t.Errorf("%+v; %d calls at once, want 2 at most", run.Totals, most.Load())
	}
}

// TestLongestFirst: what took long in an earlier run is begun first, before what has as many turns.
func TestLongestFirst(t *testing.T) {
	h := newHouse(t)
	var mu sync.Mutex
	var order []string
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := io.ReadAll(r.Body)
		mu.Lock()
		order = append(order, string(said))
		mu.Unlock()
		if strings.Contains(string(said), "say 7") {
			time.Sleep(300 * time.Millisecond)
		}
		_, _ = io.WriteString(w, `{"reply": "echo"}`)
	}))
	t.Cleanup(agent.Close)
	s, _ := h.lead("one")
	var stop func()
	for _, first := range []string{"say 0", "say 7"} {
		if stop == nil {
			stop = h.work("w1", 2)
		} else { // so that all jobs are queued before the first is held
			stop()
			order = nil
		}
		run, _, err := s.Submit(t.Context(), shop(10, agent.URL), "", coordinator.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		if first == "say 7" {
			for deadline := time.Now().Add(time.Minute); time.Now().
				Before(deadline); time.Sleep(10 * time.Millisecond) {
				if n, err := h.queue.Count(t.Context()); err == nil && n.Waiting == 10 {
					break
				}
			}
			h.work("w2", 1)
		}
		if h.ended(run.ID); !strings.Contains(strings.Join(order[:2], " "), first) {
			t.Errorf("%q is not among the first: %q", first, order)
		}
	}
}
