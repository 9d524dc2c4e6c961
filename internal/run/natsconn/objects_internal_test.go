package natsconn

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// brokenStore keeps the name of an object and loses its bytes, the first time.
type brokenStore struct {
	jetstream.ObjectStore
	puts  int
	bytes string
}

func (s *brokenStore) GetInfo(context.Context, string, ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	if s.puts == 0 {
		return nil, jetstream.ErrObjectNotFound
	}
	return &jetstream.ObjectInfo{}, nil
}

func (s *brokenStore) Put(_ context.Context, _ jetstream.ObjectMeta, r io.Reader) (*jetstream.ObjectInfo, error) {
	s.puts++
	data, err := io.ReadAll(r)
	if s.puts == 1 {
		return nil, nats.ErrTimeout
	}
	s.bytes = string(data)
	return &jetstream.ObjectInfo{}, err
}

// An object whose writing broke off is written again, also where its name is there.
func TestPutOnceAfterAFailure(t *testing.T) {
	store := &brokenStore{}
	put := func() error {
		return (&Conn{}).putOnce(t.Context(), "name", func(context.Context) (jetstream.ObjectStore, error) {
			return store, nil
		}, func() (io.Reader, error) { return strings.NewReader("whole"), nil })
	}
	if err := put(); err != nil || store.bytes != "whole" || store.puts != 2 {
		t.Errorf("%v: %q after %d puts", err, store.bytes, store.puts)
	}
	if err := put(); err != nil || store.puts != 2 {
		t.Errorf("%v: %d puts of what is there", err, store.puts)
	}
}
