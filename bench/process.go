package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

// usage is what one run of a program took.
type usage struct {
	Wall time.Duration `json:"wall_ns"`
	CPU  time.Duration `json:"cpu_ns"` // user and system, with that of its children
	// RSS is the peak resident memory in bytes, of the largest process where there are several. Linux counts what the
	// parent held when it forked, so a value is never below the peak of this program, which therefore holds little.
	RSS int64 `json:"rss_bytes"`
	// Private is the peak private memory in bytes of the program and its children together (machine.PrivatePeak). Where
	// it is unknown it is 0, which the JSON leaves out.
	Private int64 `json:"private_bytes,omitempty"`
	// Requests and MostInFlight are what the endpoint saw, HeldMS how long it held a request on average.
	Requests     int64   `json:"requests,omitempty"`
	MostInFlight int64   `json:"most_in_flight,omitempty"`
	HeldMS       float64 `json:"held_ms,omitempty"`
	// Files are the names of what the program wrote into its folder of results.
	Files []string `json:"-"`
}

// list fills in the files of a folder, none if the folder does not exist.
func (u *usage) list(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		u.Files = append(u.Files, entry.Name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// exitError is an exit code that the program should not have had.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// program is a command to be measured.
type program struct {
	dir  string
	env  []string // besides baseEnv
	name string
	args []string
}

// baseEnv keeps what the machine is configured with (proxies, Go's settings, keys) out of what is measured.
func baseEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"NO_PROXY=127.0.0.1,localhost", "NO_COLOR=1",
	}
}

// measure runs the program to its end and returns what it took and its exit code.
// What it printed goes to the file output.txt in its folder, and the end of that into the error if it could not be run.
func measure(ctx context.Context, limit time.Duration, p program) (u usage, exit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := os.Create(filepath.Join(p.dir, outputFile))
	if err != nil {
		return u, 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	cmd := exec.CommandContext(ctx, p.name, p.args...)
	cmd.Dir, cmd.Env = p.dir, append(baseEnv(p.dir), p.env...)
	cmd.Stdout, cmd.Stderr = out, out // a file: a pipe would have to be read while we measure
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return u, 0, err
	}
	ended, private := make(chan struct{}), make(chan int64, 1)
	go func() { private <- machine.PrivatePeak(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	u.Wall = time.Since(start)
	close(ended)
	u.Private = <-private
	left := endGroup(cmd.Process.Pid)
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.RSS = machine.PeakRSS(cmd.ProcessState)
	if ctx.Err() != nil {
		return u, 0, fmt.Errorf("stopped after %s: %w", u.Wall.Round(time.Second), ctx.Err())
	}
	if left {
		return u, 0, errors.New("it left processes behind, whose CPU is not counted")
	}
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		return u, exited.ExitCode(), nil
	}
	return u, 0, err
}

const outputFile = "output.txt"

// lastOutput returns the end of what a program printed in dir, on one line.
func lastOutput(dir string) string {
	const most = 300
	f, err := os.Open(filepath.Join(dir, outputFile))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, _ := io.ReadAll(f) // what can be had will do
	return strings.Join(strings.Fields(string(data)), " ")
}
