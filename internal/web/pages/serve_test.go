package pages_test

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// A signal ends the pages, open streams or not, and that is no error.
func TestServeEnds(t *testing.T) {
	s := newSite(t)
	s.put(result.Run{ID: "r", Targets: []string{"t"}, ExitReason: result.ReasonRunning})
	lock, err := runlog.AcquireLock(t.Context(), filepath.Join(s.root, "r"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	runs := runindex.New(nil)
	runs.AddRoot(s.root)
	stop, opened, ended := make(chan os.Signal, 1), make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- pages.Serve(t.Context(), pages.Serving{
			Config: pages.Config{Runs: runs}, Addr: "127.0.0.1:0", Stop: stop,
			Opened: func(base string) { opened <- base },
		})
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(<-opened + "/runs/r/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil ||
		!strings.HasPrefix(line, "event: progress") {
		t.Fatalf("%q %v", line, err)
	}
	stop <- os.Interrupt
	began := time.Now()
	if err := <-ended; err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestServeRefuses(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "nonsense"} {
		err := pages.Serve(t.Context(), pages.Serving{
			Config: pages.Config{Runs: runindex.New(nil)}, Addr: addr, TokenEnv: "TOKEN",
			Opened: func(string) { t.Error("it is open") },
		})
		if !source.IsInvalid(err) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// The address that is told opens pages, also where the server listens on all addresses.
func TestServeOnAllAddresses(t *testing.T) {
	stop, opened, ended := make(chan os.Signal, 1), make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- pages.Serve(t.Context(), pages.Serving{
			Config: pages.Config{Runs: runindex.New(nil)}, Addr: "0.0.0.0:0", Token: "rht_secret", Stop: stop,
			Opened: func(base string) { opened <- base },
		})
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	base := <-opened
	response, err := client.Get(base + "/runs")
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != 200 { // that of the login
		t.Errorf("%s: %s", base, response.Status)
	}
	stop <- os.Interrupt
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
