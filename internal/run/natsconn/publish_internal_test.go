package natsconn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestConfirmed: only an answer that names a stream and no error says that a message is stored.
func TestConfirmed(t *testing.T) {
	refused := func(err error) bool { _, ok := errors.AsType[*jetstream.APIError](err); return ok }
	garbled := func(err error) bool { return errors.Is(err, jetstream.ErrInvalidJSAck) }
	stored := func(err error) bool { return err == nil }
	for answer, want := range map[string]func(error) bool{
		`{"stream":"rehearse-jobs", "seq":7}`:                                                                 stored,
		`{"seq":7,"stream":"rehearse-jobs","domain":"hub"}`:                                                   stored,
		`{"stream":"rehearse-jobs","seq":7,"domain":"\"error\""}`:                                             stored,
		`{"stream":"error","seq":7}`:                                                                          stored,
		`{"error":{"code":400,"err_code":10077,"description":"full"},"stream":"rehearse-jobs","seq":0}`:       refused,
		`{"stream":"rehearse-jobs","seq":0,"error":{"code":503,"err_code":10077,"description":"no storage"}}`: refused,
		`{"stream":"rehearse-jobs","error" : {"code":503}}`:                                                   refused,
		`{"stream":"","seq":0}`:                                                                               garbled,
		`{"seq":1}`:                                                                                           garbled,
		`{"type":"io.nats.jetstream.api.v1.pub_ack_response"}`:                                                garbled,
		`+OK`:                              garbled,
		``:                                 garbled,
		`{"stream":"rehearse-jobs","seq":`: garbled,
	} {
		if err := confirmed([]byte(answer)); !want(err) {
			t.Errorf("the answer %s means %v", answer, err)
		}
	}
}

// TestJobToken: jobs that another process of the same version of jobs has queued keep their names, whatever their keys
// hold.
func TestJobToken(t *testing.T) {
	for _, k := range []result.Key{
		{}, {Suite: "s.yaml", TestID: "test 1", Target: "agent", Trial: 3},
		{Suite: `a"b\c`, TestID: "ä\n\x00", Target: "\xff\u2028", Trial: -1},
	} {
		for _, kind := range []string{"suite", "a b", ""} {
			want := digest(fmt.Sprintf("%q %q %q %q %d", kind, k.Suite, k.TestID, k.Target, k.Trial))
			if got := JobToken(kind, k); got != want {
				t.Errorf("JobToken(%q, %+v) = %s, want %s", kind, k, got, want)
			}
		}
	}
}
