package lead_test

import (
	"testing"

	"rehearse/graph"
	"rehearse/internal/sitebot/lead"
	"rehearse/internal/sitebot/lead/leadtest"
)

func TestMemory(t *testing.T) {
	leadtest.RunOutbox(t, func(*testing.T) (one, two leadtest.Store) {
		m := lead.NewMemory(graph.MemoryLimits{})
		return m, m
	})
}
