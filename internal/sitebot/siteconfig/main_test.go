package siteconfig_test

import (
	"testing"

	"rehearse/internal/store/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
