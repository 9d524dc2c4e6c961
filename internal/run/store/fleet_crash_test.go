package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// fleetChild stores results until it is killed, and says after each batch how many there are.
func fleetChild(path, part string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	for batch := 0; ; batch++ {
		var results []store.NewResult
		for i := range 20 {
			r := &result.Test{
				Suite: "s", TestID: fmt.Sprintf("%s-%d-%d", part, batch, i), Target: "t", Verdict: result.Pass,
				SkipReason: fmt.Sprint(batch),
			}
			results = append(results, store.NewResult{
				Test: r, Artifacts: []store.Artifact{{Kind: "prompt", SHA256: r.TestID}},
			})
		}
		stored, err := s.Fleet().PutResults(ctx, "r", store.Fence{}, results)
		if err != nil {
			return err
		}
		fmt.Println(stored[len(stored)-1].Seq)
	}
}

// TestFleetKilled kills a process in the middle of its work, several times: what it was told is stored is there, and
// what is there is whole.
func TestFleetKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rehearse.db")
	s := open(t, path)
	defer s.Close()
	if _, _, err := s.Fleet().CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r"}}); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		cmd := exec.CommandContext(t.Context(), self, fmt.Sprint("round", round))
		cmd.Env = append(os.Environ(), fleetEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told := int64(0)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if told, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
				t.Fatal(err)
			}
			if n == 5+7*round {
				cmd.Process.Kill()
			}
		}
		_ = cmd.Wait() // it was killed
		wantWhole(t, s.Fleet(), told, 20)
	}
}

// wantWhole wants a run r of at least so many results, in whole batches, whose tables agree.
func wantWhole(t *testing.T, f *store.Fleet, least int64, batch int64) {
	t.Helper()
	run, err := f.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for r, err := range f.AllResults(t.Context(), "r", store.ResultFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if test, err := r.Test(); err != nil || test.Key() != r.Key {
			t.Errorf("result %d: %+v, %v", r.Seq, test, err)
		}
		if n++; r.Seq != n {
			t.Fatalf("result %d has the seq %d", n, r.Seq)
		}
	}
	if n < least || n%batch != 0 || run.Counts.Results != n || int64(run.Counts.Passed) != n ||
		int64(run.Progress.Done) != n {
		t.Errorf("%d results, at least %d are stored; the run says %+v, %+v", n, least, run.Counts, run.Progress)
	}
	events := int64(0)
	for {
		page, err := f.RunEvents(t.Context(), "r", events, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if events++; e.ID != events {
				t.Fatalf("event %d has the id %d", events, e.ID)
			}
		}
	}
	if events != n+1 {
		t.Errorf("%d events of %d results", events, n)
	}
}

// TestFleetServerCrashes crashes PostgreSQL in the middle of the work: every error says that it is away, and repeating
// the same calls stores every result once.
func TestFleetServerCrashes(t *testing.T) {
	server := servertest.NewPostgres(t)
	p, err := store.OpenPostgres(t.Context(), server.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f := p.Fleet()
	if _, _, err := f.CreateRun(t.Context(), store.NewRun{Run: store.Run{ID: "r"}}); err != nil {
		t.Fatal(err)
	}
	lease, ok, err := f.AcquireLease(t.Context(), store.RunLease("r"), "server", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	const writers, batches, size = 3, 40, 10
	var done, failed atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for batch := range batches {
				var results []store.NewResult
				for i := range size {
					results = append(results, store.NewResult{Test: &result.Test{
						Suite: "s", TestID: fmt.Sprintf("%d-%d-%d", w, batch, i), Verdict: result.Pass,
					}})
				}
				for {
					_, err := f.PutResults(t.Context(), "r", lease.Fence(), results)
					if err == nil {
						break
					}
					if failed.Add(1); !store.IsUnavailable(err) {
						t.Errorf("not away: %v", err)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
				done.Add(1)
			}
		})
	}
	for round := range int64(2) {
		eventually(t, "results are stored", func() bool { return done.Load() > (round+1)*writers*batches/4 })
		server.Crash()
		before := failed.Load()
		eventually(t, "calls fail", func() bool { return failed.Load() > before })
		server.Start(t)
	}
	wg.Wait()
	wantWhole(t, f, writers*batches*size, size)
	if run, err := f.Run(t.Context(), "r"); err != nil || run.Counts.Results != writers*batches*size {
		t.Errorf("%+v, %v; want %d results", run.Counts, err, writers*batches*size)
	}
}
