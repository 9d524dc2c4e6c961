package lead_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
)

func TestMemory(t *testing.T) {
	leadtest.RunOutbox(t, func(*testing.T) (one, two leadtest.Store) {
		m := lead.NewMemory(graph.MemoryLimits{})
		return m, m
	})
}
