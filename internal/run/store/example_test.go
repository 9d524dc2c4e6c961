package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A store is one file, made when it is opened first. Here it indexes a run.
func ExampleOpen() {
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
	if err := s.PutRun(ctx, result.Run{ID: "20260714-093000-k3x9", ExitReason: "passed"}, dir); err != nil {
		fmt.Println(err)
	}
	runs, err := s.Runs(ctx, 10)
	if err != nil {
		fmt.Println(err)
	}
	for _, run := range runs {
		fmt.Println(run.ID)
	}
	fmt.Println(s.Close())
	// Output:
	// 20260714-093000-k3x9
	// <nil>
}
