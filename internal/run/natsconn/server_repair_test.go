package natsconn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
)

// TestFullDisk: NATS that has met a full disk writes again when there is room, for those inside and for those who have
// joined.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("full", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Logf("no disk can be filled here, which takes root: %v", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	server, err := natsconn.StartServer(t.Context(), natsconn.ServerConfig{
		Dir: filepath.Join(dir, "nats"), Listen: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	addr := server.Addr()
	inside := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	joined := natsconntest.Connect(t, natsconn.ConnConfig{URL: "nats://" + addr})
	bury := func(ctx context.Context, c *natsconn.Conn, subject string) error {
		_, err := c.Bury(ctx, natsconn.DeadLetter{Subject: subject, Why: string(make([]byte, 4096))})
		return err
	}
	if err := natsconn.EnsureDead(t.Context(), inside); err != nil {
		t.Fatal(err)
	}
	if err := bury(t.Context(), inside, "before"); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for n := 0; err == nil; n++ {
		err = bury(short, inside, "full-"+strconv.Itoa(n))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("on a full disk: %v, want to wait", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithTimeout(t.Context(), natsconntest.Patience)
	defer cancel()
	if err := bury(patient, inside, "after"); err != nil {
		t.Errorf("inside: %v", err)
	}
	if err := bury(patient, joined, "joined"); err != nil {
		t.Errorf("joined: %v", err)
	}
	if server.Addr() != addr {
		t.Errorf("it listens at %s, and before at %s", server.Addr(), addr)
	}
	letters, err := inside.Dead(patient, 1<<20)
	if err != nil || len(letters) < 3 || letters[0].Subject != "before" {
		t.Errorf("%d letters are kept, %v", len(letters), err)
	}
}

// fill writes a file until its disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; { // to the last byte
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
