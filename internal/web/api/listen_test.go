package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// pipes is a listener whose connections are pipes, so that time in a test is the bubble's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A client has 30 s for its head and body, and as long to take each piece of an answer.
func TestTimeLimits(t *testing.T) {
	slowBody := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"
	for name, c := range map[string]struct {
		sent, wanted string
		after        time.Duration
	}{
		"half a head": {"POST / HTTP/1.1\r\nHost: loc", "", 30 * time.Second},
		"half a body": {slowBody, "408 Request Timeout", 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := readJSONBody(w, r)
				writeProblem(w, problemOf(err))
			})
			listener := make(pipes)
			s := (&Listening{}).server(handler)
			go func() { _ = s.Serve(listener) }()
			here, there := net.Pipe()
			listener <- there
			began := time.Now()
			if _, err := io.WriteString(here, c.sent); err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(here)
			if took := time.Since(began); took != c.after || !strings.Contains(string(answer), c.wanted) {
				t.Errorf("%s: after %s: %s", name, took, answer)
			}
			_ = s.Close()
		})
	}
}

// A stream may go on for as long as its reader takes each piece in time; who takes nothing is given up.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan time.Duration, 1)
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			began := time.Now()
			out := sse{w: w}
			for !out.gone {
				out.write([]byte(": " + strings.Repeat("x", 4096) + "\n"))
				time.Sleep(10 * time.Second)
			}
			gone <- time.Since(began)
		})
		listener := make(pipes)
		s := (&Listening{}).server(handler)
		go func() { _ = s.Serve(listener) }()
		here, there := net.Pipe()
		listener <- there
		if _, err := io.WriteString(here, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		reader, began := bufio.NewReader(here), time.Now()
		for time.Since(began) < 5*time.Minute {
			if _, err := reader.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if took := <-gone; took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("given up after %s", took)
		}
		_ = s.Close()
	})
}

// A client that stops in the middle of a file is given up; one that only reads slowly is not.
func TestSlowReadersOfFiles(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		pause time.Duration
		whole bool
	}{"slow": {10 * time.Second, true}, "stopped": {time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan bool, 1)
			s := (&Listening{}).server(newFront(table{{
				pattern: "GET /", scope: access.Read, handle: func(w http.ResponseWriter, r *http.Request) {
					http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("x", size)))
					ended <- true
				},
			}}.handler(), FrontConfig{Public: func(*http.Request) bool { return true }}))
			listener := make(pipes)
			go func() { _ = s.Serve(listener) }()
			here, there := net.Pipe()
			listener <- there
			if _, err := io.WriteString(here, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			read, piece := 0, make([]byte, 32<<10)
			for {
				n, err := here.Read(piece)
				if read += n; err != nil || read >= size {
					break
				}
				time.Sleep(c.pause)
			}
			<-ended
			if (read >= size) != c.whole {
				t.Errorf("%s: %d bytes", name, read)
			}
			_ = here.Close()
			_ = s.Close()
		})
	}
}

// While a server drains it listens on and says that it stops.
func TestListensWhileItDrains(t *testing.T) {
	stop, opened, ending := make(chan os.Signal, 2), make(chan net.Addr, 1), make(chan bool)
	front := Front(http.NotFoundHandler(), FrontConfig{Stopping: func() bool {
		select {
		case <-ending:
			return true
		default:
			return false
		}
	}})
	served := make(chan error, 1)
	drained := make(chan bool)
	go func() {
		served <- Serve(context.Background(), front, Listening{
			Addr: "127.0.0.1:0", Stop: stop, Grace: time.Minute, Opened: func(at net.Addr) { opened <- at },
			Stopping: func() { close(ending) },
			Drain:    func(context.Context) error { <-drained; return nil },
		})
	}()
	url := "http://" + (<-opened).String() + "/healthz"
	ask := func() int {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if got := ask(); got != 200 {
		t.Error(got)
	}
	stop <- os.Interrupt
	<-ending
	if got := ask(); got != 503 {
		t.Error(got)
	}
	close(drained)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Work that was cut off when its time was over has ended: nothing was given up.
func TestDrainUsesAllTime(t *testing.T) {
	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	err := Serve(context.Background(), http.NotFoundHandler(), Listening{
		Addr: "127.0.0.1:0", Stop: stop, Grace: time.Millisecond,
		Drain: func(ctx context.Context) error { <-ctx.Done(); return make(gate, 100).drain(ctx) },
	})
	if err != nil {
		t.Error(err)
	}
}

// What is asked of the server as a whole is asked of the front, too.
func TestOptionsOfTheServer(t *testing.T) {
	listener := make(pipes)
	s := (&Listening{}).server(Front(http.NotFoundHandler(), FrontConfig{
		Access: access.New(access.Config{Token: "secret"}),
	}))
	go func() { _ = s.Serve(listener) }()
	here, there := net.Pipe()
	listener <- there
	if _, err := io.WriteString(here, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if status, err := bufio.NewReader(here).ReadString('\n'); err != nil || !strings.Contains(status, "401") {
		t.Error(status, err)
	}
	_ = here.Close()
	_ = s.Close()
}
