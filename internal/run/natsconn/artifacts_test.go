package natsconn_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

func TestArtifacts(t *testing.T) {
	c := embedded(t)
	data := bytes.Repeat([]byte("artifact "), 100_000)
	for _, bucket := range []*natsconn.Artifacts{
		c.Artifacts(), c.RunArtifacts("20261123-035400-00001"), c.RunArtifacts("a run/with.dots"),
	} {
		if _, err := bucket.Get(soon(t), "x"); !errors.Is(err, natsconn.ErrNoArtifact) {
			t.Errorf("a missing artifact: %v", err)
		}
		for range 2 {
			if err := bucket.Put(soon(t), "x", data); err != nil {
				t.Fatal(err)
			}
		}
		if err := bucket.Put(soon(t), "empty", nil); err != nil {
			t.Fatal(err)
		}
		if got, err := bucket.Get(soon(t), "x"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if got, err := bucket.Get(soon(t), "empty"); err != nil || len(got) > 0 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		for range 2 {
			if err := bucket.Delete(soon(t), "x"); err != nil {
				t.Error(err)
			}
		}
		if _, err := bucket.Get(soon(t), "x"); !errors.Is(err, natsconn.ErrNoArtifact) {
			t.Errorf("a deleted artifact: %v", err)
		}
	}
}

// TestArtifactsDropped holds that a bucket that goes away while it is used is no wait without end.
func TestArtifactsDropped(t *testing.T) {
	c := embedded(t)
	bucket := c.RunArtifacts("run")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				if _, err := bucket.Get(soon(t), "x"); !errors.Is(err, natsconn.ErrNoArtifact) {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if err := bucket.Drop(soon(t)); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
}
