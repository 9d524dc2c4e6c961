package natsconn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestMain(m *testing.M) { os.Exit(natsconntest.Main(m)) }

var _ judge.Cache = natsconn.Verdicts{}

func embedded(t *testing.T) *natsconn.Conn {
	t.Helper()
	return natsconntest.Connect(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)})
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), natsconntest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// TestNothingIsLeftRunning after the server, the connection and all that listens on it are closed.
func TestNothingIsLeftRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := natsconn.Connect(t.Context(), natsconn.ConnConfig{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	cancels, err := conn.Cancels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	returns, err := conn.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	limits := natsconn.NewLimits(conn, time.Second)
	done, err := limits.Begin(soon(t), "p", natsconn.Limit{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	done(0)
	limits.Close()
	returns.Close()
	cancels.Close()
	conn.Close()
	server.Close()
	goleak.VerifyNone(t, before,
		// nats-server keeps one clock for the process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

func TestOneServerForAFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir}); !errors.Is(err,
		natsconn.ErrServed) {
		t.Errorf("a second server: %v, want ErrServed", err)
	}
	if addr := first.Addr(); addr != "" {
		t.Errorf("it listens at %s, and was not asked to", addr)
	}
	first.Close()
	second, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

func TestListener(t *testing.T) {
	for listen, allowed := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "[::]:0": false,
		"example.com:0": false,
	} {
		s, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: t.TempDir(), Listen: listen})
		if refused := errors.Is(err, natsconn.ErrOpenListener); refused == allowed {
			t.Errorf("%s without a password: %v", listen, err)
		}
		if err == nil {
			s.Close()
		}
	}
	for _, listen := range []string{"127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999"} {
		if _, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{
			Dir: t.TempDir(), Listen: listen,
		}); err == nil {
			t.Errorf("it listens at %s", listen)
		}
	}
}

// TestTakenPort is said at once, and the folder is free again.
func TestTakenPort(t *testing.T) {
	dir, p := t.TempDir(), natsconntest.StartProcess(t)
	_, err := natsconn.StartServer(soon(t), natsconn.ServerConfig{
		Dir: dir, Listen: strings.TrimPrefix(p.URL, "nats://"),
	})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("on a port that is taken: %v", err)
	}
	s, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestPassword: who joins needs the password, which no error shows.
