package main

import (
	"path"
	"slices"
	"strings"
)

// groups are the groups of packages, with the packages below internal of earlier commits that belong to each. A package
// belongs to the group that lists its longest leading path. A package in the folder of a group needs no entry.
var groups = []struct{ name, packages string }{
	{"base", "artifact/collect commandline config curl golden inbox jsonpath metrics outbound process race redact " +
		"retry shell source stats stream telemetry template text tool trace"},
	{"spec", "chat quarantine result runspec suite"},
	{"model", "a2a langfuse llm mcp"},
	{"agent", "callout draw flow knowledge marker sitebot"},
	{"eval", "answer calibrate grader judge runner target user"},
	{"data", "dataset importer replay/importer"},
	{"replay", "cover journal mine replay"},
	{"run", "annotation archive artifact compare fingerprint orchestrator queue runlog store"},
	{"report", "ci report"},
	{"app", "classify demo evaluation probe replayrun setup talk"},
	{"fleet", "access client fleet remote schedule service worker"},
	{"web", "mcp/commands server view"},
	{"cmd", ""},
	{"graph", ""},
	// rest is the root package and examples, and packages below internal that belong to no group yet.
	{rest, ""},
}

const rest = "rest"

// tools are folders of the repository with programs for its developers.
var tools = []string{"bench", "e2e", "mutate", "release"}

// Rows of Go files that are not in the product.
const (
	kits      = "test kits"
	tests     = "tests"
	generated = "generated"
	toolRow   = "tools"
)

// groupOf returns the group of a product package: dir is its folder below the root of the repository, with slashes.
func groupOf(dir string) string {
	first, below, _ := strings.Cut(dir, "/")
	if first != "internal" {
		if isGroup(first) {
			return first
		}
		return rest
	}
	found, length := rest, 0
	for _, g := range groups {
		for _, p := range strings.Fields(g.packages) {
			if within(below, p) && len(p) > length {
				found, length = g.name, len(p)
			}
		}
	}
	if first, _, _ = strings.Cut(below, "/"); length == 0 && isGroup(first) {
		return first
	}
	return found
}

func groupNames() (names []string) {
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

func isGroup(name string) bool { return slices.Contains(groupNames(), name) }

func within(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

// isTool reports whether a folder belongs to the developers' programs.
func isTool(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return slices.Contains(tools, first)
}

// isKit reports whether a folder is a test kit: it or a folder above it is named testdata, testkit or …test.
func isKit(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if base := path.Base(dir); strings.HasSuffix(base, "test") || base == "testdata" || base == "testkit" {
			return true
		}
	}
	return false
}
