package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// artifactsOf checks that the artifacts in the records of a run are the files of its folder, byte by byte, and prints a
// line TEST TURN KIND for each, with "cut" behind one that was longer; "none" stands for a hash that there is not.
// Given a kind, it prints the bytes of that kind instead. $ARTIFACT is the hash of one.
func artifactsOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: artifacts DIR [KIND]")
	}
	dir := ts.MkAbs(args[0])
	named := map[string]bool{}
	var lines []string
	for t, err := range runlog.Read(dir) {
		ts.Check(err)
		for _, a := range t.Artifacts {
			turn := "-"
			if a.Turn != nil {
				turn = fmt.Sprint(*a.Turn)
			}
			line := fmt.Sprintf("%s %s %s", t.TestID, turn, a.Kind)
			if a.Truncated {
				line += " cut"
			}
			if a.SHA256 == "" {
				lines = append(lines, line+" none")
				continue
			}
			named[a.SHA256] = true
			ts.Setenv("ARTIFACT", a.SHA256)
			data, err := os.ReadFile(filepath.Join(dir, runlog.ArtifactDir, a.SHA256))
			ts.Check(err)
			if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != a.SHA256 || int64(len(data)) != a.Bytes {
				ts.Fatalf("artifact %s of %d bytes has the hash %s and %d bytes", a.SHA256, a.Bytes, sum, len(data))
			}
			if len(args) == 2 && a.Kind == args[1] {
				line = string(data)
			}
			if len(args) == 1 || a.Kind == args[1] {
				lines = append(lines, line)
			}
		}
	}
	kept, err := os.ReadDir(filepath.Join(dir, runlog.ArtifactDir))
	if err != nil && !os.IsNotExist(err) {
		ts.Check(err)
	}
	for _, e := range kept {
		if !named[e.Name()] {
			ts.Fatalf("no record names %s", e.Name())
		}
	}
	if len(args) == 1 {
		slices.SortStableFunc(lines, func(a, b string) int { // records are in the order in which conversations ended
			first, _, _ := strings.Cut(a, " ")
			second, _, _ := strings.Cut(b, " ")
			return strings.Compare(first, second)
		})
	}
	_, _ = fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
}