func TestPassword(t *testing.T) {
	const secret = "s3cret-word"
	s, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	natsconntest.Connect(t, natsconn.ConnConfig{Server: s})
	natsconntest.Connect(t, natsconn.ConnConfig{URL: s.Addr(), Token: secret})
	natsconntest.Connect(t, natsconn.ConnConfig{URL: "nats://" + secret + "@" + s.Addr(), Token: "not this one"})
	for _, c := range []natsconn.ConnConfig{
		{URL: s.Addr()}, {URL: s.Addr(), Token: "wrong-" + secret}, {URL: "nats://user:" + secret + "@" + s.Addr()},
	} {
		_, err := natsconn.Connect(soon(t), c)
		if !errors.Is(err, natsconn.ErrRefused) {
			t.Errorf("wrong credentials: %v, want ErrRefused", err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	for _, url := range []string{
		"nats://user:" + secret + "@host:port:1", "http://" + secret + "@host", "", "nats://" + secret + "@",
	} {
		if _, err := natsconn.Connect(soon(t), natsconn.ConnConfig{URL: url}); err == nil ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestConnectWaits for a server that starts later, says so, and is there again after the server was killed.
func TestConnectWaits(t *testing.T) {
	p := natsconntest.StartProcess(t)
	p.Kill()
	links := make(chan natsconn.Link, 100)
	conns := make(chan *natsconn.Conn)
	go func() {
		conn, err := natsconn.Connect(t.Context(), natsconn.ConnConfig{
			URL: p.URL, OnLink: func(l natsconn.Link) { links <- l },
		})
		if err != nil {
			t.Error(err)
		}
		conns <- conn
	}()
	next := func(up bool) {
		t.Helper()
		select {
		case l := <-links:
			if l.Up != up {
				t.Fatalf("told %+v, want up: %v", l, up)
			}
		case <-time.After(natsconntest.Patience):
			t.Fatalf("not told, want up: %v", up)
		}
	}
	next(false)
	p.Start()
	next(true)
	conn := <-conns
	defer conn.Close()
	if err := conn.Check(t.Context()); err != nil {
		t.Error(err)
	}
	p.Kill()
	next(false)
	p.Start()
	next(true)
	if err := conn.Send(soon(t), natsconn.Return{Run: "run", Fault: "none"}); err != nil {
		t.Error(err)
	}
}

func TestBundles(t *testing.T) {
	c := embedded(t)
	data := bytes.Repeat([]byte("bundle "), 100_000)
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	var got bytes.Buffer
	if err := c.GetBundle(t.Context(), sha, &got); !errors.Is(err, natsconn.ErrNoBundle) {
		t.Errorf("a missing bundle: %v, want ErrNoBundle", err)
	}
	if has, err := c.HasBundle(t.Context(), sha); has || err != nil {
		t.Errorf("a missing bundle is there: %v, %v", has, err)
	}
	if err := c.PutBundle(t.Context(), sha, strings.NewReader("other bytes")); !errors.Is(err, natsconn.ErrDamaged) {
		t.Errorf("a bundle with other bytes: %v, want ErrDamaged", err)
	}
	if err := c.GetBundle(t.Context(), sha, &got); !errors.Is(err, natsconn.ErrNoBundle) {
		t.Errorf("after a bundle with other bytes: %v, want ErrNoBundle", err)
	}
	for range 2 {
		if err := c.PutBundle(t.Context(), sha, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.GetBundle(t.Context(), sha, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("got %d bytes of %d, %v", got.Len(), len(data), err)
	}
	if all, err := c.Bundles(t.Context()); err != nil || len(all) != 1 || all[0] != sha {
		t.Errorf("bundles: %v, %v", all, err)
	}
	for range 2 {
		if err := c.DeleteBundle(t.Context(), sha); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.GetBundle(t.Context(), sha, &got); !errors.Is(err, natsconn.ErrNoBundle) {
		t.Errorf("a deleted bundle: %v, want ErrNoBundle", err)
	}
}

func TestWorkers(t *testing.T) {
	c := embedded(t)
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, name := range []string{"host b 7", "host a 9"} {
		group.Go(func() {
			c.Heartbeat(ctx, func() natsconn.Worker {
				return natsconn.Worker{Name: name, Version: "v1", Workers: 8, Busy: 2, Done: 5}
			})
		})
	}
	wait(t, func() bool {
		all, err := c.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 {
			return false
		}
		if all[0].Name != "host a 9" || all[0].Busy != 2 || time.Since(all[0].LastSeen) > natsconntest.Patience {
			t.Errorf("workers: %+v", all)
		}
		return true
	})
	leave()
	group.Wait()
	if all, err := c.Workers(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("workers that left: %+v, %v", all, err)
	}
}

// TestSilentWorkerIsGone after three missed heartbeats.
func TestSilentWorkerIsGone(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	c, lost := natsconntest.Connect(t, natsconn.ConnConfig{Server: server}),
		natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		lost.Heartbeat(ctx, func() natsconn.Worker { return natsconn.Worker{Name: "w"} })
		close(done)
	}()
	count := func() int {
		all, err := c.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	wait(t, func() bool { return count() == 1 })
	lost.NATS().Close()
	wait(t, func() bool { return count() == 0 })
	stop()
	<-done
}

func wait(t *testing.T, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(natsconntest.Patience); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
	}
}

// TestCancel reaches workers that listen, those that connect later, and those that NATS had lost meanwhile.
func TestCancel(t *testing.T) {
	p := natsconntest.StartProcess(t)
	leader := natsconntest.Connect(t, natsconn.ConnConfig{URL: p.URL})
	listen := func() *natsconn.Cancels {
		c, err := natsconntest.Connect(t, natsconn.ConnConfig{URL: p.URL}).Cancels(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	ended := func(c *natsconn.Cancels, run string, cancel func()) {
		t.Helper()
		ctx, done := c.Context(t.Context(), run)
		defer done()
		cancel()
		select {
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), natsconn.ErrCancelled) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
		case <-time.After(natsconntest.Patience):
			t.Fatal("the cancel was not heard")
		}
	}
	send := func(run string) func() {
		return func() {
			if err := leader.Cancel(soon(t), run); err != nil {
				t.Fatal(err)
			}
		}
	}
	early := listen()
	other, done := early.Context(t.Context(), "run 2")
	defer done()
	ended(early, "run 1", send("run 1"))
	ended(listen(), "run 1", func() {})
	if other.Err() != nil {
		t.Error("another run was cancelled, too")
	}
	p.Kill()
	p.Wipe()
	p.Start()
	ended(early, "run 3", send("run 3"))
}

func TestVerdicts(t *testing.T) {
	v := embedded(t).Verdicts()
	if _, found, err := v.Verdict(t.Context(), "key *"); found || err != nil {
		t.Errorf("found %v, %v before any was kept", found, err)
	}
	for _, verdict := range []string{"first", "second"} {
		if err := v.PutVerdict(t.Context(), "key *", []byte(verdict)); err != nil {
			t.Fatal(err)
		}
	}
	if got, found, err := v.Verdict(t.Context(), "key *"); string(got) != "second" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
	if _, found, _ := v.Verdict(t.Context(), "other"); found {
		t.Error("a verdict under a key that has none")
	}
}

func returned(n int, record string) natsconn.Return {
	return natsconn.Return{
		Run: "run", Kind: "suite", Key: result.Key{Suite: "s", TestID: fmt.Sprint(n), Target: "t"}, Attempt: 1,
		Worker: "w", Record: []byte(record),
	}
}

// TestReturns: large ones come whole, a second one of a job changes nothing, and a new leader gets what the old one had
// not stored.
func TestReturns(t *testing.T) {
	c := embedded(t)
	old, err := c.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	large := `{"text":"` + strings.Repeat("x", 9<<20) + `"}`
	for n, record := range []string{`{"n":0}`, large, `{"n":2}`} {
		if err := c.Send(t.Context(), returned(n, record)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Send(t.Context(), returned(2, `{"n":"second"}`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(t.Context(), returned(3, strings.Repeat("1", natsconn.MaxResult+1))); !errors.Is(err,
		natsconn.ErrTooLarge) {
		t.Errorf("a result that is too large: %v, want ErrTooLarge", err)
	}
	first, err := old.Next(soon(t))
	if err != nil || string(first.Record) != `{"n":0}` || first.Worker != "w" {
		t.Fatalf("got %+v, %v", first, err)
	}
	if err := first.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Next(soon(t)); err != nil { // received, and never stored
		t.Fatal(err)
	}
	leader, err := c.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	got := map[string]string{}
	for range 2 {
		r, err := leader.Next(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		got[r.Key.TestID] = string(r.Record)
		if err := r.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got["1"] != large || got["2"] != `{"n":2}` {
		t.Errorf("the new leader got %d returns", len(got))
	}
	for {
		if _, err := old.Next(soon(t)); errors.Is(err, natsconn.ErrDisplaced) {
			break
		} else if err != nil {
			t.Fatalf("the old leader: %v, want ErrDisplaced", err)
		}
	}
	if err := c.Forget(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableReturn is a fault, and not passed over.
func TestUnreadableReturn(t *testing.T) {
	c := embedded(t)
	leader, err := c.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	for _, data := range []string{"{", `{"run":"run","kind":"suite","key":{"test_id":"another"},"record":{}}`} {
		if _, err := c.JetStream().Publish(t.Context(), "rehearse.return.run.abc", []byte(data)); err != nil {
			t.Fatal(err)
		}
		r, err := leader.Next(soon(t))
		if err != nil || r.Fault == "" || r.Record != nil {
			t.Fatalf("got %+v, %v; want a fault", r, err)
		}
		if err := r.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(t, func() bool { left, err := c.ReturnsOf(t.Context(), "run"); return err == nil && len(left) == 0 })
	}
}

func TestNotices(t *testing.T) {
	c := embedded(t)
	got := make(chan natsconn.Notice, 10)
	stop, err := c.Notices("run", func(n natsconn.Notice) { got <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	want := natsconn.Notice{
		Run: "run", Kind: "suite", Key: result.Key{TestID: "a"}, Attempt: 1, Worker: "w", Turn: 2, Of: 3,
	}
	for _, n := range []natsconn.Notice{{Run: "other"}, want} {
		if err := c.Notify(n); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case n := <-got:
		if n != want {
			t.Errorf("got %+v", n)
		}
	case <-time.After(natsconntest.Patience):
		t.Fatal("no notice came")
	}
}
