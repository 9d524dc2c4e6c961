package sitebot_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a turn has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
