package register_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/sitebot/register"
	"github.com/rehearse-dev/rehearse/internal/sitebot/register/registertest"
)

func TestMemory(t *testing.T) {
	registertest.Run(t, func(*testing.T) (one, two registertest.Store) {
		m := register.NewMemory(graph.MemoryLimits{})
		return m, m
	})
}

func TestParsePlace(t *testing.T) {
	for _, cursor := range []string{"x", "!", "YQ", "MTIz", "MTIzIA"} {
		if p, err := register.ParsePlace(cursor); err == nil {
			t.Errorf("%q: %+v", cursor, p)
		}
	}
	if p, err := register.ParsePlace(""); err != nil || p.String() != "" {
		t.Errorf("%+v, %v", p, err)
	}
}
