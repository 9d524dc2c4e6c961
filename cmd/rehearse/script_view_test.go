package main

import (
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// viewing waits for the first line that `rehearse view` prints, which is an address and nothing else. $VIEW becomes its
// base, $PAGE its path.
func viewing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: viewing FILE")
	}
	for range 6000 { // a minute
		said, err := os.ReadFile(ts.MkAbs(args[0]))
		if line, _, whole := strings.Cut(string(said), "\n"); err == nil && whole {
			base, page, ok := strings.Cut(strings.TrimPrefix(line, "http://"), "/")
			if !ok || !strings.HasPrefix(line, "http://") || strings.ContainsAny(line, " \t") {
				ts.Fatalf("the first line is %q", line)
			}
			ts.Setenv("VIEW", "http://"+base)
			ts.Setenv("PAGE", "/"+page)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no address in %s", args[0])
}
