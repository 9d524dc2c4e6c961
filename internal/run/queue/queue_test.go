package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/run/queue/queuetest"
)

func TestMain(m *testing.M) { os.Exit(natsconntest.Main(m)) }

func TestMemory(t *testing.T) {
	queuetest.Run(t, func(*testing.T) orchestrator.Queue { return queue.NewMemory(100) })
}

func TestEmbedded(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) orchestrator.Queue {
		return open(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)}, queue.Options{})
	})
}

// TestOutside holds the queue to the suite on a NATS server in a process of its own.
func TestOutside(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) orchestrator.Queue {
		return open(t, natsconn.ConnConfig{URL: natsconntest.StartProcess(t).URL}, queue.Options{})
	})
}

func open(t testing.TB, c natsconn.ConnConfig, o queue.Options) *queue.JetStream {
	t.Helper()
	q, err := queue.NewJetStream(t.Context(), natsconntest.Connect(t, c), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// TestSilentWorkerLosesItsJob: another worker gets the job, and the first one changes nothing when it wakes up.
func TestSilentWorkerLosesItsJob(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	silent := open(t, natsconn.ConnConfig{Server: server}, queue.Options{AckWait: time.Second, Worker: "silent"})
	other := open(t, natsconn.ConnConfig{Server: server}, queue.Options{Worker: "other"})
	if other.AckWait() != time.Second {
		t.Errorf("a worker waits for %s, want what the server set", other.AckWait())
	}
	queuetest.Push(t, silent, queuetest.Job("run", 1))
	lost := queuetest.Pull(t, silent)
	d := queuetest.Pull(t, other).(*queue.Delivery)
	if d.Attempt() != 2 || len(d.Tries()) != 1 || !d.Tries()[0].Lost {
		t.Errorf("attempt %d after %+v, want the second, after a lost one", d.Attempt(), d.Tries())
	}
	for what, err := range map[string]error{
		"Extend": lost.Extend(t.Context()), "Retry": lost.Retry(t.Context(), 0),
		"Reject": lost.Reject(t.Context(), "late"),
	} {
		if !errors.Is(err, queue.ErrLapsed) {
			t.Errorf("%s of a lost job: %v, want ErrLapsed", what, err)
		}
	}
	if letters, err := other.Dead(t.Context()); err != nil || len(letters) > 0 {
		t.Errorf("dead letters: %v, %v", letters, err)
	}
}

// TestExtendKeepsTheJob for longer than a silent worker has.
func TestExtendKeepsTheJob(t *testing.T) {
	q := open(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)}, queue.Options{AckWait: time.Second})
	queuetest.Push(t, q, queuetest.Job("run", 1))
	d := queuetest.Pull(t, q)
	for range 8 {
		queuetest.Empty(t, q)
		if err := d.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGivenUp: after five deliveries the leader of the run gets the job back, with what became of each.
func TestGivenUp(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	leader, err := conn.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	q := open(t, natsconn.ConnConfig{Server: server}, queue.Options{AckWait: 300 * time.Millisecond, Worker: "w1"})
	queuetest.Push(t, q, queuetest.Job("run", 1))
	for n := 1; n <= queue.MaxDeliveries; n++ {
		d := queuetest.Pull(t, q)
		if n%2 == 0 {
			if err := d.Retry(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	go func() { _, _ = q.Pull(t.Context()) }()
	ctx, cancel := context.WithTimeout(t.Context(), natsconntest.Patience)
	defer cancel()
	got, err := leader.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fault != "given up after 5 deliveries" || got.Key != queuetest.Job("run", 1).Key || len(got.Tries) != 5 {
		t.Fatalf("the leader got %+v", got.Return)
	}
	want := "delivery 1: its worker was lost; delivery 2: given back by w1; delivery 3: w1 was lost; delivery 4: " +
		"given back by w1; delivery 5: w1 was lost"
	if words := queue.Reasons(got.Tries); words != want {
		t.Errorf("reasons: %s\nwant:    %s", words, want)
	}
	letters, err := q.Dead(t.Context())
	if err != nil || len(letters) != 1 || len(letters[0].Tries) != 5 {
		t.Errorf("dead letters: %+v, %v", letters, err)
	}
}

// TestReject: the reason reaches the leader and is kept.
func TestReject(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	q := open(t, natsconn.ConnConfig{Server: server}, queue.Options{})
	queuetest.Push(t, q, queuetest.Job("run", 1))
	if err := queuetest.Pull(t, q).Reject(t.Context(), "the bundle is gone"); err != nil {
		t.Fatal(err)
	}
	leader, err := conn.Lead(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	got, err := leader.Next(t.Context())
	if err != nil || got.Fault != "the bundle is gone" || got.Key != queuetest.Job("run", 1).Key {
		t.Errorf("the leader got %+v, %v", got, err)
	}
	letters, err := q.Dead(t.Context())
	if err != nil || len(letters) != 1 || letters[0].Why != "the bundle is gone" ||
		!strings.Contains(string(letters[0].Job), "test 1") {
		t.Errorf("dead letters: %+v, %v", letters, err)
	}
}

// TestWhoTakesWhat: commands go to workers that allow them, jobs of another version to none, and are counted.
func TestWhoTakesWhat(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	strict := open(t, natsconn.ConnConfig{Server: server}, queue.Options{})
	willing := open(t, natsconn.ConnConfig{Server: server}, queue.Options{Commands: true})
	command, foreign := queuetest.Job("run", 1), queuetest.Job("run", 2)
	command.Commands, foreign.Schema = true, orchestrator.JobSchema+1
	queuetest.Push(t, strict, command)
	queuetest.Push(t, strict, foreign)
	queuetest.Empty(t, strict)
	n, err := strict.Count(t.Context())
	if err != nil || n != (queue.Counts{Waiting: 1, OtherVersions: 1}) {
		t.Errorf("counted %+v, %v; want 1 waiting and 1 foreign", n, err)
	}
	queuetest.Push(t, strict, queuetest.Job("run", 3))
	for range 2 {
		d := queuetest.Pull(t, willing)
		if d.Job().Key == foreign.Key {
			t.Error("a job of another version was taken")
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	queuetest.Empty(t, willing)
}

// TestMissing: jobs that are queued, held, or on their way back are not missing.
func TestMissing(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	q := open(t, natsconn.ConnConfig{Server: server}, queue.Options{})
	jobs := []orchestrator.Job{}
	for n := range 4 {
		jobs = append(jobs, queuetest.Job("run", n))
		if n < 3 {
			queuetest.Push(t, q, jobs[n])
		}
	}
	queuetest.Push(t, q, queuetest.Job("other run", 3))
	back := queuetest.Pull(t, q)
	if err := conn.Send(t.Context(), natsconn.Return{
		Run: "run", Kind: jobs[0].Kind, Key: jobs[0].Key, Record: []byte(`{}`),
	}); err != nil {
		t.Fatal(err)
	}
	if err := back.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	queuetest.Pull(t, q)
	missing, err := q.Missing(t.Context(), "run", jobs)
	if err != nil || len(missing) != 1 || missing[0].Key != jobs[3].Key {
		t.Errorf("missing: %v, %v; want %v", missing, err, jobs[3].Key)
	}
	if err := q.Purge(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	missing, err = q.Missing(t.Context(), "run", jobs)
	if err != nil || len(missing) != 3 {
		t.Errorf("missing after a purge: %v, %v; want all but the first", missing, err)
	}
	if d := queuetest.Pull(t, q); d.Job().Run != "other run" {
		t.Errorf("got %v; want the job of the other run", d.Job())
	}
}

// TestAckWaitOutlivesNATS: a worker that makes the queue of a NATS anew that lost its disk gives it the wait that a
// server has set.
func TestAckWaitOutlivesNATS(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	open(t, natsconn.ConnConfig{Server: server}, queue.Options{AckWait: time.Second, Worker: "server"})
	w := open(t, natsconn.ConnConfig{Server: server}, queue.Options{Worker: "worker"})
	js := natsconntest.Connect(t, natsconn.ConnConfig{Server: server}).JetStream()
	if err := js.DeleteStream(t.Context(), "rehearse-jobs"); err != nil {
		t.Fatal(err)
	}
	queuetest.Push(t, w, queuetest.Job("run", 0))
	for _, class := range []string{"plain", "commands"} {
		c, err := js.Consumer(t.Context(), "rehearse-jobs", fmt.Sprintf("%s-%d", class, orchestrator.JobSchema))
		if err != nil || c.CachedInfo().Config.AckWait != time.Second {
			t.Fatalf("jobs of the class %s: %+v, %v; want the wait of the server", class, c, err)
		}
	}
	if w.AckWait() != time.Second {
		t.Errorf("the worker waits for %s, want what the server set", w.AckWait())
	}
}

// TestWithdraw: jobs that nobody holds are taken back; one that is held, or was given back, stays.
func TestWithdraw(t *testing.T) {
	q := open(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)}, queue.Options{})
	jobs := []orchestrator.Job{}
	for n := range 5 {
		jobs = append(jobs, queuetest.Job("run", n))
		queuetest.Push(t, q, jobs[n])
	}
	queuetest.Push(t, q, queuetest.Job("other run", 5))
	held, given := queuetest.Pull(t, q), queuetest.Pull(t, q)
	if err := given.Retry(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	back, err := q.Withdraw(t.Context(), jobs)
	if err != nil || len(back) != 3 {
		t.Fatalf("Withdraw = %v, %v; want the three that nobody has had", back, err)
	}
	for _, j := range back {
		if j.Key == held.Job().Key || j.Key == given.Job().Key {
			t.Errorf("job %v was delivered and is taken back", j.Key)
		}
	}
	left := map[string]bool{}
	for range 2 {
		j := queuetest.Pull(t, q).Job()
		left[j.Run+" "+j.Key.TestID] = true
	}
	if !left["run "+given.Job().Key.TestID] || !left["other run "+queuetest.Job("other run", 5).Key.TestID] {
		t.Errorf("the queue has %v", left)
	}
	queuetest.Empty(t, q)
	if back, err := q.Withdraw(t.Context(), jobs); err != nil || len(back) > 0 {
		t.Errorf("a second Withdraw = %v, %v", back, err)
	}
}

// TestReclaim: after a crash what was held comes at once, as a second delivery; what waits, and what has ended, is left
// alone.
func TestReclaim(t *testing.T) {
	dir := t.TempDir()
	server, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	q := open(t, natsconn.ConnConfig{Server: server}, queue.Options{AckWait: time.Hour, Commands: true, Worker: "dead"})
	if n, err := q.Reclaim(t.Context()); n != 0 || err != nil {
		t.Errorf("of an empty queue: %d, %v", n, err)
	}
	pulled := map[string]bool{}
	for n := range 6 {
		j := queuetest.Job("run", n)
		j.Commands = n%2 == 1
		queuetest.Push(t, q, j)
	}
	for n := range 4 {
		d := queuetest.Pull(t, q)
		if n == 1 {
			if err := d.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		pulled[d.Job().Key.TestID] = true
	}
	// the acknowledgement is on its way
	for n, err := q.Count(t.Context()); n.Running != 3; n, err = q.Count(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Close()
	if server, err = natsconn.StartServer(t.Context(), natsconn.ServerConfig{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	again := open(t, natsconn.ConnConfig{Server: server}, queue.Options{Commands: true, Worker: "new"})
	if n, err := again.Reclaim(t.Context()); n != 3 || err != nil {
		t.Errorf("gave %d back, %v; want 3", n, err)
	}
	came := map[string]int{}
	for range 5 {
		d := queuetest.Pull(t, again).(*queue.Delivery)
		came[d.Job().Key.TestID]++
		want := 1
		if pulled[d.Job().Key.TestID] {
			want = 2
		}
		if d.Attempt() != want || len(d.Tries()) != want-1 || want == 2 && !d.Tries()[0].Lost {
			t.Errorf("%s comes as delivery %d after %+v, want %d", d.Job().Key.TestID, d.Attempt(), d.Tries(), want)
		}
	}
	if len(came) != 5 {
		t.Errorf("came: %v", came)
	}
	queuetest.Empty(t, again)
}

// TestNothingIsLeftRunning after a queue is closed, also of pulls that were given up.
func TestNothingIsLeftRunning(t *testing.T) {
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)})
	// what the server runs for its streams
	if _, err := queue.NewJetStream(t.Context(), conn, queue.Options{}); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	q, err := queue.NewJetStream(t.Context(), conn, queue.Options{Commands: true})
	if err != nil {
		t.Fatal(err)
	}
	queuetest.Empty(t, q)
	queuetest.Push(t, q, queuetest.Job("run", 1))
	if err := queuetest.Pull(t, q).Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.Close()
	goleak.VerifyNone(t, before)
}

// TestUnreadableJob is buried, and does not stop the others.
func TestUnreadableJob(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	q := open(t, natsconn.ConnConfig{Server: server}, queue.Options{})
	for subject, data := range map[string]string{
		"rehearse.job.1.plain.run.a": "{", "rehearse.job.1.plain.run.b": `{"schema":1,"run":"other"}`,
	} {
		if _, err := conn.JetStream().Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	queuetest.Push(t, q, queuetest.Job("run", 1))
	if d := queuetest.Pull(t, q); d.Job().Key != queuetest.Job("run", 1).Key {
		t.Errorf("got %+v", d.Job())
	}
	if letters, err := q.Dead(t.Context()); err != nil || len(letters) != 2 {
		t.Errorf("dead letters: %+v, %v", letters, err)
	}
}
