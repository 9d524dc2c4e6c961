package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// packagesEnv names the folder of the npm packages that the agents of testdata/agents need. test.sh installs them.
const packagesEnv = "REHEARSE_TEST_NPM"

// condition answers [npm]: whether agents of npm packages can be started. Where no test may be skipped, lacking
// packages are an error.
func condition(name string) (bool, error) {
	switch {
	case name != "npm":
		return false, fmt.Errorf("unknown condition %q", name)
	case os.Getenv(packagesEnv) != "":
		return true, nil
	case os.Getenv("REHEARSE_TEST_COMPLETE") != "":
		return false, errors.New(packagesEnv + " is not set, and no test may be left out here: run ./test.sh")
	}
	return false, nil
}

// startNPM starts an agent of testdata/agents with Node.js and sets a variable to the address that it prints.
func startNPM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: npm VARIABLE FILE [ARG…]")
	}
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "npm-")
	ts.Check(err)
	agents := filepath.Join(ts.Getenv("ROOT"), "testdata", "agents")
	files, err := filepath.Glob(filepath.Join(agents, "*.*"))
	ts.Check(err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o600))
	}
	// Node.js looks for packages beside the program that needs them.
	ts.Check(os.Symlink(filepath.Join(os.Getenv(packagesEnv), "node_modules"), filepath.Join(dir, "node_modules")))

	var said bytes.Buffer
	cmd := exec.Command("node", args[1:]...)
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANGSMITH_TRACING=false", "AI_SDK_LOG_WARNINGS=false",
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "http://") {
				select {
				case address <- lines.Text():
				default:
				}
			}
		}
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	})
	select {
	case at := <-address:
		ts.Setenv(args[0], at)
	case <-ended:
		_ = cmd.Wait()
		ts.Fatalf("%s ended: %s", args[1], said.String())
	case <-time.After(2 * time.Minute):
		ts.Fatalf("%s does not start", args[1])
	}
}
