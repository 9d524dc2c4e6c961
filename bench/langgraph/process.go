package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

const (
	installLimit = 15 * time.Minute
	runLimit     = 3 * time.Minute
)

// run is what one run took.
type run struct {
	CPU   float64 `json:"cpu_us_per_turn"`
	Speed float64 `json:"turns_per_second"`
	RSS   int64   `json:"peak_rss_bytes"`
}

// start runs a program that prints a report, and returns it with the program's peak resident memory.
func start(ctx context.Context, command ...string) (*report, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// What the machine is configured with, such as keys and tracing, stays out of what is measured.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"NODE_ENV=production",
	}
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", command[0], err, ending(failure.String()))
	}
	r := &report{}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, 0, fmt.Errorf("%s: its report: %w", command[0], err)
	}
	return r, machine.PeakRSS(cmd.ProcessState), nil
}

// install puts packages into dir with npm, as it is configured here.
func install(ctx context.Context, dir string, packages []string) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	args := []string{
		"install", "--prefix", dir, "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-progress", "--loglevel",
		"error",
	}
	out, err := exec.CommandContext(ctx, "npm", append(args, packages...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s cannot be installed: %w: %s", strings.Join(packages, " "), err, ending(string(out)))
	}
	return nil
}

// nodeVersion returns the version of the Node.js on the path, and an error when it or npm is missing.
func nodeVersion(ctx context.Context) (string, error) {
	_, npm := exec.LookPath("npm")
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err := errors.Join(err, npm); err != nil {
		return "", fmt.Errorf("LangGraph.js needs node and npm on the path: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ending returns the end of what a program printed, on one line.
func ending(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[max(0, len(text)-300):]
}
