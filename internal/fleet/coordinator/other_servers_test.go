package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
)

// A worker leaves jobs of another version alone and says so.
func TestJobsOfAnotherVersion(t *testing.T) {
	h := newHouse(t)
	subject := fmt.Sprintf("rehearse.job.%d.plain.run.job", orchestrator.JobSchema+1)
	if _, err := h.conn.JetStream().Publish(t.Context(), subject, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	var said lockedBuffer
	w := worker.New(worker.Config{
		Conn: h.conn, Queue: h.queue, Name: "w1", Workers: 1,
		Version: "test", Log: slog.New(slog.NewTextHandler(&said, nil)),
		Open: worker.FromNATS(h.conn, filepath.Join(h.dir, "w1"), wire.Options{}),
	})
	h.run(func(ctx context.Context) error { return w.Run(ctx, nil) })
	for end := time.Now().Add(natsconntest.Patience); !strings.Contains(said.String(),
		"jobs of another version"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the worker says nothing of the job: %s", said.String())
		}
	}
	stream, err := h.conn.JetStream().Stream(t.Context(), "rehearse-jobs")
	if err == nil {
		_, err = stream.GetLastMsgForSubject(t.Context(), subject)
	}
	if err != nil {
		t.Errorf("the job is not where it was: %v", err)
	}
}

// lockedBuffer is a buffer that a log writes to.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
