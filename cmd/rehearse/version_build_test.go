package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	with := " " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	stamp := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for want, info := range map[string]*debug.BuildInfo{
		"rehearse 1.2.0 (commit unknown, date unknown,": nil,
		"rehearse 1.2.0 (commit 0123456789ab, 2026-11-23T10:00:00Z,": stamp("vcs.revision", "0123456789abcdef",
			"vcs.time", "2026-11-23T10:00:00Z", "vcs.modified", "false"),
		"rehearse 1.2.0 (commit 0123456789ab+dirty, 2026-11-23T10:00:00Z,": stamp("vcs.revision", "0123456789abcdef",
			"vcs.time", "2026-11-23T10:00:00Z", "vcs.modified", "true"),
	} {
		if got := buildOf("1.2.0", info).String(); got != want+with {
			t.Errorf("%q, want %q", got, want+with)
		}
	}
}
