package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// chaosPatience bounds a disturbed run. It is no goal: an undisturbed one takes two seconds.
const chaosPatience = 3 * time.Minute

// chaosLost is the --ack-wait and the --lease of the servers.
const chaosLost = 2 * time.Second

// chaosRig is a fleet of processes of the program, and what they stand on.
type chaosRig struct {
	t    *testing.T
	dir  string
	spec []byte
	// natsAddr is where the servers have their NATS, or listen with it.
	natsAddr string
	// nats, postgres and the ways to them are nil where a server has both inside.
	nats            *chaosProcess
	postgres        *servertest.PostgresServer
	toNATS, toStore *chaosProxy
	servers         []*chaosProcess
	workers         []*chaosProcess
	// other is the program in another version; empty where none was built.
	other     string
	submitted int
}

// newEmbeddedRig starts a server with its own NATS and SQLite below data, and three workers.
func newEmbeddedRig(t *testing.T, agent, data string) *chaosRig {
	r := &chaosRig{t: t, dir: t.TempDir(), spec: chaosSpec(t, agent), natsAddr: chaosFreeAddr(t)}
	r.server("server", "--data", data, "--nats-addr", r.natsAddr)
	for n := range 3 {
		r.worker(fmt.Sprintf("worker-%d", n), r.natsAddr)
	}
	return r
}

// newOutsideRig starts NATS, PostgreSQL, two servers and three workers. The workers' way to NATS and the first server's
// to PostgreSQL can be cut.
func newOutsideRig(t *testing.T, agent string) *chaosRig {
	r := &chaosRig{t: t, dir: t.TempDir(), spec: chaosSpec(t, agent), natsAddr: chaosFreeAddr(t)}
	r.startNATS()
	r.postgres = servertest.NewPostgres(t)
	r.toNATS = newChaosProxy(t, r.natsAddr)
	r.toStore = newChaosProxy(t, r.postgres.URL().Host)
	for n, host := range []string{r.toStore.addr(), r.postgres.URL().Host} {
		u := r.postgres.URL()
		u.Host = host
		r.server(fmt.Sprintf("server-%d", n), "--data", filepath.Join(r.dir, fmt.Sprintf("data-%d", n)), "--nats",
			"nats://"+r.natsAddr, "--store", u.String())
	}
	for n := range 3 {
		r.worker(fmt.Sprintf("worker-%d", n), r.toNATS.addr())
	}
	return r
}

func (r *chaosRig) server(name string, args ...string) {
	p := &chaosProcess{t: r.t, dir: r.dir, name: name, ready: "listening on ", args: append([]string{
		"rehearse", "serve", "--addr", "127.0.0.1:0", "--workers", "0", "--ack-wait", chaosLost.String(), "--lease",
		chaosLost.String(), "--allow-private", "--rate", "100000",
	}, args...)}
	p.start()
	r.servers = append(r.servers, p)
}

func (r *chaosRig) worker(name, nats string) {
	p := &chaosProcess{t: r.t, dir: r.dir, name: name, args: []string{
		"rehearse", "worker", "--nats", "nats://" + nats, "--name", name, "--workers", "4",
	}}
	p.start()
	r.workers = append(r.workers, p)
}

func (r *chaosRig) startNATS() {
	r.nats = &chaosProcess{t: r.t, dir: r.dir, name: "nats", ready: "nats ", args: []string{
		"natsserver", filepath.Join(r.dir, "nats-data"), r.natsAddr,
	}}
	r.nats.start()
}

