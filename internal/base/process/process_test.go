//go:build linux

package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// parentEnv makes this test program one that starts the command and is killed.
const parentEnv = "PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		if _, err := Start(shell("echo $$ >&3; exec sleep 1000", os.Environ()...)); err != nil {
			os.Exit(1)
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

func shell(script string, env ...string) Command {
	return Command{Words: []string{"sh", "-c", script}, Env: append(env, "PATH="+os.Getenv("PATH"))}
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(shell(script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// read reads until the output has a text, or ends.
func read(t *testing.T, p *Process, until string) string {
	t.Helper()
	var said bytes.Buffer
	part := make([]byte, 64)
	for !strings.Contains(said.String(), until) {
		n, err := p.Read(t.Context(), part)
		said.Write(part[:n])
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	return said.String()
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// inGroup lists the processes of a group, zombies too.
func inGroup(t *testing.T, group int) (pids []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); fields[2] == strconv.Itoa(group) {
			pids = append(pids, string(stat))
		}
	}
	return pids
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s: not within 20 s", what)
}

func TestTalk(t *testing.T) {
	p := start(t, `while read line; do echo "you said $line"; done; echo bye >&2; exit 3`)
	for _, said := range []string{"hello", "again"} {
		if err := p.Write(t.Context(), []byte(said+"\n")); err != nil {
			t.Fatal(err)
		}
		if got := read(t, p, "\n"); got != "you said "+said+"\n" {
			t.Errorf("it answered %q", got)
		}
	}
	p.Stop(Grace)
	if p.Exit() == nil || p.Exit().Error() != "exit status 3" || p.Stderr() != "bye" || p.Killed() {
		t.Errorf("exit %v, said %q, killed %v", p.Exit(), p.Stderr(), p.Killed())
	}
}

// A program that does not end when its input does is killed with its children.
func TestStopKillsTheGroup(t *testing.T) {
	p := start(t,
		`trap '' TERM HUP; (while :; do sleep 1000; done) & (sleep 1000 &) ; echo up; while :; do sleep 1000; done`)
	read(t, p, "up")
	group := p.cmd.Process.Pid
	p.Stop(50 * time.Millisecond)
	if !p.Killed() {
		t.Error("it is not said to have been killed")
	}
	eventually(t, "the group ends", func() bool { // init reaps orphans in its own time
		for _, stat := range inGroup(t, group) {
			if !strings.Contains(stat, ") Z ") {
				return false
			}
		}
		return true
	})
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", group)); err == nil {
		t.Error("the program is a zombie")
	}
}

// A program that ends is seen to end, although a child of its holds its output open.
func TestEndIsSeenPastAChild(t *testing.T) {
	p := start(t, "sleep 1000 & echo last; echo sorry >&2; exit 4")
	if got := read(t, p, "never"); got != "last\n" {
		t.Errorf("read %q", got)
	}
	p.Stop(Grace)
	if p.Exit() == nil || p.Stderr() != "sorry" {
		t.Errorf("exit %v, said %q", p.Exit(), p.Stderr())
	}
	eventually(t, "the child ends", func() bool { return len(inGroup(t, p.cmd.Process.Pid)) == 0 })
}

// Reading and writing end with their context, and can go on after it.
func TestContextEndsACall(t *testing.T) {
	p := start(t, "read line; echo $line; exec sleep 1000")
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Read(short, make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reading: %v", err)
	}
	if err := p.Write(t.Context(), []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p, "x"); got != "x\n" {
		t.Errorf("read %q", got)
	}
	full, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Write(full, make([]byte, 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("writing to one that does not read: %v", err)
	}
}

// Standard error is read and dropped but for its end.
func TestSaid(t *testing.T) {
	p := start(t, "head -c 3000000 /dev/zero | tr '\\0' x >&2; printf '%s' last >&2")
	read(t, p, "never")
	p.Stop(Grace)
	if said := p.Stderr(); len(said) != maxSaid || !strings.HasSuffix(said, "xlast") {
		t.Errorf("%d bytes: …%s", len(said), said[max(0, len(said)-20):])
	}
}

func TestEnvironmentIsGiven(t *testing.T) {
	t.Setenv("NOT_GIVEN", "hush")
	output, err := Run(t.Context(), shell("echo $GIVEN/$NOT_GIVEN/$PWD", "GIVEN=yes"), nil, 100)
	if err != nil || !strings.HasPrefix(string(output), "yes//") {
		t.Errorf("%q, %v", output, err)
	}
}

func TestRun(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for script, want := range map[string]string{
		"cat":                       big,
		"exit 0":                    "",
		"echo no; exit 7":           "exit status 7",
		"echo why >&2; kill -9 $$":  "signal: killed, and it says: why",
		"cat; echo more":            "larger than 1048576 bytes",
		"sleep 1000 & echo started": "started\n",
	} {
		output, err := Run(t.Context(), shell(script), []byte(big), 1<<20)
		got := string(output)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %.100q", script, got)
		}
	}
	if _, err := Run(t.Context(), Command{Words: []string{"./nosuch"}}, nil, 1); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A flood without an end costs no more than its bound, and ends its program.
func TestRunBoundsAFlood(t *testing.T) {
	if _, err := Run(t.Context(), shell("cat /dev/zero"), nil, 1<<20); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

// When this process is killed, the programs that it has started end, too.
func TestNoOrphanAfterKill(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	parent.ExtraFiles = []*os.File{w}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !alive(child) {
		t.Fatalf("the child %q: %v", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	_ = r.Close()
	eventually(t, "the child ends", func() bool { return !alive(child) })
}
