package limit_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit/limittest"
)

func TestMemory(t *testing.T) {
	limittest.RunStore(t, func(*testing.T) (one, two limit.Store) {
		m := &limit.Memory{}
		return m, m
	})
}
