package siteconfig_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
