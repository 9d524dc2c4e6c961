package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// disturbance disturbs a run under way.
type disturbance struct {
	name string
	do   func(r *chaosRig, rnd *rand.Rand, run string)
}

var embeddedDisturbances = []disturbance{
	{"worker killed", func(r *chaosRig, rnd *rand.Rand, _ string) {
		w := r.workers[rnd.IntN(len(r.workers))]
		w.kill()
		pause(rnd, chaosLost)
		w.start()
	}},
	{"worker silent", func(r *chaosRig, rnd *rand.Rand, _ string) {
		w := r.workers[rnd.IntN(len(r.workers))]
		w.signal(syscall.SIGSTOP)
		time.Sleep(chaosLost)
		pause(rnd, 2*chaosLost) // its conversations are given to others now, or have been held
		w.signal(syscall.SIGCONT)
	}},
	{"worker ends", func(r *chaosRig, rnd *rand.Rand, _ string) {
		w := r.workers[rnd.IntN(len(r.workers))]
		w.signal(syscall.SIGTERM)
		if err := w.cmd.Wait(); err != nil {
			r.t.Errorf("a worker that is told to end: %v", err)
		}
		w.start()
	}},
	{"server killed", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.servers[0].kill()
		pause(rnd, chaosLost)
		r.servers[0].start()
	}},
}

// outsideDisturbances are those of two servers on PostgreSQL and a NATS of their own.
var outsideDisturbances = []disturbance{
	{"leader killed", func(r *chaosRig, rnd *rand.Rand, run string) {
		leading, _ := r.leader(run)
		leading.kill()
		time.Sleep(chaosLost)
		pause(rnd, chaosLost) // the other one leads on
		leading.start()
	}},
	{"two leaders", func(r *chaosRig, rnd *rand.Rand, run string) {
		leading, _ := r.leader(run)
		leading.signal(syscall.SIGSTOP)
		time.Sleep(chaosLost)
		pause(rnd, 2*chaosLost) // the other one leads on, and this one wakes up believing that it does
		leading.signal(syscall.SIGCONT)
	}},
	{"NATS killed", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.nats.kill()
		pause(rnd, chaosLost)
		r.nats.start()
	}},
	{"NATS silent", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.nats.signal(syscall.SIGSTOP)
		pause(rnd, 2*chaosLost)
		r.nats.signal(syscall.SIGCONT)
	}},
	{"NATS lost with its disk", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.nats.kill()
		if err := os.RemoveAll(r.nats.args[1]); err != nil {
			r.t.Fatal(err)
		}
		pause(rnd, chaosLost)
		r.nats.start()
	}},
	{"PostgreSQL restarted", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.postgres.Crash()
		pause(rnd, chaosLost)
		r.postgres.Start(r.t)
	}},
	{"workers cut off", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.toNATS.cut(true)
		pause(rnd, 2*chaosLost)
		r.toNATS.cut(false)
	}},
	{"server cut off from the store", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.toStore.cut(true)
		pause(rnd, 2*chaosLost)
		r.toStore.cut(false)
	}},
	{"slow network", func(r *chaosRig, rnd *rand.Rand, _ string) {
		r.toNATS.slow(50 * time.Millisecond)
		r.toStore.slow(20 * time.Millisecond)
		pause(rnd, 2*chaosLost)
		r.toNATS.slow(0)
		r.toStore.slow(0)
	}},
	{"bundle gone", func(r *chaosRig, rnd *rand.Rand, _ string) {
		conn := r.connect()
		hashes, err := conn.Bundles(r.t.Context())
		for _, sha := range hashes {
			err = errors.Join(err, conn.DeleteBundle(r.t.Context(), sha))
		}
		if err != nil {
			r.t.Fatal(err)
		}
		w := r.workers[rnd.IntN(len(r.workers))]
		w.kill()
		w.start() // and this one has nothing of the run
	}},
	{"jobs delivered twice", func(r *chaosRig, _ *rand.Rand, run string) {
		jobs := r.connect().JetStream()
		stream, err := jobs.Stream(r.t.Context(), "rehearse-jobs")
		if err != nil {
			r.t.Fatal(err)
		}
		info, err := stream.Info(r.t.Context(),
			jetstream.WithSubjectFilter("rehearse.job.*.*."+natsconn.Token(run)+".*"))
		if err != nil {
			r.t.Fatal(err)
		}
		for subject := range info.State.Subjects {
			m, err := stream.GetLastMsgForSubject(r.t.Context(), subject)
			if err != nil {
				continue // it was held meanwhile
			}
			// it is refused for as long as the job is not done
			for err = errors.New("not yet"); err != nil && r.run(run).Status == "running"; {
				_, err = jobs.Publish(r.t.Context(), subject, m.Data)
			}
		}
	}},
	{"jobs of another version", func(r *chaosRig, rnd *rand.Rand, run string) {
		jobs := r.connect().JetStream()
		subject := fmt.Sprintf("rehearse.job.%d.plain.%s.", orchestrator.JobSchema+1+rnd.IntN(9), natsconn.Token(run))
		for n := range 20 {
			if _, err := jobs.Publish(r.t.Context(), subject+strconv.Itoa(n),
				[]byte(`{"schema": "of another time"}`)); err != nil {
				r.t.Fatal(err)
			}
		}
	}},
	{"worker of another version", func(r *chaosRig, _ *rand.Rand, _ string) {
		for _, w := range r.workers {
			w.signal(syscall.SIGSTOP) // so that the other one is alone with the jobs
		}
		waits := r.submit() // the first run may have no jobs left
		other := r.otherWorker()
		other.until("jobs of another version of this program are left alone")
		time.Sleep(2 * chaosLost) // what the workers held is free for whoever takes it
		listed := r.listed(other.name)
		for _, w := range r.workers {
			w.signal(syscall.SIGCONT)
		}
		if len(listed) != 1 || !strings.HasPrefix(listed[0].Version, otherRelease) || listed[0].Done != 0 ||
			listed[0].Busy != 0 {
			r.t.Errorf("the worker of another version is listed as %+v", listed)
		}
		r.until(waits, "completed", func(run chaosRun) bool { return run.Status == "completed" })
	}},
}

// fillDisk writes a file until its disk is full.
func fillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; { // to the last byte
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
