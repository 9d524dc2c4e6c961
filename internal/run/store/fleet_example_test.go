package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A server takes the lease of a run that waits, leads it, stores its results, and ends it. Another server could go on
// at any point.
func ExampleFleet() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	s, err := store.Open(ctx, filepath.Join(dir, "rehearse.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	f := s.Fleet()
	submission := store.NewRun{
		Run: store.Run{ID: "run-1", Schema: 1, Kind: "suite"}, Spec: []byte(`{"schema": 1}`), Key: "nightly of Monday",
	}
	if _, _, err := f.CreateRun(ctx, submission); err != nil {
		fmt.Println(err)
	}
	if err := lead(ctx, f, "server-a"); err != nil {
		fmt.Println(err)
	}
	events, err := f.RunEvents(ctx, "run-1", 0, 0)
	for _, e := range events {
		fmt.Println(e.ID, e.Kind)
	}
	fmt.Println(err)
	// Output:
	// 1 status
	// 2 status
	// 3 result
	// 4 status
	// 5 end
	// <nil>
}

// lead leads the run that waits longest.
func lead(ctx context.Context, f *store.Fleet, server string) error {
	waiting, err := f.Unfinished(ctx, 1)
	if err != nil || len(waiting) == 0 {
		return err
	}
	run := waiting[0].ID
	lease, ok, err := f.AcquireLease(ctx, store.RunLease(run), server, 15*time.Second) // and RenewLease every 5 s
	if err != nil || !ok {
		return err
	}
	move := func(to store.RunStatus) error {
		_, err := f.UpdateRun(ctx, run, lease.Fence(), func(r *store.Run) error {
			r.Status = to
			return nil
		})
		return err
	}
	if waiting[0].Status == store.RunQueued {
		if err := move(store.RunRunning); err != nil {
			return err
		}
	}
	test := &result.Test{Suite: "shop", TestID: "refund", Target: "agent", Verdict: result.Pass, Score: 1}
	for {
		_, err := f.PutResults(ctx, run, lease.Fence(), []store.NewResult{{Test: test, Worker: "worker-1"}})
		if errors.Is(err, store.ErrLeaseLost) {
			return nil // another server goes on
		}
		if err == nil {
			break
		}
		if !store.IsUnavailable(err) {
			return err
		}
		time.Sleep(time.Second)
	}
	return errors.Join(move(store.RunCompleted), f.GiveUpLease(ctx, lease))
}
