package sitebot_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// What one process does to a session another one sees at once, although it recalls how it was: a turn, and its erasure.
func TestProcessesShareSessions(t *testing.T) {
	store, locks := sessionindex.NewMemory(graph.MemoryLimits{}), &latches{seen: map[string]bool{}}
	take := func(th *theater, input string) int {
		o, err := th.Turn(t.Context(), sitebot.Request{Site: "shop.example", Session: "s", Input: input}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o.Metadata.TurnNumber
	}
	share := func(c *sitebot.Config) { c.Checkpoints, c.Locks = store, locks }
	one, two := openTheater(t, shop, share), openTheater(t, shop, share)
	for turn := range 6 {
		th := []*theater{one, two}[turn/2%2]
		if n := take(th, fmt.Sprintf("what about %d?", turn)); n != turn {
			t.Errorf("turn %d is number %d", turn, n)
		}
	}
	if err := one.Erase(t.Context(), "shop.example", "s"); err != nil {
		t.Fatal(err)
	}
	for _, th := range []*theater{one, two} {
		_, err := th.State(t.Context(), "shop.example", "s")
		if fault, ok := errors.AsType[*sitebot.Error](err); !ok || fault.Fault != sitebot.UnknownSession {
			t.Errorf("the state of an erased session: %v", err)
		}
	}
	if n := take(two, "again?"); n != 0 {
		t.Errorf("the session goes on with turn %d", n)
	}
}
