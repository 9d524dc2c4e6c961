package graph

import (
	"os/exec"
	"strconv"
	"testing"
)

// A claim is void when its process ran on this machine and has died, and never when that is unknown.
func TestGone(t *testing.T) {
	if gone(claimant()) {
		t.Error("this process counts as dead")
	}
	if machine() == "" {
		t.Skip("this system does not name its starts")
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(dead.Process.Pid)
	for claimant, want := range map[string]bool{
		"x " + pid + " " + machine(): true, "x 1 " + machine(): false, "x " + pid + " elsewhere": false,
		"x " + pid + " ": false, "x -1 " + machine(): false, "x 0 " + machine(): false, "x": false, "": false,
	} {
		if gone(claimant) != want {
			t.Errorf("the process of %q is gone: %v, want %v", claimant, !want, want)
		}
	}
}
