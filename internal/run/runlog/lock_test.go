package runlog_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// holderEnv makes the test program lock the folder of its value, write its process number, and stay until it is killed.
const holderEnv = "REHEARSE_TEST_HOLDER"

// holdLock is what the test program does as a holder.
func holdLock(dir string) {
	if _, err := runlog.AcquireLock(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// One process writes a run. Another is told which; once the writer is dead, however it died, the folder is free.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	if runlog.Locked(dir) {
		t.Error("a folder without a run is locked")
	}
	if err := runlog.WriteRun(dir, result.Run{
		Schema: result.Schema, ID: "one", ExitReason: result.ReasonRunning,
	}); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(os.Args[0])
	holder.Env, holder.Stderr = append(os.Environ(), holderEnv+"="+dir), os.Stderr
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Kill()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if !runlog.Locked(dir) {
		t.Error("a run under way is not locked")
	}
	_, err = runlog.AcquireLock(t.Context(), dir)
	busy, ok := errors.AsType[*runlog.BusyError](err)
	if want := fmt.Sprintf("run one is under way (pid %d)", holder.Process.Pid); !ok || busy.Error() != want {
		t.Errorf("a second writer: %v, want %s", err, want)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait() // it was killed
	if runlog.Locked(dir) {
		t.Error("the lock outlives its process")
	}
	lock, err := runlog.AcquireLock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !runlog.Locked(dir) {
		t.Error("the lock that was taken does not hold")
	}
	if err := lock.Release(); err != nil || runlog.Locked(dir) {
		t.Errorf("after the release: %v", err)
	}
}
