package natsconn_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
)

// A bundle or an artifact whose bytes are gone, and not its name, is not there, and can be put in again.
func TestObjectsWithoutBytes(t *testing.T) {
	conn := natsconntest.Connect(t, natsconn.ConnConfig{Server: natsconntest.StartEmbedded(t)})
	artifacts := conn.Artifacts()
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		bucket string
		put    func() error
		get    func() ([]byte, error)
		none   error
	}{
		"bundle": {"rehearse-bundles", func() error {
			return conn.PutBundle(t.Context(), sha, bytes.NewReader(data))
		}, func() ([]byte, error) {
			var got bytes.Buffer
			err := conn.GetBundle(t.Context(), sha, &got)
			return got.Bytes(), err
		}, natsconn.ErrNoBundle},
		"artifact": {"rehearse-artifacts", func() error {
			return artifacts.Put(t.Context(), sha, data)
		}, func() ([]byte, error) {
			return artifacts.Get(t.Context(), sha)
		}, natsconn.ErrNoArtifact},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for what does not come
			if err := c.put(); err != nil {
				t.Fatal(err)
			}
			stream, err := conn.JetStream().Stream(t.Context(), "OBJ_"+c.bucket)
			if err == nil {
				err = stream.Purge(t.Context(), jetstream.WithPurgeSubject("$O."+c.bucket+".C.>"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.get(); !errors.Is(err, c.none) {
				t.Errorf("without its bytes: %v, want %v", err, c.none)
			}
			if err := c.put(); err != nil {
				t.Fatal(err)
			}
			if got, err := c.get(); err != nil || !bytes.Equal(got, data) {
				t.Errorf("put in again: %d bytes, %v", len(got), err)
			}
		})
	}
}
