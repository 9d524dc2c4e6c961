// Package natsconntest runs NATS servers for tests: in the process of the test, and as a process of its own that can be
// killed.
package natsconntest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

// child names the environment variable that makes a test program a NATS server: FOLDER, a space, HOST:PORT.
const child = "REHEARSE_FLEETTEST_CHILD"

// Patience is how long a test waits for what takes milliseconds.
const Patience = 30 * time.Second

// Main runs the tests of a package; TestMain of those that call StartProcess calls it.
func Main(m *testing.M) int {
	what := os.Getenv(child)
	if what == "" {
		return m.Run()
	}
	dir, listen, _ := strings.Cut(what, " ")
	server, err := natsconn.StartServer(context.Background(), natsconn.ServerConfig{Dir: dir, Listen: listen})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(server.Addr())
	select {} // until it is killed
}

// Process is a NATS server in a process of its own.
type Process struct {
	// URL stays the same over restarts.
	URL    string
	t      testing.TB
	dir    string
	listen string
	cmd    *exec.Cmd
}

// StartProcess starts a server on a folder of its own. It ends with the test.
func StartProcess(t testing.TB) *Process {
	t.Helper()
	p := &Process{t: t, dir: t.TempDir(), listen: freePort(t)}
	p.URL = "nats://" + p.listen
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// Start starts the server after Kill, with what it had on disk.
func (p *Process) Start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0], "-test.run=^$") //nolint:noctx // Kill ends it
	p.cmd.Env = append(os.Environ(), child+"="+p.dir+" "+p.listen)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		p.t.Fatalf("start a NATS server: %v", err)
	}
}

// Kill ends the server with kill -9.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Wipe deletes what a killed server had on disk.
func (p *Process) Wipe() {
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Fatal(err)
	}
}

func freePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// StartEmbedded starts a server in this process, with a folder of its own and no listener.
func StartEmbedded(t testing.TB) *natsconn.Server {
	t.Helper()
	s, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect connects to a server of either kind, until the test ends.
func Connect(t testing.TB, c natsconn.ConnConfig) *natsconn.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	conn, err := natsconn.Connect(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
