package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// chaosTests is how many conversations a run has. A worker holds four at once.
const chaosTests = 90

// TestChaos disturbs runs at random moments: the result set is that of an undisturbed run, no result twice, none
// missing (service.md, "Nothing is lost"). REHEARSE_CHAOS_SEED repeats the moments of an earlier test,
// REHEARSE_CHAOS_ROUNDS (1) disturbs more runs in each way. Nothing is said about how long a run may take; how much
// longer it took than the undisturbed one is logged.
func TestChaos(t *testing.T) {
	seed, rounds := uint64(time.Now().UnixNano()), 1
	if text := os.Getenv("REHEARSE_CHAOS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	if text := os.Getenv("REHEARSE_CHAOS_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	t.Logf("REHEARSE_CHAOS_SEED=%d", seed)
	t.Parallel() // its fleets wait most of the time
	agent := httptest.NewServer(&chaosAgent{turns: map[string]int{}})
	t.Cleanup(agent.Close)
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		r := newEmbeddedRig(t, agent.URL, t.TempDir())
		r.disturb(seed, rounds, embeddedDisturbances)
	})
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		if err := syscall.Mount("chaos", data, "tmpfs", 0, "size=64m"); err != nil {
			t.Logf("no disk can be filled here, which takes root: %v", err)
			return
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(data, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		r := newEmbeddedRig(t, agent.URL, data)
		r.disturb(seed, rounds, []disturbance{{"disk full", func(r *chaosRig, rnd *rand.Rand, _ string) {
			filler := filepath.Join(data, "filler")
			fillDisk(r.t, filler)
			pause(rnd, 3*chaosLost)
			if err := os.Remove(filler); err != nil {
				r.t.Error(err)
			}
		}}})
	})
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		r := newOutsideRig(t, agent.URL)
		r.other = buildOther(t)
		r.disturb(seed, rounds, outsideDisturbances)
	})
}

// disturb holds rounds of runs for each disturbance, and compares them with an undisturbed one.
func (r *chaosRig) disturb(seed uint64, rounds int, all []disturbance) {
	t := r.t
	began := time.Now()
	id := r.submit()
	want := r.results(id)
	usual := time.Since(began)
	if len(want.records) != chaosTests || want.run.Status != "completed" || want.run.ExitReason != result.ReasonFailed {
		t.Fatalf("the undisturbed run: %d records, %+v", len(want.records), want.run)
	}
	for _, d := range all {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			r.t = t
			for n := range rounds {
				rnd := chaosRand(seed, d.name, n)
				began := time.Now()
				id := r.submit()
				moment := 1 + rnd.IntN(chaosTests*4/5)
				at := r.until(id, "disturbed", func(run chaosRun) bool { return run.Progress.Done >= moment })
				d.do(r, rnd, id)
				got := r.results(id)
				t.Logf("round %d: disturbed when %d conversations had ended, took %.1f s (undisturbed %.1f s)", n,
					at.Progress.Done, time.Since(began).Seconds(), usual.Seconds())
				got.same(t, want)
			}
		})
	}
	r.t = t
}

func chaosRand(seed uint64, name string, round int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, round)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// chaosResults is what a run has come to, without what may differ.
type chaosResults struct {
	run     chaosRun
	records map[string]string
	lines   int
}

// results waits for the end of a run.
func (r *chaosRig) results(id string) chaosResults {
	r.t.Helper()
	got := chaosResults{records: map[string]string{}}
	got.run = r.until(id, "ended", func(run chaosRun) bool { return run.Status != "queued" && run.Status != "running" })
	for line := range strings.Lines(
		string(r.ask(http.StatusOK, http.MethodGet, "/api/v1/runs/"+id+"/results.jsonl", nil))) {
		var record map[string]any
		r.decode([]byte(line), &record)
		timeless(record)
		for _, name := range []string{"attempts", "worker", "id", "seq"} {
			delete(record, name)
		}
		data, err := json.Marshal(record)
		if err != nil {
			r.t.Fatal(err)
		}
		got.records[fmt.Sprint(record["suite"], " ", record["test_id"], " ", record["target"], " ",
			record["trial"])] = string(data)
		got.lines++
	}
	return got
}

func (c chaosResults) same(t *testing.T, want chaosResults) {
	t.Helper()
	if c.run.Status != want.run.Status || c.run.ExitReason != want.run.ExitReason ||
		!reflect.DeepEqual(c.run.ExitCode, want.run.ExitCode) {
		t.Errorf("the run has ended as %+v (%v), want %+v", c.run, c.run.Error, want.run)
	}
	if c.run.Progress != want.run.Progress {
		t.Errorf("progress is %+v, want %+v", c.run.Progress, want.run.Progress)
	}
	if c.lines != len(c.records) {
		t.Errorf("%d results of %d conversations", c.lines, len(c.records))
	}
	for _, key := range slices.Sorted(maps.Keys(want.records)) {
		if c.records[key] != want.records[key] {
			t.Errorf("%s\n got %s\nwant %s", key, c.records[key], want.records[key])
		}
	}
	for key := range c.records {
		if want.records[key] == "" {
			t.Errorf("there is a result of %s", key)
		}
	}
}

// chaosSpec is a run of chaosTests conversations of two turns with the agent, of which every fifth fails.
func chaosSpec(t *testing.T, agent string) []byte {
	t.Helper()
	var suite strings.Builder
	suite.WriteString("name: shop\ntests:\n")
	for n := range chaosTests {
		said := fmt.Sprintf("turn 2: beta %d", n)
		if n%5 == 0 {
			said = "nothing of the kind"
		}
		fmt.Fprintf(&suite, "  - {id: t%d, mode: conversation, turns: [{input: alpha %d, assertions: [{type: "+
			"contains, value: 'turn 1: alpha'}]}, {input: beta %d, assertions: [{type: contains, value: %q}]}]}\n", n,
			n, n, said)
	}
	spec, err := json.Marshal(map[string]any{"schema": 1, "suites": []string{
		"shop.suite.yaml",
	}, "files": map[string]string{
		"shop.suite.yaml": suite.String(),
		"rehearse.yaml":   fmt.Sprintf("targets:\n  shop: {url: %q}\n", agent),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// chaosAgent takes its time, counts the turns of each session, and says what it was told.
type chaosAgent struct {
	mu    sync.Mutex
	turns map[string]int
}

func (a *chaosAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Message   string `json:"message"`
		SessionID string `json:"session_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(50 * time.Millisecond)
	a.mu.Lock()
	a.turns[asked.SessionID]++
	turn := a.turns[asked.SessionID]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	// a client that has gone needs no answer
	_ = json.NewEncoder(w).Encode(map[string]any{"reply": fmt.Sprintf("turn %d: %s", turn, asked.Message)})
}
