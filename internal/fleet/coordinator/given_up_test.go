package coordinator_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestGivenUp: a conversation that is given up says what became of each time that it was held.
func TestGivenUp(t *testing.T) {
	h := newHouse(t)
	address, _, open := gated(t)
	open()
	s, _ := h.lead("one")
	run, _, err := s.Submit(t.Context(), shop(1, address), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for range queue.MaxDeliveries {
		d, err := h.queue.Pull(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Retry(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	h.work("w1", 1)
	h.ended(run.ID)
	var got []*result.Test
	for _, record := range h.records(run.ID) {
		got = append(got, record)
	}
	if len(got) != 1 || got[0].Verdict != result.Error || len(got[0].Attempts) != queue.MaxDeliveries {
		t.Fatalf("%+v", got)
	}
	if why := got[0].Failures[0].Message; !strings.HasPrefix(why,
		"given up after 5 deliveries: delivery 1: given back by ") {
		t.Errorf("it says %q", why)
	}
	for i, a := range got[0].Attempts {
		if a.N != i+1 || a.Code != result.WorkerLost || !strings.HasSuffix(a.Message, "gave it back: given back") {
			t.Errorf("attempt %d: %+v", i+1, a)
		}
	}
}
