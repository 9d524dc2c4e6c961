package sessionindex_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
)

func TestMemory(t *testing.T) {
	sessionindextest.Run(t, func(*testing.T) (one, two sessionindextest.Store) {
		m := sessionindex.NewMemory(graph.MemoryLimits{})
		return m, m
	})
}

func TestParsePlace(t *testing.T) {
	for _, cursor := range []string{"x", "!", "YQ", "MTIz", "MTIzIA"} {
		if p, err := sessionindex.ParseCursor(cursor); err == nil {
			t.Errorf("%q: %+v", cursor, p)
		}
	}
	if p, err := sessionindex.ParseCursor(""); err != nil || p.String() != "" {
		t.Errorf("%+v, %v", p, err)
	}
}
