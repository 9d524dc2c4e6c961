package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// otherRelease is the version of the program that buildOther builds.
const otherRelease = "99.0.0"

// buildOther builds the program with another schema of jobs and returns its path. The sources stay as they are: the
// compiler is given another text in place of one file.
func buildOther(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("../../internal/run/orchestrator/job.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	schema := regexp.MustCompile(`(?m)^const JobSchema = \d+$`)
	if len(schema.FindAll(text, -1)) != 1 {
		t.Fatalf("%s does not say what JobSchema is", source)
	}
	text = schema.ReplaceAll(text, fmt.Appendf(nil, "const JobSchema = %d", orchestrator.JobSchema+1))
	replaced, list, program := filepath.Join(dir, "job.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "rehearse")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{replaced: text, list: overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-ldflags",
		"-X main.release="+otherRelease, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// otherWorker starts a worker of another version beside those of the rig. It stays for the runs that follow.
func (r *chaosRig) otherWorker() *chaosProcess {
	r.t.Helper()
	p := &chaosProcess{t: r.t, dir: r.dir, name: fmt.Sprintf("other-%d", r.submitted), args: []string{
		r.other, "worker", "--nats", "nats://" + r.natsAddr, "--name", fmt.Sprintf("other-%d", r.submitted),
		"--workers", "4",
	}}
	p.start()
	return p
}

// listed are the workers of a name that GET /api/v1/workers lists.
func (r *chaosRig) listed(name string) (found []natsconn.Worker) {
	r.t.Helper()
	var page struct{ Items []natsconn.Worker }
	r.decode(r.ask(http.StatusOK, http.MethodGet, "/api/v1/workers", nil), &page)
	for _, w := range page.Items {
		if w.Name == name {
			found = append(found, w)
		}
	}
	return found
}

// until waits until the process has said something in its log.
func (p *chaosProcess) until(said string) {
	p.t.Helper()
	for end := time.Now().Add(chaosPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(p.log(".log")); err == nil && strings.Contains(string(data), said) {
			return
		}
	}
	p.t.Fatalf("%s does not say %q", p.name, said)
}
