package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is what the tests look at: the program, the folder of its demonstration, where its pages are, and the id of the
// run of the bookshop.
var site struct{ program, dir, base, run string }

// TestMain builds the program, or takes the one that REHEARSE names, and serves the demonstration for all tests.
func TestMain(m *testing.M) {
	code, err := held(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func held(m *testing.M) (code int, err error) {
	temp, err := os.MkdirTemp("", "rehearse-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(temp)
	site.dir = filepath.Join(temp, "demo")
	if site.program = os.Getenv("REHEARSE"); site.program == "" {
		site.program = filepath.Join(temp, "rehearse")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", site.program, "./cmd/rehearse")
		build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	demo, base, err := serve(site.program, "demo", site.dir, "--no-open")
	if err != nil {
		return 1, err
	}
	site.base = base
	defer func() { err = errors.Join(err, demo.end()) }()
	if site.run, err = runOf(base + bookshop); err != nil {
		return 1, err
	}
	stop, err := startBrowser(temp)
	if err != nil {
		return 1, err
	}
	defer stop()
	return m.Run(), nil
}

// served is a program that serves pages.
type served struct{ command *exec.Cmd }

var address = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)(/runs\S*)?`)

// serve starts the program and returns the base of the first address that it prints.
func serve(program string, args ...string) (*served, string, error) {
	c := exec.Command(program, args...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	s := &served{c}
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		close(found)
	}()
	select {
	case base, ok := <-found:
		if ok {
			return s, base, nil
		}
		err = errors.New("it ended without an address")
	case <-time.After(2 * time.Minute):
		err = errors.New("it printed no address within two minutes")
	}
	return nil, "", errors.Join(fmt.Errorf("%s: %w", strings.Join(args, " "), err), s.end())
}

// runOf returns the id of the first run of a list.
func runOf(list string) (id string, err error) {
	answer, err := http.Get(list)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`data-row="run" data-run="([^"]+)"`).FindSubmatch(page)
	if m == nil {
		return "", fmt.Errorf("%s lists no run: %s", list, answer.Status)
	}
	return string(m[1]), nil
}

// end lets the program end as Ctrl-C does.
func (s *served) end() error {
	if err := s.command.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		return errors.Join(errors.New("it did not end within a minute"), s.command.Process.Kill())
	}
}

// rehearse runs the program in the folder of the demonstration, and expects an exit code.
func rehearse(t *testing.T, exit int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, site.program, args...)
	c.Dir = site.dir
	out, err := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != exit {
		t.Fatalf("rehearse %s: exit code %d, want %d: %v\n%s", strings.Join(args, " "), code, exit, err, out)
	}
	return string(out)
}