// chaosNATS is a NATS server as a program: natsserver FOLDER HOST:PORT.
func chaosNATS() {
	server, err := natsconn.StartServer(context.Background(), natsconn.ServerConfig{
		Dir: os.Args[1], Listen: os.Args[2],
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("nats", server.Addr())
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
}

// chaosProcess is a process that can be killed, stopped and started again. What it writes is shown when the test fails.
type chaosProcess struct {
	t         *testing.T
	dir, name string
	args      []string
	// ready begins the line of its output that says that it serves, followed by its address; empty does not wait.
	ready string
	addr  string
	cmd   *exec.Cmd
	shown bool
}

func (p *chaosProcess) start() {
	p.t.Helper()
	out, err := os.Create(p.log(".out"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	said, err := os.OpenFile(p.log(".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer said.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Env = []string{
		"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.dir, "GORACE=" + os.Getenv("GORACE"),
	}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, out, said
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if !p.shown {
		p.shown = true
		p.t.Cleanup(p.end)
	}
	for end := time.Now().Add(chaosPatience); p.ready != ""; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(p.log(".out"))
		if _, after, found := strings.Cut(string(data), p.ready); err == nil && found && strings.Contains(after, "\n") {
			p.addr, _, _ = strings.Cut(after, "\n")
			return
		}
		if time.Now().After(end) || syscall.Kill(p.cmd.Process.Pid, 0) != nil {
			p.t.Fatalf("%s does not serve", p.name)
		}
	}
}

func (p *chaosProcess) log(suffix string) string { return filepath.Join(p.dir, p.name+suffix) }

// kill ends the process with kill -9.
func (p *chaosProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *chaosProcess) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
}

func (p *chaosProcess) end() {
	p.kill()
	if data, err := os.ReadFile(p.log(".log")); err == nil && p.t.Failed() {
		p.t.Logf("%s:\n%s", p.name, data[max(0, len(data)-6000):])
	}
	if data, err := os.ReadFile(p.log(".log")); err == nil && (raced(data) || bytes.Contains(data, []byte("panic:"))) {
		p.t.Errorf("%s:\n%s", p.name, data)
	}
}

// raced reports whether the race detector has found a race in a log. nats-server 2.15 has one of its own, when a
// consumer is made while its store is changed: it does not count where both sides are in that program's code.
func raced(log []byte) bool {
	for _, found := range bytes.Split(log, []byte("WARNING: DATA RACE"))[1:] {
		found, _, _ = bytes.Cut(found, []byte("\n=================="))
		lines := strings.Split(string(found), "\n")
		for i, line := range lines[:len(lines)-1] {
			side := strings.Contains(line, " at 0x") && strings.Contains(line, " by ")
			if side && !strings.Contains(lines[i+1], "github.com/nats-io/nats-server/") {
				return true
			}
		}
	}
	return false
}

func TestRaced(t *testing.T) {
	side := func(what, of string) string {
		return what + " at 0x00c0 by goroutine 110:\n  " + of + "\n      file.go:1 +0x9c7\n\n"
	}
	const theirs, ours = "github.com/nats-io/nats-server/v2/server.(*fileStore).ConsumerStore()",
		"github.com/rehearse-dev/rehearse/internal/fleet.(*Server).start()"
	report := func(a, b string) []byte {
		return []byte("==================\nWARNING: DATA RACE\n" + side("Read", a) + side("Previous write", b) +
			"Goroutine 110 (running) created at:\n  " + ours + "\n==================\n")
	}
	for _, c := range []struct {
		log  []byte
		want bool
	}{
		{nil, false},
		{report(theirs, theirs), false},
		{report(ours, theirs), true},
		{report(theirs, ours), true},
		{append(report(theirs, theirs), report(ours, ours)...), true},
	} {
		if got := raced(c.log); got != c.want {
			t.Errorf("%t, want %t:\n%s", got, c.want, c.log)
		}
	}
}

func chaosFreeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// chaosRun is the run object of the API.
type chaosRun struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Progress struct {
		Conversations, Done int
	} `json:"progress"`
	Totals     map[string]any `json:"totals"`
	ExitReason string         `json:"exit_reason"`
	ExitCode   *int           `json:"exit_code"`
	Error      *string        `json:"error"`
}

// ask asks the servers in turn until one answers with the status, for at most chaosPatience.
func (r *chaosRig) ask(status int, method, path string, body []byte) []byte {
	r.t.Helper()
	var last error
	for end := time.Now().Add(chaosPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, s := range r.servers {
			data, err := chaosAsk(status, method, s.addr+path, body)
			if err == nil {
				return data
			}
			if last = err; strings.HasPrefix(err.Error(), "4") {
				r.t.Fatalf("%s: %v", path, err)
			}
		}
	}
	r.t.Fatalf("no server answers %s: %v", path, last)
	return nil
}

func chaosAsk(status int, method, url string, body []byte) ([]byte, error) {
	// one that is stopped does not answer: the next one is asked
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", fmt.Sprintf("%x", sha256.Sum256(body)))
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != status {
		err = fmt.Errorf("%s %s", answer.Status, data)
	}
	return data, err
}

// submit submits the run of chaosSpec.
func (r *chaosRig) submit() string {
	r.t.Helper()
	r.submitted++
	name := fmt.Sprintf(`{"name": "run %d", `, r.submitted)
	var run chaosRun
	r.decode(r.ask(http.StatusCreated, http.MethodPost, "/api/v1/runs", append([]byte(name), r.spec[1:]...)), &run)
	return run.ID
}

func (r *chaosRig) decode(data []byte, v any) {
	r.t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		r.t.Fatal(err)
	}
}

// run is what a server says of a run.
func (r *chaosRig) run(id string) (run chaosRun) {
	r.t.Helper()
	r.decode(r.ask(http.StatusOK, http.MethodGet, "/api/v1/runs/"+id, nil), &run)
	return run
}

// connect connects the test itself to NATS.
func (r *chaosRig) connect() *natsconn.Conn {
	r.t.Helper()
	return natsconntest.Connect(r.t, natsconn.ConnConfig{URL: "nats://" + r.natsAddr})
}

// until waits until what a server says of the run is what is wanted.
func (r *chaosRig) until(id, what string, wanted func(chaosRun) bool) chaosRun {
	r.t.Helper()
	var run chaosRun
	for end := time.Now().Add(chaosPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if run = r.run(id); wanted(run) {
			return run
		}
	}
	r.t.Fatalf("the run does not become %s: %+v", what, run)
	return run
}

// leader returns the server that began last to lead the run.
func (r *chaosRig) leader(id string) (leading, other *chaosProcess) {
	r.t.Helper()
	var at time.Time
	for n, s := range r.servers {
		data, err := os.ReadFile(s.log(".log"))
		if err != nil {
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "the run is led here") || !strings.Contains(line, id) {
				continue
			}
			_, stamp, _ := strings.Cut(line, "time=")
			stamp, _, _ = strings.Cut(stamp, " ")
			if began, err := time.Parse(time.RFC3339Nano, stamp); err == nil && !began.Before(at) {
				at, leading, other = began, s, r.servers[(n+1)%len(r.servers)]
			}
		}
	}
	if leading == nil {
		r.t.Fatal("no server leads the run")
	}
	return leading, other
}

// pause waits for at most d, drawn from rnd.
func pause(rnd *rand.Rand, d time.Duration) {
	time.Sleep(time.Duration(rnd.Int64N(int64(d))))
}
